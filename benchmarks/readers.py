"""How fast the reader of each format is, in megabytes of log a second of one core.

    python -m benchmarks.readers

The logs are synthetic (``benchmarks/readers_corpus.py``). What is timed is processor time in this process, from the
file's first byte to whole sessions, and the best of some rounds: a busy machine then changes little.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.readers_corpus import ALL, write
from traces.formats import FORMATS

LEAST = 100
"""Megabytes a second that every reader should reach."""


def measure(path: Path, name: str, rounds: int) -> tuple[int, float]:
    """How many requests a file holds, and the best time in seconds to read it."""
    reader = next(format.reader for format in FORMATS if format.name == name)
    best, requests = float("inf"), 0
    for _ in range(rounds):
        began = time.process_time()
        requests = sum(len(session.requests) for session in reader.read_sessions([str(path)], []))
        best = min(best, time.process_time() - began)
    return requests, best


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the readers of agents' logs.")
    parser.add_argument("--calls", type=int, default=4_000, help="calls in each log (default: 4,000)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("formats", nargs="*", help="only these")
    given = parser.parse_args()
    slow = []
    print("| format | requests | MB | MB/s of one core |\n| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory(prefix="agentsim-benchmark-") as folder:
        for name in given.formats or ALL:
            path = write(Path(folder), name, given.calls)
            requests, seconds = measure(path, name, given.rounds)
            size = path.stat().st_size / 1e6
            print(f"| {name} | {requests:,} | {size:.0f} | {size / seconds:.0f} |")
            if size / seconds < LEAST:
                slow.append(name)
            path.unlink()
    if slow:
        sys.exit(f"below {LEAST} MB/s: {', '.join(slow)}")


if __name__ == "__main__":
    main()
