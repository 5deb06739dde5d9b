"""The lab's report as Markdown, with its plots beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agentsim.report.clean import clean
from agentsim.report.screen.lab_page import Result, judged, measured_words, published_words, words
from agentsim.report.web.plots import svg

if TYPE_CHECKING:
    from agentsim.engine.lab.experiment import Experiment, Findings, ResultTable

_SPECIAL = re.compile(r"([\\`*_\[\]<>|])")


def report_files(results: Sequence[Result], folder: str, subject: str) -> Iterator[tuple[str, str]]:
    """The plots, each with its file's name in ``folder``; last of all the report itself, under an empty name.

    ``subject`` says on what it was made, in words.
    """
    lines = [
        "# Lab report",
        "",
        _escaped(subject),
        "`agentsim engine lab NAME` runs an experiment again; [the lab](lab.md) tells how. A figure that",
        "depends on the machine stands beside the published one and is not judged.",
        "",
    ]
    for experiment, _, _ in results:
        lines.append(f"- [{_escaped(experiment.title)}](#{experiment.name})")
    for experiment, found, seconds in results:
        lines += ["", f'<a name="{experiment.name}"></a>', "", f"## {_escaped(experiment.title)}", ""]
        on = ", on a real model" if experiment.needs_model else ""
        lines += [
            _escaped(experiment.meaning),
            "",
            f"`agentsim engine lab {experiment.name}` took {seconds:.1f} s{on}.",
            "",
        ]
        lines += _figures(experiment, found)
        for table in found.tables:
            lines += _table(table)
        for note in found.notes:
            lines += [_escaped(note), ""]
        for number, plot in enumerate(found.plots, start=1):
            name = f"{experiment.name}-{number}.svg"
            yield name, svg(plot)
            lines += [f"![{_escaped(plot.title)}]({folder}/{name})", ""]
        while lines[-1] == "":
            lines.pop()
    yield "", "\n".join(lines) + "\n"


def _figures(experiment: Experiment, found: Findings) -> list[str]:
    lines = ["| figure | measured | published | |", "|--|--:|--:|--|"]
    for figure, published, verdict in judged(experiment, found):
        beside = "" if published is None else published_words(published)
        lines.append(_row([figure.name, measured_words(figure), beside, verdict.value]))
    return [*lines, ""]


def _table(table: ResultTable) -> list[str]:
    aligned = ["--" if all(isinstance(row[place], str) for row in table.rows) else "--:"
               for place in range(len(table.columns))]  # fmt: skip
    lines = [f"**{_escaped(table.title)}**", "", _row(table.columns), "|" + "|".join(aligned) + "|"]
    return [*lines, *(_row([words(cell) for cell in row]) for row in table.rows), ""]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", clean(text)).strip()
