"""Experiments of the lab on a screen, as JSON, and as values in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentsim.report.figures import short
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.engine.lab.experiment import (
        Experiment,
        FigureAgreement,
        Findings,
        MeasuredFigure,
        PublishedFigure,
        ResultTable,
        Value,
    )

Result = tuple["Experiment", "Findings", float]
"""An experiment, what it found, and the seconds that it took."""


def write_list(paper: Paper, experiments: Mapping[str, str]) -> None:
    """Write the names and titles."""
    widest = max(map(len, experiments))
    for name, title in experiments.items():
        paper.paragraph(title, first=[(f"{name:<{widest}}", Style.STRONG), "  "], rest=[" " * (widest + 2)])
    paper.line()
    paper.paragraph(("agentsim engine lab NAME runs one of them, agentsim engine lab --all every one.", Style.FAINT))


def write_result(paper: Paper, result: Result) -> None:
    """Write an experiment: what it establishes, its figures beside the published ones, its tables."""
    experiment, found, seconds = result
    paper.paragraph((experiment.title, Style.STRONG), (f" · {experiment.name}, {seconds:.1f} s", Style.FAINT))
    paper.paragraph(experiment.meaning, first=["  "], rest=["  "])
    if found.figures:
        paper.line()
        _figures(paper, experiment, found)
    for table in found.tables:
        paper.line()
        paper.paragraph((table.title, Style.NAME), first=["  "], rest=["  "])
        columns = [
            TableColumn(title, "<", 9, 24) if _is_text(table, place) else TableColumn(title, ">", 9 - place // 4)
            for place, title in enumerate(table.columns)
        ]
        write_table(paper, columns, [[words(cell) for cell in row] for row in table.rows], indent=2)
    for note in found.notes:
        paper.line()
        paper.paragraph(note, first=["  "], rest=["  "])


def _figures(paper: Paper, experiment: Experiment, found: Findings) -> None:
    columns = [
        TableColumn("figure", "<", 9, 20),
        TableColumn("measured", ">", 9),
        TableColumn("published", ">", 8),
        TableColumn("", "<", 7),
    ]
    rows: list[list[Span]] = []
    for figure, published, verdict in judged(experiment, found):
        beside = "" if published is None else published_words(published)
        rows.append([figure.name, measured_words(figure), beside, (verdict.value, _STYLES[verdict.name])])
    write_table(paper, columns, rows, indent=2)


_STYLES = {"SAME": Style.GOOD, "DIFFERS": Style.BAD, "MACHINE": Style.FAINT, "UNPUBLISHED": Style.PLAIN}


def judged(
    experiment: Experiment, found: Findings
) -> list[tuple[MeasuredFigure, PublishedFigure | None, FigureAgreement]]:
    """Each figure with the published one and what became of the comparison."""
    from agentsim.engine.lab.experiment import agreement

    rows = []
    for figure in found.figures:
        published = experiment.published.get(figure.name)
        rows.append((figure, published, agreement(figure.value, published)))
    return rows


def differing(experiment: Experiment, found: Findings) -> list[str]:
    """Names of figures that are not what was published, or that are missing."""
    from agentsim.engine.lab.experiment import FigureAgreement

    missing = set(experiment.published) - {figure.name for figure in found.figures}
    wrong = [figure.name for figure, _, verdict in judged(experiment, found) if verdict is FigureAgreement.DIFFERS]
    return [*wrong, *sorted(missing)]


def words(value: Value) -> str:
    """A value as it is shown."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return short(value)


def measured_words(figure: MeasuredFigure) -> str:
    """A measured value with its unit."""
    return f"{words(figure.value)} {figure.unit}".rstrip()


def published_words(published: PublishedFigure) -> str:
    """A published value; a bound says so."""
    from agentsim.engine.lab.experiment import Holds

    sign = "≤ " if published.holds is Holds.AT_MOST else ""
    return sign + words(published.value)


def lab_document(results: Sequence[Result], version: str) -> dict[str, Any]:
    """All results as JSON."""
    return {"agentsim": version, "report": "lab", "version": 1, "experiments": [_experiment(each) for each in results]}


def _experiment(result: Result) -> dict[str, Any]:
    experiment, found, seconds = result
    return {
        "name": experiment.name,
        "title": experiment.title,
        "meaning": experiment.meaning,
        "seconds": round(seconds, 3),
        "figures": [
            {
                "name": figure.name,
                "measured": figure.value,
                "unit": figure.unit,
                "published": None if published is None else published.value,
                "holds": None if published is None else published.holds.value,
                "comparison": verdict.value or None,
            }
            for figure, published, verdict in judged(experiment, found)
        ],
        "tables": [
            {"title": table.title, "columns": list(table.columns), "rows": [list(row) for row in table.rows]}
            for table in found.tables
        ],
        "notes": list(found.notes),
    }


def _is_text(table: ResultTable, place: int) -> bool:
    return all(isinstance(row[place], str) for row in table.rows)
