"""What a cause means, on a screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentsim.report.paper import Paper, Span, Style

if TYPE_CHECKING:
    from agentsim.diagnose.cause_registry import Cause
    from agentsim.diagnose.harness_settings import HarnessSetting, KnownHarness


def write_cause(paper: Paper, cause: Cause, only: KnownHarness | None = None) -> None:
    """Write one cause: its meaning, how to confirm it, how to fix it, and what harnesses have against it (or one)."""
    paper.paragraph((cause.code, Style.STRONG), " ", (cause.title, Style.STRONG), (f"  {cause.slug}", Style.FAINT))
    for title, text in (
        ("What it means", cause.meaning),
        ("How to confirm it", cause.how_to_confirm),
        ("Fix", cause.fix),
    ):
        paper.line()
        paper.line((title, Style.NAME))
        paper.paragraph(text, first=["  "], rest=["  "])
    _settings(paper, cause, only)


def _settings(paper: Paper, cause: Cause, only: KnownHarness | None) -> None:
    from agentsim.diagnose.harness_settings import known_harnesses, settings_for

    shown = [only] if only is not None else known_harnesses()
    found = [(harness, settings_for(harness.name, cause=cause.code)) for harness in shown]
    if any(settings for _, settings in found) or only is not None:
        paper.line()
        paper.line(("Settings", Style.NAME))
    for harness, settings in found:
        name = (f"{harness.title} {harness.looked_at}", Style.STRONG)
        if not settings and only is not None:
            paper.paragraph(name, ": no setting against this is known.", first=["  "], rest=["  "])
        for setting in settings:
            since = f" Since {setting.since}." if setting.since else ""
            source = (f" [{setting.source}]", Style.FAINT)
            paper.paragraph(name, f": {setting.words}{since}", source, first=["  "], rest=["    "])
            if only is not None:
                write_diff(paper, setting, "    ")
    if cause.placeless:
        paper.line()
        paper.line(("How to record what is sent", Style.NAME))
        for harness in shown:
            paper.paragraph((harness.title, Style.STRONG), f": {harness.record}", first=["  "], rest=["    "])


def write_diff(paper: Paper, setting: HarnessSetting, indent: str) -> None:
    """Write the change that a setting is: the file, and the line to add."""
    from agentsim.diagnose.setting_diff import diff_of

    for number, line in enumerate(diff_of(setting)):
        paper.paragraph((line, Style.GOOD if number else Style.FAINT), first=[indent], rest=[f"{indent}  "])


def write_causes(paper: Paper, causes: Iterable[Cause]) -> None:
    """Write all causes, in groups."""
    group = ""
    for cause in causes:
        heading = cause.group
        if heading != group:
            if group:
                paper.line()
            group = heading
            paper.line((heading, Style.NAME))
        lead: list[Span] = ["  ", (cause.code, Style.STRONG), "  "]
        paper.paragraph(cause.title, first=lead, rest=[" " * (len(cause.code) + 4)])
