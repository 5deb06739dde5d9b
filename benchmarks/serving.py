"""How fast ``agentsim engine capacity`` gets the hit rates of a serving trace, beside other simulators.

    python -m benchmarks.serving \\
        --peer 'kvcache-simulator=kvcache-simulator run --trace {trace} --block-size 512 --model glm-5.2
                --policies lru --budgets-gib 16,64,256,1024 --backend python --format json'

Each program is timed as a whole: start, reading, and all capacities. ``{trace}`` stands for a synthetic trace of 23,608
requests, and then one of fewer but longer requests; ``--trace`` takes a file instead. A budget in GiB of the peer holds
as many blocks as the same capacity of ours: 48.76 MB a block for its model glm-5.2.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import BenchmarkError, Program, add_common_options, finish, markdown, race, rows, run
from benchmarks.serving_corpus import write

BYTES_OF_A_BLOCK = 48_758_784
"""Of 512 tokens, by the catalogue of kvcache-simulator 0.1.3 for its model glm-5.2 at 13,987 tokens a prompt."""

CAPACITIES = ",".join(str(gib * 2**30 // BYTES_OF_A_BLOCK * 512) for gib in (16, 64, 256, 1024))
OPTIONS = f"--engine sglang --warmup 0.5 --capacity {CAPACITIES} --json"
OURS = f"agentsim={{python}} -m agentsim engine capacity {{trace}} {OPTIONS}"

SHAPES = {"short": (23_608, 50), "long": (12_000, 350)}
"""Requests, and blocks of 512 tokens a request."""


def compare(title: str, trace: Path, given: argparse.Namespace) -> list[list[str]]:
    """The lines of the table for one trace, with the requests and block events a second of our whole run."""
    names = {"trace": str(trace), "python": sys.executable}
    ours = Program.parse(given.ours or OURS, names)
    _, text = run(ours, keep_output=True)
    found = json.loads(text)["traces"][0]
    timings = race([ours, *(Program.parse(text, names) for text in given.peer)], given.rounds)
    speed = f"{found['requests'] / timings[0].seconds:,.0f} requests/s"
    speed += f", {found['blocks'] / timings[0].seconds / 1e6:.1f} M block events/s"
    size = f"{found['requests']:,} requests, {found['blocks'] / 1e6:.1f} M block events"
    return rows(f"{title}: {size}; {speed}", timings)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time agentsim engine capacity beside other simulators.")
    add_common_options(parser)
    parser.set_defaults(rounds=5)
    parser.add_argument("--trace", type=Path, help="a trace, instead of synthetic ones")
    given = parser.parse_args()
    lines: list[list[str]] = []
    try:
        if given.trace is not None:
            lines += compare(given.trace.name, given.trace, given)
        else:
            for title, (requests, blocks) in SHAPES.items():
                with tempfile.TemporaryDirectory(prefix="agentsim-benchmark-") as folder:
                    trace = Path(folder) / "trace.jsonl"
                    write(trace, requests, blocks)
                    lines += compare(title, trace, given)
        finish("serving", markdown(lines), given.page)
    except BenchmarkError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
