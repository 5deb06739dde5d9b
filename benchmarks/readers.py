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

from agentsim.core.garbage_collection import without_collection
from agentsim.traces.format_registry import FORMATS
from benchmarks.readers_corpus import ALL, write

LEAST = 100
"""Megabytes a second that every reader should reach."""

BY_ROWS = ("azure-llm", "burst-gpt", "mooncake", "weka-kv-trace", "dynamo", "aiperf")
"""Traces in which every byte is a counter or an identity that is kept: as sessions, requests and blocks count there and
not bytes. What serves them reads their rows."""


def measure(paths: list[Path], name: str, rounds: int) -> tuple[int, float]:
    """How many requests the files of a log hold, and the best time in seconds to read it."""
    reader = next(format.reader for format in FORMATS if format.name == name)
    given = [str(path) for path in paths]
    best, requests = float("inf"), 0
    for _ in range(rounds):
        began = time.process_time()
        requests = sum(len(session.requests) for session in reader.read_sessions(given, []))
        best = min(best, time.process_time() - began)
    return requests, best


def measure_rows(path: Path, name: str, rounds: int) -> tuple[int, float] | None:
    """As :func:`measure`, for the rows of a serving trace with the identities of blocks; ``None`` for others."""
    reader = next(format.reader for format in FORMATS if format.name == name)
    read_blocks = getattr(reader, "read_blocks", None)
    if read_blocks is None:
        return None
    best, requests = float("inf"), 0
    for _ in range(rounds):
        began = time.process_time()
        with without_collection():
            requests = len(read_blocks(str(path)).rows)
        best = min(best, time.process_time() - began)
    return requests, best


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the readers of agents' logs.")
    parser.add_argument("--calls", type=int, default=4_000, help="calls in each log (default: 4,000)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("formats", nargs="*", help="only these")
    given = parser.parse_args()
    slow = []
    print("| format | requests | MB | MB/s of one core | requests/s |\n| --- | ---: | ---: | ---: | ---: |")
    for name in given.formats or ALL:
        with tempfile.TemporaryDirectory(prefix="agentsim-benchmark-") as folder:
            paths = write(Path(folder), name, given.calls)
            size = sum(path.stat().st_size for path in paths) / 1e6
            found = {name: measure(paths, name, given.rounds)}
            if (rows := measure_rows(paths[0], name, given.rounds)) is not None:
                found[f"{name}, as rows"] = rows
        for title, (requests, seconds) in found.items():
            speed = size / seconds
            print(f"| {title} | {requests:,} | {size:.1f} | {speed:.0f} | {requests / seconds:,.0f} |", flush=True)
            if not requests or (speed < LEAST and title not in BY_ROWS):
                slow.append(title)
    if slow:
        sys.exit(f"below {LEAST} MB/s: {', '.join(slow)}")


if __name__ == "__main__":
    main()
