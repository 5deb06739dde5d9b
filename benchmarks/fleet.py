"""What a sweep costs: two workers beside one, twenty policies beside one, and its memory on a gigabyte of mixed logs.

    python -m benchmarks.fleet --scale 1
    python -m benchmarks.fleet --mixed ../logs

A corpus of Claude Code logs is written to a temporary folder (370 MB times ``--scale``); ``--corpus`` takes one that is
there. ``--mixed`` names logs of other formats: they are copied beside the corpus until there is a gigabyte.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import BenchmarkError, Program, finish, markdown, race, run
from benchmarks.summary import write_corpus

HEADINGS = ["sweep", "time", "largest process", "beside the first"]

TWENTY = (
    "ttl-5m ttl-1h ttl-lanes ttl-split keep-alive keep-alive-priced keep-alive-three keep-alive-steady keep-alive-hour "
    "marker-system marker-last marker-previous marker-common marker-spread combine-blocks tool-order stagger-fan-out "
    "compact-earlier uncached-one-shots no-caching"
).split()


def sweep(name: str, logs: Path, folder: Path, policies: list[str], workers: int) -> Program:
    """A sweep into a folder that is made anew."""
    script = f"rm -rf {folder} && exec {sys.executable} -m agentsim sweep {logs} --out {folder} --workers {workers}"
    return Program(name, ("sh", "-c", " ".join([script, *(f"--policy {policy}" for policy in policies)])))


def lines_of(programs: list[Program], rounds: int) -> list[list[str]]:
    """The table: each program beside the first."""
    timings = race(programs, rounds)
    table = []
    for timing in timings:
        ratio = "" if timing is timings[0] else "**{:.2f}×** ({:.2f}–{:.2f})".format(*timing.ratio_to(timings[0]))
        table.append([timing.program.name, f"{timing.seconds:.1f} s", f"{timing.mebibytes:.0f} MiB", ratio])
    return table


def fill(folder: Path, sources: list[Path], size: int) -> int:
    """Copy logs into a folder, again and again, until there are so many bytes; how many there are."""
    there = 0
    number = 0
    while there < size:
        before = there
        for source in sources:
            target = folder / str(number) / source.name
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, folder / str(number))
            there += sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
            if there >= size:
                return there
        if there == before:
            raise BenchmarkError("the logs to be mixed in are empty")
        number += 1
    return there


def main() -> None:
    parser = argparse.ArgumentParser(description="Time sweeps beside each other.")
    parser.add_argument("--corpus", type=Path, help="a folder of logs, instead of a written one")
    parser.add_argument("--scale", type=int, default=1, help="times 370 MB")
    parser.add_argument("--mixed", type=Path, help="a folder with a folder of logs for each format")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--readme", type=Path, metavar="FILE", help="put the table between the markers in this file")
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
            if given.mixed is not None:
                mixed = Path(place) / "mixed"
                size = fill(mixed, sorted(path for path in given.mixed.iterdir() if path.is_dir()), 10**9)
                used, _ = run(sweep("mixed", mixed, out, TWENTY[1:2], 1))
                title = f"1 policy, 1 worker, {size / 1e9:.1f} GB of mixed logs"
                table.append([title, f"{used.seconds:.1f} s", f"{used.mebibytes:.0f} MiB", ""])
        finish("fleet", markdown(table, HEADINGS), given.readme)
    except BenchmarkError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
