"""How long ``agentsim check`` takes on a thousand small traces: what a CI waits for.

    python -m benchmarks.check

Two sets of traces with bodies are written to a temporary folder: one in which every request reads its cache, and one in
which every trace loses six caches, whose causes have to be proved. One process does it all.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import msgspec

from agentsim.core.session import Session
from agentsim.traces.readers.agentsim1 import write
from agentsim.traces.samples.make_atlas import atlas_session
from agentsim.traces.samples.make_gate import session as gate_session
from benchmarks.measure import BenchmarkError, Program, add_common_options, finish, markdown, race, rows

OURS = "agentsim check={python} -m agentsim check {corpus} --max-cost 10 --max-misses 6 --min-hit-rate 0"


def write_corpus(folder: Path, session: Session, count: int) -> int:
    """Write a session ``count`` times, each under an id and in a file of its own; returns the bytes written."""
    size = 0
    for number in range(count):
        path = folder / f"run-{number:05}.jsonl"
        write([msgspec.structs.replace(session, id=f"run-{number:05}")], path)
        size += path.stat().st_size
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description="Time agentsim check on many small traces.")
    add_common_options(parser)
    parser.add_argument("--traces", type=int, default=1_000, help="traces of each set (default: 1000)")
    given = parser.parse_args()
    lines: list[list[str]] = []
    try:
        for title, session in (("all hits", gate_session(False)), ("six misses each", atlas_session())):
            with tempfile.TemporaryDirectory(prefix="agentsim-benchmark-") as folder:
                size = write_corpus(Path(folder), session, given.traces)
                names = {"corpus": folder, "python": sys.executable}
                programs = [Program.parse(text, names) for text in (given.ours or OURS, *given.peer)]
                what = f"{given.traces:,} traces of {len(session.requests)} requests, {title}: {size / 1e6:,.0f} MB"
                lines += rows(what, race(programs, given.rounds))
        finish("check", markdown(lines), given.page)
    except BenchmarkError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
