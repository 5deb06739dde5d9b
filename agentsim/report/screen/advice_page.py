"""What to set, at the end of a summary: at most three lines, each with its saving and the command that proves it."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING

from agentsim.diagnose.harness_settings import known_harness
from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.screen.cause_page import write_diff

if TYPE_CHECKING:
    from agentsim.fleet.summary.worth_setting import SettingAdvice, WorthSetting

_MOST_PATHS = 3
"""Paths that a command repeats; of more of them only the first is named."""


def write_advice(paper: Paper, advice: SettingAdvice, paths: Sequence[str]) -> None:
    """Write what to set, or that no known setting would have saved anything."""
    paper.line()
    paper.line(("Do this", Style.STRONG))
    if not advice.simulated:
        text = "No session can be simulated well enough to name a saving: agentsim compare PATH tells why."
        paper.paragraph(text, first=["  "], rest=["  "])
        return
    if not advice.lines:
        text = "No setting that is known would have saved anything over these sessions."
        paper.paragraph(text, first=["  "], rest=["  "])
    for number, line in enumerate(advice.lines, 1):
        lead: list[Span] = [(f"  {number}. ", Style.STRONG)]
        known = known_harness(line.harness)
        title = known.title if known is not None else line.harness
        paper.paragraph((f"{title}: ", Style.NAME), line.setting.words, first=lead, rest=["     "])
        write_diff(paper, line.setting, "       ")
        paper.paragraph(saved(line), first=["     "], rest=["     "])
        paper.paragraph((f"Proof: {proof(line, paths)}", Style.FAINT), first=["     "], rest=["     "])
    if advice.simulated < advice.sessions:
        of = figures.plural(advice.sessions, "session")
        text = f"Simulated over {advice.simulated:,} of {of}: those that lost most and can be simulated."
        paper.paragraph((text, Style.FAINT), first=["  "], rest=["  "])


def saved(line: WorthSetting) -> str:
    """What a setting would have saved, with its interval where there is one."""
    places = figures.places_for([line.saving])
    text = f"Would have saved {figures.money(line.saving, places)} of {figures.money(line.cost)}"
    text += f" ({figures.per_cent(line.saving, line.cost, 1)} %)"
    if line.policy is None:
        most = "" if line.high is None else f" and at most {figures.money(line.high, places)}"
        text = f"Would have saved at least {figures.money(line.low, places)}{most} of {figures.money(line.cost)}"
    elif line.low is not None and line.high is not None:
        between = f"{figures.money(line.low, places)} and {figures.money(line.high, places)}"
        text += f", between {between} when sessions are drawn again"
    text += f"; over {figures.plural(line.sessions, 'session')}"
    text += f", {line.costs_more:,} of which it makes dearer." if line.costs_more else "."
    return f"{text} If: {line.condition}" if line.condition else text


def proof(line: WorthSetting, paths: Sequence[str]) -> str:
    """The command that shows where the saving comes from."""
    theirs = [path for path in paths if any(file.startswith(path) for file in line.files)] or list(paths)
    named = " ".join(quote(path) for path in theirs[:_MOST_PATHS]) or "PATH"
    if line.policy is None:
        return f"agentsim compare {named}"
    return f"agentsim compare {named} --policy {line.policy}"
