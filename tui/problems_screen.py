"""Which files could not be read, or not wholly, and why."""

from __future__ import annotations

from collections.abc import Sequence

from agentsim.core.session import Problem
from agentsim.report.figures import plural
from agentsim.tui.help_screen import HelpScreen
from agentsim.tui.ink import Ink, Piece

MOST_LISTED = 200


class ProblemsScreen(HelpScreen):
    """Each file with its reason and what to do about it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("", ())
        self._problems = problems

    def _rows(self) -> list[list[Piece]]:
        rows: list[list[Piece]] = [[("What could not be read wholly", Ink.STRONG)]]
        for problem in self._problems[:MOST_LISTED]:
            place = f"{problem.file}:{problem.line}" if problem.line else problem.file
            rows += [[("  ", Ink.PLAIN), (place, Ink.NAME)], [f"    {problem.reason}; {problem.remedy}"]]
        more = len(self._problems) - MOST_LISTED
        if more > 0:
            rows.append([("  and " + plural(more, "other"), Ink.FAINT)])
        return rows
