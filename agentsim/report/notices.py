"""All that agentsim writes to stderr: failures, what was skipped, progress. Nothing here is data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from agentsim.core.session import Accounting, Problem
from agentsim.report import figures
from agentsim.report.exits import Failure
from agentsim.report.paper import Paper, Span, Style

MOST_PROBLEMS = 5
"""Problems told one by one; the rest is counted."""


def complain(failure: Failure) -> None:
    """One line: what failed, in which file and line, and what to do about it."""
    _line(("error: ", Style.BAD), _place(failure.file, failure.line), failure.reason, _remedy(failure.remedy))


def warn(text: str) -> None:
    """One line about something that did not end the command."""
    _line(("note: ", Style.WARN), text)


def ask(text: str) -> None:
    """One line that waits for an answer."""
    _line((text, Style.STRONG))


def tell_problems(
    problems: Sequence[Problem], accounting: Iterable[Accounting] = (), *, listed_by: str = "--json"
) -> None:
    """Tell what of the input could not be used: the first few problems one by one, and how many rows were left out.

    ``listed_by`` is the option, or the command, that lists all problems.
    """
    for problem in problems[:MOST_PROBLEMS]:
        place = _place(problem.file, problem.line)
        label = "note: " if problem.note else "skipped: "
        _line((label, Style.WARN), place, problem.reason, _remedy(problem.remedy))
    if len(problems) > MOST_PROBLEMS:
        warn(f"{figures.plural(len(problems) - MOST_PROBLEMS, 'more problem')} like these; {listed_by} lists them all")
    skipped: dict[str, int] = {}
    rows = 0
    for sums in accounting:
        rows += sums.rows
        for reason, count in sums.skipped:
            skipped[reason] = skipped.get(reason, 0) + count
    if skipped:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(skipped.items()))
        warn(f"{sum(skipped.values()):,} of {figures.plural(rows, 'row')} left out: {reasons}")


def _place(file: str | None, line: int | None) -> str:
    if file is None:
        return ""
    return f"{file}:{line}: " if line else f"{file}: "


def _remedy(remedy: str | None) -> str:
    return f"; {remedy}" if remedy else ""


def _line(*spans: Span) -> None:
    sys.stdout.flush()
    Paper.on(sys.stderr).line(("agentsim: ", Style.FAINT), *spans)
