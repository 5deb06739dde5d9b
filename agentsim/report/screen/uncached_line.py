"""Requests that no cache took part in: the line under a replay that says how many, why, and what they repeated."""

from __future__ import annotations

from collections import Counter

from agentsim.core.prompt import Prompt
from agentsim.diagnose import Diagnosis
from agentsim.diagnose.cause_registry import cause
from agentsim.report import figures
from agentsim.report.paper import Paper, Style
from agentsim.report.verdict_words import cause_title

OFF = cause("caching-off").code
"""The cause whose remedy is to ask for caching at all."""

ADVISED = "marker-last"
"""The policy that says what asking for it would save."""


def write_uncached(paper: Paper, diagnosis: Diagnosis) -> None:
    """Write how many requests used no cache, by cause, and how much of them an earlier request of the lane had sent."""
    causes: Counter[str] = Counter()
    tokens = repeated = 0
    before: dict[str, Prompt] = {}
    for row, verdict in zip(diagnosis.rows, diagnosis.verdicts, strict=True):
        request = row.request
        if verdict.kind == "uncached" and verdict.cause is not None and request.counted:
            causes[verdict.cause] += 1
            if verdict.cause == OFF:
                tokens += row.usage.total_input or 0
                if request.prompt is not None and request.lane in before:
                    same = before[request.lane].common_length(request.prompt)
                    repeated += min(request.prompt.tokens_until(same), row.usage.total_input or 0)
        if request.prompt is not None:
            before[request.lane] = request.prompt
    if not causes:
        return
    named = "; ".join(f"{cause_title(code)} ({code}, {count})" for code, count in causes.most_common())
    paper.paragraph(
        ("not cached", Style.STRONG),
        f": {figures.plural(sum(causes.values()), 'request')}",
        (f"; {named}", Style.FAINT),
    )
    if repeated:
        sentence = (
            f"{repeated:,} of their {tokens:,} tokens repeat the request before. "
            f"'agentsim compare --policy {ADVISED}' tells what reading them from a cache would save."
        )
        paper.paragraph(sentence, first=["  "], rest=["  "])
