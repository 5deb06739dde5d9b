"""What a sweep costs: two workers beside one, twenty policies beside one, and its memory on a gigabyte of mixed logs.

    python -m benchmarks.fleet --scale 1
    python -m benchmarks.fleet --mixed

A corpus of Claude Code logs is written to a temporary folder (370 MB times ``--scale``); ``--corpus`` takes one that is
there. ``--mixed`` adds a sweep of a gigabyte of logs of every agent.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import BenchmarkError, Program, finish, markdown, race, run
from benchmarks.readers_corpus import LOGS, write
from benchmarks.summary import write_corpus

HEADINGS = ["sweep", "time", "largest process", "beside the first"]

CALLS = 4_000
"""Calls in the session of each other agent: about 25 MB."""

TWENTY = (
    "ttl-5m ttl-1h ttl-lanes ttl-split keep-alive keep-alive-priced keep-alive-three keep-alive-steady keep-alive-hour "
    "marker-system marker-last marker-previous marker-common marker-spread combine-blocks tool-order stagger-fan-out "
    "compact-earlier uncached-one-shots no-caching"
).split()


def sweep(name: str, logs: Path, folder: Path, policies: list[str], workers: int) -> Program:
    """A sweep into a folder that is made anew."""
    script = (
        f"rm -rf {folder} && exec {sys.executable} -m agentsim fleet sweep {logs} --out {folder} --workers {workers}"
    )
    return Program(name, ("sh", "-c", " ".join([script, *(f"--policy {policy}" for policy in policies)])))


def lines_of(programs: list[Program], rounds: int) -> list[list[str]]:
    """The table: each program beside the first."""
    timings = race(programs, rounds)
    table = []
    for timing in timings:
        ratio = "" if timing is timings[0] else "**{:.2f}×** ({:.2f}–{:.2f})".format(*timing.ratio_to(timings[0]))
        table.append([timing.program.name, f"{timing.seconds:.1f} s", f"{timing.mebibytes:.0f} MiB", ratio])
    return table


def mix(folder: Path, corpus: Path) -> int:
    """A gigabyte of logs: of Claude Code, and a long session of each other agent; how many bytes there are."""
    (folder / "claude-code").symlink_to(corpus, target_is_directory=True)
    for name in LOGS:
        (folder / name).mkdir()
        write(folder / name, name, CALLS)
    folders = [corpus, *(folder / name for name in LOGS)]
    return sum(path.stat().st_size for each in folders for path in each.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description="Time sweeps beside each other.")
    parser.add_argument("--corpus", type=Path, help="a folder of logs, instead of a written one")
    parser.add_argument("--scale", type=int, default=1, help="times 370 MB")
    parser.add_argument("--mixed", action="store_true", help="sweep a gigabyte of logs of every agent too")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--page", type=Path, metavar="FILE", help="put the table between the markers in this file")
    given = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="agentsim-benchmark-") as place:
            corpus = given.corpus
            if corpus is None:
                corpus = Path(place) / "corpus"
                write_corpus(corpus, "source", given.scale)
            out = Path(place) / "out"
            cores = len(os.sched_getaffinity(0))
            programs = [
                sweep("20 policies, 1 worker", corpus, out, TWENTY, 1),
                sweep(f"20 policies, {min(cores, 2)} workers", corpus, out, TWENTY, 2),
                sweep("1 policy, 1 worker", corpus, out, TWENTY[1:2], 1),
            ]
            table = lines_of(programs, given.rounds)
            if given.mixed:
                mixed = Path(place) / "mixed"
                mixed.mkdir()
                large = Path(place) / "large"
                write_corpus(large, "source", 2)
                size = mix(mixed, large)
                used, _ = run(sweep("mixed", mixed, out, TWENTY[1:2], 1))
                title = f"1 policy, 1 worker, {size / 1e9:.1f} GB of logs of {len(LOGS) + 1} agents"
                table.append([title, f"{used.seconds:.1f} s", f"{used.mebibytes:.0f} MiB", ""])
        finish("fleet", markdown(table, HEADINGS), given.page)
    except BenchmarkError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
