"""Policies on a screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsim.report.paper import Paper, Span, Style

if TYPE_CHECKING:
    from agentsim.whatif.policies import Policy

HARNESS_NAMES = {"claude-code": "Claude Code", "pi": "Pi", "own-code": "Own code"}


def write_policies(paper: Paper, kinds: Sequence[type[Policy]]) -> None:
    """Write each policy with its line; those that show the model something else are marked."""
    widest = max(len(kind.name) for kind in kinds)
    for kind in kinds:
        lead: list[Span] = [(f"{kind.name:<{widest}}", Style.STRONG), "  "]
        mark: Span = (" (changes what the model sees)", Style.WARN) if kind.changes else ""
        paper.paragraph(kind.summary, mark, first=lead, rest=[" " * (widest + 2)])
    paper.line()
    paper.paragraph(("agentsim policies NAME tells its parameters, its condition and how to follow it.", Style.FAINT))


def write_policy(paper: Paper, kind: type[Policy]) -> None:
    """Write all about one policy."""
    from agentsim.whatif.policies import parameters
    from agentsim.whatif.policies.parameter_meanings import meanings

    paper.line((kind.name, Style.STRONG))
    paper.paragraph(kind.summary, first=["  "], rest=["  "])
    shown = f"Something else: {kind.changes}." if kind.changes else "Each request shows it the same blocks, in order."
    texts = [("Condition", kind.assumes), ("What the model is shown", shown)]
    if kind.needs_bodies:
        texts.append(("Needs", "A trace with bodies, or with fingerprints of them."))
    if kind.origin:
        texts.append(("Constants", kind.origin))
    texts += [(f"How: {HARNESS_NAMES[name]}", text) for name, text in kind.how.items()]
    for title, text in texts:
        paper.line()
        paper.line((title, Style.NAME))
        paper.paragraph(text, first=["  "], rest=["  "])
    found = parameters(kind)
    if found:
        paper.line()
        paper.line(("Parameters", Style.NAME))
        words = meanings(kind)
        lead = max(len(f"{p.name}={p.default}") for p in found)
        for p in found:
            first: list[Span] = ["  ", (f"{f'{p.name}={p.default}':<{lead}}", Style.STRONG), "  "]
            paper.paragraph(words.get(p.name, p.type), first=first, rest=[" " * (lead + 4)])
