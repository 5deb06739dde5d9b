"""The formats in which the outcome of budgets is written: ours, and those that installed packages add.

A package adds one with an entry point of the group ``agentsim.reporters``: its name is the format's, and it leads to a
function that takes a :class:`agentsim.budget.budget_gate.Gate` and returns the text.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from agentsim.budget.budget_gate import Gate

GROUP = "agentsim.reporters"

TEXTS = MappingProxyType(
    {
        "json": "agentsim.report.json.gate_json:gate_text",
        "junit": "agentsim.report.ci.junit:junit_text",
        "sarif": "agentsim.report.ci.sarif:sarif_text",
        "github": "agentsim.report.ci.github_annotations:github_text",
        "markdown": "agentsim.report.ci.pull_request_comment:markdown_text",
    }
)
"""Our formats but the page for a terminal, whose width is the stream's."""

OURS = ("terminal", *TEXTS)


def formats() -> tuple[str, ...]:
    """All formats, those of installed packages last."""
    from importlib.metadata import entry_points

    added = {point.name for point in entry_points(group=GROUP)} - set(OURS)
    return (*OURS, *sorted(added))


def write_gate_as(stream: TextIO, name: str, gate: Gate) -> None:
    """Write an outcome in a format. Raises KeyError for a format that nobody knows."""
    from agentsim.report.output import write_safe

    if name == "terminal":
        from agentsim.report.paper import Paper
        from agentsim.report.screen.gate_page import write_gate

        write_gate(Paper.on(stream), gate)
    else:
        write_safe(stream, _text_of(name)(gate))


def _text_of(name: str) -> Callable[[Gate], str]:
    where = TEXTS.get(name)
    if where is None:
        from importlib.metadata import entry_points

        for point in entry_points(group=GROUP, name=name):
            found: Callable[[Gate], str] = point.load()
            return found
        raise KeyError(name)
    module, _, function = where.partition(":")
    ours: Callable[[Gate], str] = getattr(import_module(module), function)
    return ours
