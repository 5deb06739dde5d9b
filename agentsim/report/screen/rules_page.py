"""Rules of providers on a screen, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from agentsim import __version__
from agentsim.report.figures import plural
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

YEAR = 365 * 86400
"""Seconds; what is kept for so long has no lifetime."""

if TYPE_CHECKING:
    from agentsim.core.file_problems import FileProblem
    from agentsim.rules.providers.provider_rules import ProviderRules, RuleFigure
    from agentsim.rules.providers.rules_document import DatedFigure, RulesFile

SURE = {"high": Style.GOOD, "medium": Style.WARN, "low": Style.BAD}
MATCHING = {"breakpoint": "breakpoints", "longest_prefix": "longest prefix", "unit": "whole units", "slot": "slots"}


def write_providers(paper: Paper, rules: Sequence[tuple[RulesFile, ProviderRules, ProviderRules]]) -> None:
    """Write a line for each provider: its rules for requests without breakpoints, and with them."""
    rows: list[list[Span]] = []
    for file, plain, marked in rules:
        finds = MATCHING[plain.matching]
        if marked.matching != plain.matching:
            finds += f", {MATCHING[marked.matching]}"
        figures = [finds, f"{plain.minimum:,}", _life(plain), _fee(marked)]
        if any(option.models is not None for option in file.like):
            figures = ["as their makers' caches", "", "", ""]
        rows.append([(file.provider, Style.STRONG), *figures, file.read_until.isoformat(), file.title])
    columns = (
        TableColumn("provider", "<"),
        TableColumn("finds", "<"),
        TableColumn("shortest", ">"),
        TableColumn("kept for", ">"),
        TableColumn("writes", "<"),
        TableColumn("read until", "<"),
        TableColumn("", "<", 1, 4),
    )
    write_table(paper, columns, rows)
    paper.line()
    paper.paragraph(
        ("'agentsim rules show NAME' tells each rule and where it comes from; --model asks for one model.", Style.FAINT)
    )


def write_provider(
    paper: Paper, file: RulesFile, plain: ProviderRules, marked: ProviderRules, when: int, model: str
) -> None:
    """Write all rules of one provider that some file states, each with its source."""
    from agentsim.rules.providers.rules_resolution import chain as files_of

    chain = files_of(file, model, when)
    heading = f" · {file.title}" if file.title else ""
    paper.line((file.provider, Style.STRONG), heading, f" · {model}" if model else "")
    paper.line((f"sources read until {file.read_until}", Style.FAINT))
    for base in reversed(chain[:-1]):
        paper.line((f"where {file.file} says nothing: {base.file}", Style.FAINT))
    paper.line()
    stated = [figure for figure in plain.figures if figure.file]
    _write_figures(paper, stated)
    others = [figure for figure in marked.figures if figure.file and figure not in stated]
    if others:
        paper.line()
        paper.line(("For requests with breakpoints", Style.NAME))
        _write_figures(paper, others)
    special = list(_special(chain, plain.model, when)) if not model else []
    if special:
        paper.line()
        paper.line(("For some models", Style.NAME))
        for rule, found in special:
            first: list[Span] = ["  ", (rule, Style.STRONG), "  ", _value(found.value), "  "]
            names = ", ".join(found.models or ())
            paper.paragraph((names, Style.FAINT), first=first, rest=["      "])
    paper.line()
    unstated = len(plain.figures) - len(stated)
    rules = plural(unstated, "rule is not stated and does", "rules are not stated and do")
    paper.paragraph((f"{rules} nothing; --json lists all.", Style.FAINT))


def _write_figures(paper: Paper, figures: Iterable[RuleFigure]) -> None:
    found = list(figures)
    widest = max((len(figure.rule) for figure in found), default=0)
    for figure in found:
        dates = "".join(f" {word} {day}" for word, day in (("from", figure.since), ("until", figure.until)) if day)
        lead: list[Span] = [(f"{figure.rule:<{widest}}", Style.STRONG), "  "]
        sure: Span = (figure.confidence, SURE[figure.confidence])
        paper.paragraph((figure.value or "nothing", Style.NAME), dates, "  ", sure, first=lead, rest=["    "])
        place = f"{figure.file}:{figure.line}" if figure.line is not None else figure.file
        indent = "    "
        paper.paragraph((f"{figure.source} ({place})", Style.FAINT), first=[indent], rest=[indent])
        for value, source in figure.alternatives:
            paper.paragraph((f"or else {value or 'nothing'}: {source}", Style.FAINT), first=[indent], rest=[indent])


def _special(chain: Sequence[RulesFile], model: str, when: int) -> Iterator[tuple[str, DatedFigure]]:
    """Figures for some models only, which the rules of no particular model leave out."""
    for file in chain:
        for rule, options in file.figures.rules.items():
            for option in options:
                if option.models is not None and not option.holds(model, when):
                    yield rule, option
        yield from (("like", option) for option in file.like if option.models is not None)


def providers_document(rules: Sequence[tuple[RulesFile, ProviderRules, ProviderRules]]) -> dict[str, Any]:
    """Rules of providers with all figures."""
    return {
        "agentsim": __version__,
        "report": "providers",
        "version": 1,
        "providers": [
            {
                "name": file.provider,
                "title": file.title,
                "aliases": list(file.aliases),
                "file": file.file,
                "read_until": file.read_until.isoformat(),
                "model": plain.model,
                "rules": [_figure(figure) for figure in plain.figures],
                "with_breakpoints": [_figure(figure) for figure in marked.figures if figure not in plain.figures],
            }
            for file, plain, marked in rules
        ],
    }


def write_rules_problems(paper: Paper, problems: Sequence[FileProblem]) -> None:
    """Write each mistake of a rules file: where, what, and what to do."""
    for problem in problems:
        paper.paragraph((problem.place, Style.STRONG), ": ", problem.what)
        paper.paragraph((problem.remedy, Style.FAINT), first=["  "], rest=["  "])


def _figure(figure: RuleFigure) -> dict[str, Any]:
    return {
        "rule": figure.rule,
        "value": figure.value,
        "confidence": figure.confidence,
        "source": figure.source,
        "provider": figure.provider,
        "file": figure.file or None,
        "line": figure.line,
        "from": figure.since,
        "until": figure.until,
        "alternatives": [{"value": value, "source": source} for value, source in figure.alternatives],
    }


def _life(rules: ProviderRules) -> str:
    if rules.ttl_short >= YEAR:
        return "room" if rules.eviction == "lru" else "slot"
    return _duration(rules.ttl_short)


def _duration(seconds: int) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _fee(rules: ProviderRules) -> str:
    if rules.storage != "none":
        return "storage"
    return "a price" if rules.write_fee == "by_lifetime" and rules.matching == "breakpoint" else "no price"


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(item) for item in value) or "nothing"
    return str(value).lower() if isinstance(value, bool) else str(value)
