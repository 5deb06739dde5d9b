"""GitHub workflow commands: an annotation for each broken limit and each miss behind it, the worst first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Literal

from agentsim.budget.budget_gate import Gate
from agentsim.report import gate_words
from agentsim.report.clean import clean

MOST_OF_A_KIND = 10
"""GitHub shows ten annotations of a kind for a step and drops the rest without a word."""

MOST_CHARACTERS = 1_000

Kind = Literal["error", "warning", "notice"]


def github_text(gate: Gate) -> str:
    """The annotations, then one line with the outcome. What is beyond ten of a kind is counted in a line of its own."""
    lines: list[str] = []
    kinds: dict[Kind, list[str]] = {"error": [], "warning": [], "notice": []}
    for kind, text in _annotations(gate):
        kinds[kind].append(text)
    for kind, texts in kinds.items():
        lines += texts[:MOST_OF_A_KIND]
        hidden = len(texts) - MOST_OF_A_KIND
        if hidden > 0:
            lines.append(f"and {hidden:,} more of kind {kind}; the summary of this job lists them")
    lines.append(f"{gate_words.OUTCOME[gate.outcome]}: {gate_words.tally(gate)}")
    return "\n".join(lines) + "\n"


def _annotations(gate: Gate) -> Iterator[tuple[Kind, str]]:
    for result in gate.results:
        if result.status == "held":
            continue
        kind: Kind = "error" if result.level == "error" else "warning"
        file, line = result.place
        title = f"{gate_words.OUTCOME[result.status]}: {result.budget}"
        yield kind, command(kind, gate_words.line(result), file=file, line=line, title=title)
    for problem in gate.problems:
        text = f"{problem.reason}; {problem.remedy}"
        yield "error", command("error", text, file=problem.file, line=problem.line or None, title="Cannot be read")
    for finding in gate.findings:
        if finding.blame == "note":
            continue
        fix = gate_words.miss_fix(finding)
        text = gate_words.miss_text(finding) + (f"\nFix: {fix}" if fix else "")
        title = gate_words.miss_title(finding.verdict)
        yield "warning", command("warning", text, file=finding.file, line=finding.line, title=title)


def command(kind: Kind, text: str, *, file: str | None = None, line: int | None = None, title: str = "") -> str:
    """One workflow command. No outside text can end it or begin another: line ends and separators are escaped."""
    properties = []
    if file is not None:
        properties.append(f"file={_property(os.path.normpath(file))}")
        if line is not None:
            properties.append(f"line={line}")
    if title:
        properties.append(f"title={_property(title)}")
    cleaned = "\n".join(clean(part) for part in text.split("\n"))
    if len(cleaned) > MOST_CHARACTERS:
        cleaned = cleaned[: MOST_CHARACTERS - 1] + "…"
    head = f"::{kind} {','.join(properties)}" if properties else f"::{kind}"
    return f"{head}::{_data(cleaned)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(clean(text)).replace(":", "%3A").replace(",", "%2C").replace(";", "%3B")
