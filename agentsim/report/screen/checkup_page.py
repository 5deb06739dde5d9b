"""What ``agentsim doctor`` found, on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim import __version__
from agentsim.core.extras import how_to_install
from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.core.session import Problem
    from agentsim.fleet.checkup import CheckedPlace, Checkup

_MOST_TOLD = 3
"""Files of one place and reason that are named; the others are counted."""


def write_checkup(paper: Paper, found: Checkup) -> None:
    """Write what was found and what is missing, and how to get it."""
    paper.line((f"agentsim {__version__}", Style.STRONG), f" · Python {found.python} · {found.system}")
    _places(paper, found)
    _extras(paper, found)
    paper.line()
    paper.line(("Rules and prices", Style.STRONG))
    first, last = found.rules_until
    read = f"read on {last}" if first == last else f"read between {first} and {last}"
    lines = [("rules", f"{figures.plural(found.providers, 'provider')}, sources {read}")]
    lines += [("", f"{path} (yours)") for path in found.own_rules]
    library = f"genai-prices {found.price_library}" if found.price_library else "no price library"
    lines.append(("prices", f"{library}, and prices checked until {found.prices_until}"))
    for one in found.kept:
        size = "not there" if one.size is None else figures.plural(one.size, "byte")
        lines.append((one.purpose, f"{one.path} ({size})"))
    width = max(len(name) for name, _ in lines)
    for name, text in lines:
        paper.paragraph(text, first=[f"  {name:<{width}}  "], rest=[" " * (width + 4)])


def _places(paper: Paper, found: Checkup) -> None:
    paper.line()
    paper.line(("Logs", Style.STRONG))
    if not found.places:
        paper.paragraph("None where harnesses keep them (docs/formats.md).", first=["  "], rest=["  "])
    for place in found.places:
        name = place.harness or ""
        lead: list[Span] = ["  ", (name, Style.STRONG), ": " if name else ""]
        paper.paragraph(place.path, first=lead, rest=["    "])
        paper.paragraph(_contents(place), first=["    "], rest=["    "])
        _problems(paper, place.problems)
    for unread in found.unread:
        paper.paragraph(unread.path, first=["  ", (unread.harness, Style.STRONG), ": "], rest=["    "])
        paper.paragraph(("not read: ", Style.WARN), unread.reason, first=["    "], rest=["      "])
    if found.not_there:
        paper.paragraph(("Not there: " + ", ".join(found.not_there), Style.FAINT), first=["  "], rest=["  "])


def _contents(place: CheckedPlace) -> str:
    parts = [f"{figures.plural(one.files, 'file')} of {one.format}" for one in place.formats]
    if place.other_files:
        parts.append(f"{place.other_files:,} of no log's format, and passed over")
    return ", ".join(parts) or "no log"


def _problems(paper: Paper, problems: tuple[Problem, ...]) -> None:
    by_reason: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        by_reason.setdefault((problem.reason, problem.remedy), []).append(problem)
    for (reason, remedy), several in by_reason.items():
        named = ", ".join(problem.file for problem in several[:_MOST_TOLD])
        more = f" and {len(several) - _MOST_TOLD:,} more" if len(several) > _MOST_TOLD else ""
        text = f"{named}{more}: {reason}; {remedy}"
        paper.paragraph(("not read: ", Style.WARN), text, first=["    "], rest=["      "])


def _extras(paper: Paper, found: Checkup) -> None:
    paper.line()
    paper.line(("Extras", Style.STRONG))
    rows: list[list[Span]] = [
        [
            one.name,
            ("there", Style.GOOD) if not one.missing else (how_to_install(one.name), Style.WARN),
            one.purpose,
        ]
        for one in found.extras
    ]
    write_table(paper, (TableColumn("extra", "<"), TableColumn("", "<"), TableColumn("for", "<", 4, 8)), rows, indent=2)
