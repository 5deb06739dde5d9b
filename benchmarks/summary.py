"""How fast ``agentsim summary`` reads and judges logs, beside programs that do less or as much with them.

    python -m benchmarks.summary \\
        --peer 'ccusage=CLAUDE_CONFIG_DIR={corpus} TZ=UTC NO_COLOR=1 ccusage claude daily --offline' \\
        --peer 'kvleak=kvleak audit --path {corpus}/projects' \\
        --check 'ccusage=CLAUDE_CONFIG_DIR={corpus} TZ=UTC ccusage claude daily --offline --json'

Two corpora are written to a temporary folder (``benchmarks/logs_corpus.py``): one filled with runs of a letter, one
with text like source code. ``--corpus`` takes a folder of real logs instead. A program named by ``--check`` must print
the totals of the corpus, so that the times compare the same work.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import get_args

from benchmarks.logs_corpus import Text
from benchmarks.measure import (
    BenchmarkError,
    Program,
    add_common_options,
    finish,
    markdown,
    race,
    rows,
    run,
)

OURS = "agentsim={python} -m agentsim summary {corpus}/projects"
OUR_TOTALS = "agentsim={python} -m agentsim summary --json {corpus}/projects"

TITLES = {"letters": "runs of one letter", "source": "source code, many escapes"}


def check(program: Program, totals: dict[str, int]) -> None:
    """Raise BenchmarkError unless the program prints each total of the corpus."""
    _, text = run(program, keep_output=True)
    numbers = set(re.findall(r"\d+", text.replace(",", ""))) | set(re.findall(r"\d+", text))
    missing = {name: total for name, total in totals.items() if name != "requests" and str(total) not in numbers}
    if missing:
        raise BenchmarkError(f"{program.name} does not print these totals: {missing}")


def write_corpus(folder: Path, text: str, scale: int) -> dict[str, int]:
    """Write a corpus in a process of its own: this one stays small, as memory is counted from what a child inherits."""
    arguments = ["--text", text, "--projects", str(20 * scale)]
    writer = (sys.executable, "-m", "benchmarks.logs_corpus", str(folder), *arguments)
    run(Program("corpus", writer))
    totals: dict[str, int] = json.loads((folder / "totals.json").read_text(encoding="utf-8"))
    return totals


def compare(title: str, corpus: Path, totals: dict[str, int] | None, given: argparse.Namespace) -> list[list[str]]:
    """The lines of the table for one corpus."""
    names = {"corpus": str(corpus), "python": sys.executable}
    programs = [Program.parse(text, names) for text in (given.ours or OURS, *given.peer)]
    if totals is not None:
        for text in (OUR_TOTALS, *given.check) if given.ours is None else given.check:
            check(Program.parse(text, names), totals)
    size = sum(path.stat().st_size for path in (corpus / "projects").rglob("*.jsonl"))
    requests = f", {totals['requests']:,} requests" if totals else ""
    return rows(f"{title}: {size / 1e6:,.0f} MB{requests}", race(programs, given.rounds))


def main() -> None:
    parser = argparse.ArgumentParser(description="Time agentsim summary beside other programs.")
    add_common_options(parser)
    parser.add_argument("--check", action="append", default=[], metavar="NAME=COMMAND", help="must print the totals")
    parser.add_argument("--corpus", type=Path, help="a folder with projects/, instead of written corpora")
    parser.add_argument("--scale", type=int, default=1, help="times 370 MB")
    given = parser.parse_args()
    lines: list[list[str]] = []
    try:
        if given.corpus is not None:
            lines += compare(given.corpus.name, given.corpus, None, given)
        else:
            for text in get_args(Text):
                with tempfile.TemporaryDirectory(prefix="agentsim-benchmark-") as folder:
                    totals = write_corpus(Path(folder), text, given.scale)
                    lines += compare(TITLES[text], Path(folder), totals, given)
        finish("summary", markdown(lines), given.page)
    except BenchmarkError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
