"""Markdown for a pull request: a comment that is found again by a hidden marker, and edited in place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentsim.budget.budget_gate import Gate, GateMiss
from agentsim.report import figures, gate_words
from agentsim.report.clean import clean
from agentsim.report.verdict_words import where

MARKER = "<!-- agentsim -->"
"""The first line of the comment. A comment that holds it is edited instead of a new one being made."""

MOST_BYTES = 64 * 1024 - 512
"""A comment on GitHub holds 64 KiB (65,536 characters); some room is kept for what an action adds."""

MOST_CELL = 160

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#|~&@$:])")
_LINKING = re.compile(r"([@#]|:(?=\S)|\bwww(?=\.)|\bGH-)|[\\`*_{}\[\]()<>|~&$:]", re.IGNORECASE)


def markdown_text(gate: Gate) -> str:
    """The comment. Rows are left out from the end, and counted, where it would not fit.

    All outside text is escaped: it makes no link, no mention, no cell, no HTML.
    """
    for most in (200, 100, 50, 20, 10, 3, 0):
        text = _comment(gate, most)
        if len(text.encode("utf-8")) <= MOST_BYTES:
            return text
    raise AssertionError("a comment without rows is short")


def _comment(gate: Gate, most: int) -> str:
    mark = {"held": "✅", "broken": "❌", "unjudged": "⚠️"}[gate.outcome]
    lines = [MARKER, f"### {mark} {gate_words.OUTCOME[gate.outcome]}", ""]
    about = f"{figures.plural(len(gate.traces), 'session')}: {gate_words.tally(gate)}"
    lines += [about + (f" · `{_code(gate.config)}`" if gate.config else ""), ""]
    failed = [result for result in gate.results if result.status != "held"]
    if failed:
        rows = []
        for result in failed[:most]:
            cells = list(gate_words.row(result))
            cells[5] = cells[5] or result.reason or ""
            rows.append(cells)
        lines += _table(("status", "budget", "trace", "limit", "found", "beyond, or why not judged"), rows)
        lines += _more(len(failed) - most)
    if gate.problems:
        lines += ["**Cannot be read**", ""]
        rows = [[problem.file, str(problem.line or ""), problem.reason] for problem in gate.problems[:most]]
        lines += _table(("file", "line", "why"), rows) + _more(len(gate.problems) - most)
    blamed = [finding for finding in gate.findings if finding.blame != "note"]
    if blamed:
        lines += ["**Lost caches behind it**", ""]
        rows = []
        for finding in blamed[:most]:
            verdict = finding.verdict
            file = f"{finding.path}:{finding.line}" if finding.line else finding.path
            cost = figures.money(verdict.lost_cost) if verdict.lost_cost is not None else figures.UNKNOWN
            rows.append([gate_words.miss_title(verdict), file, figures.count(verdict.lost), cost, _place(finding)])
        lines += _table(("cause", "where", "tokens lost", "cost", "what changed"), rows)
        lines += _more(len(blamed) - most)
        lines += _fixes(gate)
    lines += _sessions(gate, most)
    return "\n".join(lines).rstrip("\n") + "\n"


def _sessions(gate: Gate, most: int) -> list[str]:
    if not gate.traces or not most:
        return []
    rows = [[trace.path, *gate_words.sums(trace)] for trace in gate.traces[:most]]
    table = _table(("trace", "requests", "cost", "input equivalents", "hit rate", "misses"), rows)
    head = f"<details><summary>{figures.plural(len(gate.traces), 'session')}</summary>"
    return [head, "", *table, *_more(len(gate.traces) - most), "</details>", ""]


def _fixes(gate: Gate) -> list[str]:
    told: dict[str, str] = {}
    for finding in gate.findings:
        fix = gate_words.miss_fix(finding)
        if finding.blame != "note" and fix is not None:
            told.setdefault(finding.verdict.code, fix)
    lines = [f"- **{escape(code)}**: {escape(fix, 1_000)}" for code, fix in list(told.items())[:10]]
    return [*lines, ""] if lines else []


def _place(finding: GateMiss) -> str:
    return where(finding.verdict.place) if finding.verdict.place is not None else ""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    lines = ["| " + " | ".join(header) + " |", "|" + " -- |" * len(header)]
    lines += ["| " + " | ".join(escape(cell, MOST_CELL) for cell in row) + " |" for row in rows]
    return [*lines, ""]


def _more(hidden: int) -> list[str]:
    return [f"and {hidden:,} more", ""] if hidden > 0 else []


def escape(text: str, width: int | None = None) -> str:
    """Text that Markdown and HTML show as it is, on one line, and that links to nobody and nothing."""
    return _LINKING.sub(_broken, clean(text, width))


def _broken(match: re.Match[str]) -> str:
    # Numbers, not backslashes: a cell is split at a pipe before backslashes count. What GitHub links after rendering
    # (names, issues, bare addresses) is broken up by a comment that renders as nothing.
    return _SPECIAL.sub(lambda one: f"&#{ord(one[1])};", match[0]) + ("<!-- -->" if match[1] else "")


def _code(text: str) -> str:
    """Text for a code span, in which nothing is special but the backtick."""
    return clean(text).replace("`", "'").replace("|", "/")
