"""Budgets judged on inputs, and the formats in which the outcome is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from agentsim.budget.budget_gate import Gate
    from agentsim.core.session import Problem

FORMATS = ("terminal", "json", "junit", "sarif", "github", "markdown")


def run(paths: tuple[str, ...], config: Any, budgets: Any, baseline: str | None) -> Gate:
    """Read the inputs and judge them."""
    from agentsim.budget.budget_judging import judge
    from agentsim.budget.recordings import read_recordings
    from agentsim.commands.options.budget_options import baseline_file, inputs_of, read_measures

    inputs = inputs_of(config, paths)
    growth = any(limit.kind == "max-growth" for budget in budgets for limit in budget.limits)
    measures = read_measures(baseline_file(config, baseline)) if growth else None
    problems: list[Problem] = []
    return judge(
        read_recordings(inputs, problems),
        budgets,
        root=config.root if config is not None else ".",
        baseline=measures,
        problems=problems,
        config=config.file if config is not None else None,
        # Of files that were named, each budget takes those it is about; the others have nothing to say.
        all_must_match=not paths,
    )


def write(stream: TextIO, name: str, gate: Gate) -> None:
    """Write a gate in a format."""
    from agentsim.report.output import write_safe

    if name == "terminal":
        from agentsim.report.paper import Paper
        from agentsim.report.screen.gate_page import write_gate

        write_gate(Paper.on(stream), gate)
    elif name == "json":
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.gate_json import gate_document

        write_document(stream, gate_document(gate))
    elif name == "junit":
        from agentsim.report.ci.junit import junit_text

        write_safe(stream, junit_text(gate))
    elif name == "sarif":
        from agentsim.report.ci.sarif import sarif_text

        write_safe(stream, sarif_text(gate))
    elif name == "github":
        from agentsim.report.ci.github_annotations import github_text

        write_safe(stream, github_text(gate))
    else:
        from agentsim.report.ci.pull_request_comment import markdown_text

        write_safe(stream, markdown_text(gate))
