"""``python -m benchmarks.verdicts``: live the sessions, have them judged, print the tables."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.verdicts.benchmark_run import Outcome, run, write_failures
from benchmarks.verdicts.peers.peer_comparison import compare
from benchmarks.verdicts.result_tables import page, peer_page
from benchmarks.verdicts.session_living import orders

QUICK, FULL = 700, 3_500


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdicts", description=__doc__)
    parser.add_argument("--seed", type=int, default=20261130, help="of all that is drawn (default: %(default)s)")
    parser.add_argument("--sessions", type=int, default=FULL, help="how many to live (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} sessions")
    parser.add_argument("--only", metavar="CELL", help="cells that begin so; @FAMILY limits the family")
    parser.add_argument("--form", action="append", default=[], help="limit the forms of evidence; may be repeated")
    parser.add_argument(
        "--failures", type=Path, metavar="FILE", help="write failing rows there, and their files beside"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    parser.add_argument("--peers", type=Path, metavar="BIN", help="compare with the programs of this folder instead")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="write the tables into this page too, between its marks"
    )
    asked = parser.parse_args(arguments)
    count = QUICK if asked.quick else asked.sessions
    began = time.monotonic()
    if asked.peers:
        board = compare(asked.peers, count, asked.seed)
        return _show(peer_page(board, asked.seed, count), asked.page, "peers")
    todo = list(orders(count, asked.seed, asked.only))
    keep = asked.failures.with_suffix("") if asked.failures else None
    outcome = _all(todo, keep, tuple(asked.form), asked.jobs)
    text = page(outcome, asked.seed, time.monotonic() - began)
    if asked.failures:
        asked.failures.parent.mkdir(parents=True, exist_ok=True)
        write_failures(asked.failures, outcome.failures)
    return _show(text, asked.page, "verdicts")


def _show(text: str, page: Path | None, name: str) -> int:
    print(text)
    if page:
        old = page.read_text(encoding="utf-8")
        page.write_text(between_marks(old, text, name), encoding="utf-8")
    return 0


def between_marks(page: str, text: str, name: str) -> str:
    """The page with this text between its marks of that name. Raises ValueError where it has none."""
    first, last = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, found, rest = page.partition(first)
    _, closed, after = rest.partition(last)
    if not found or not closed:
        raise ValueError(f"no {first.strip()} … {last} in the page")
    return f"{before}{first}\n{text}\n\n{last}{after}"


def _all(todo: list, keep: Path | None, forms: tuple[str, ...], jobs: int) -> Outcome:  # type: ignore[type-arg]
    if jobs <= 1:
        return run(todo, keep=keep, forms=forms)
    from concurrent.futures import ProcessPoolExecutor

    outcome = Outcome()
    with ProcessPoolExecutor(jobs) as pool:
        parts = [pool.submit(run, todo[part :: jobs * 4], keep=keep, forms=forms) for part in range(jobs * 4)]
        for part in parts:
            outcome.plus(part.result())
    return outcome


if __name__ == "__main__":
    sys.exit(main())
