"""``python -m benchmarks.whatif``: run agents under two settings, predict the second from the log of the first."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.verdicts.__main__ import between_marks
from benchmarks.whatif.backtest_run import BacktestResult, run
from benchmarks.whatif.backtest_scores import load, save, tables
from benchmarks.whatif.backtest_sessions import BacktestOrder, orders
from benchmarks.whatif.codex_bounds import FORM as CODEX
from benchmarks.whatif.kept_logs import FORMS
from benchmarks.whatif.natural_halves import halves_table, natural_halves

QUICK, FULL = 60, 520
MEASURED = ("claude-code", "counters", "bodies", CODEX)
"""The forms that are measured unless others are asked for."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.whatif", description=__doc__)
    parser.add_argument("--seed", type=int, default=20261130, help="of all that is drawn (default: %(default)s)")
    parser.add_argument("--sessions", type=int, default=FULL, help="how many to live (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first session (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} sessions")
    parser.add_argument("--nothing-hidden", action="store_true", help="a world of the published rules alone")
    parser.add_argument("--form", action="append", default=[], choices=sorted((*FORMS, CODEX)), help="limit the forms")
    parser.add_argument("--policy", action="append", default=[], help="limit the policies")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="write every prediction there")
    parser.add_argument("--of", type=Path, nargs="+", metavar="FILE", help="show the tables of such rows, run nothing")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the logs there")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the tables into this page, between its marks")
    parser.add_argument(
        "--halves", type=Path, nargs="+", metavar="PATH", help="cut the sessions of these logs, live none"
    )
    asked = parser.parse_args(arguments)
    if asked.halves:
        print(halves_table(list(natural_halves(asked.halves))))
        return 0
    count = QUICK if asked.quick else asked.sessions
    began = time.monotonic()
    if asked.of:
        found = BacktestResult(*load(asked.of))
        return _show(f"{tables(found.predictions, found.baselines)}", asked.page)
    todo = list(orders(count, asked.seed, first=asked.first, hidden=not asked.nothing_hidden))
    if asked.keep:
        asked.keep.mkdir(parents=True, exist_ok=True)
    found = _all(todo, asked.form or list(MEASURED), asked.policy, asked.keep, asked.jobs)
    world = "nothing hidden" if asked.nothing_hidden else "everything hidden"
    head = f"Seed {asked.seed}: {count} sessions, {world}, {time.monotonic() - began:.0f} s."
    text = f"{head}\n\n{tables(found.predictions, found.baselines)}"
    if asked.rows:
        save(asked.rows, found.predictions, found.baselines)
    return _show(text, asked.page)


def _show(text: str, page: Path | None) -> int:
    print(text)
    if page:
        old = page.read_text(encoding="utf-8")
        page.write_text(between_marks(old, text, "backtest"), encoding="utf-8")
    return 0


def _all(
    todo: list[BacktestOrder], forms: list[str], policies: list[str], keep: Path | None, jobs: int
) -> BacktestResult:
    if jobs <= 1:
        return run(todo, forms, policies, keep)
    from concurrent.futures import ProcessPoolExecutor

    found = BacktestResult()
    with ProcessPoolExecutor(jobs) as pool:
        parts = [pool.submit(run, todo[part :: jobs * 4], forms, policies, keep) for part in range(jobs * 4)]
        for part in parts:
            found.plus(part.result())
    return found


if __name__ == "__main__":
    sys.exit(main())
