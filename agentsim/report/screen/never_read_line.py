"""What was written to a cache and never read: the line under a replay."""

from __future__ import annotations

from agentsim.diagnose import Diagnosis
from agentsim.diagnose.never_read import CODE, in_vain, never_read
from agentsim.report import figures
from agentsim.report.paper import Paper, Style
from agentsim.whatif.policies.one_shots import ONE_SHOTS, UncachedOneShots

MOST_NAMED = 3
"""Rows that are named under the sum: those that paid most."""


def write_in_vain(paper: Paper, diagnosis: Diagnosis) -> None:
    """Write how many writes nobody read, what their surcharge was, and which rows paid most of it."""
    found = never_read(diagnosis.rows)
    sums = in_vain(found)
    if not sums.writes:
        return
    numbered = [(number, one) for number, one in enumerate(found, 1) if one is not None]
    dearest = sorted(numbered, key=lambda item: (-item[1].surcharge, item[0]))[:MOST_NAMED]
    named = ", ".join(f"#{number} ({figures.money(one.surcharge)})" for number, one in dearest)
    where = f"; most at {named}" if sums.writes > 1 else f", at #{dearest[0][0]}"
    paper.paragraph(
        ("never read", Style.STRONG),
        f": {figures.plural(sums.writes, 'write')}, {figures.plural(sums.tokens, 'token')},"
        f" {figures.money(sums.surcharge)} of surcharge ({CODE})",
        (where, Style.FAINT),
    )
    purposes = {row.request.purpose for row, one in zip(diagnosis.rows, found, strict=True) if one is not None}
    if purposes & ONE_SHOTS:
        hint = f"'agentsim compare --policy {UncachedOneShots.name}' tells what side calls would save without markers."
        paper.paragraph((hint, Style.FAINT), first=["  "], rest=["  "])
