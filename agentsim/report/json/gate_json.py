"""The gate for programs."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from agentsim import __version__
from agentsim.budget.budget_gate import Gate, GateMiss, JudgedTrace, Result
from agentsim.budget.budget_limits import Limit
from agentsim.core.session import Problem
from agentsim.core.verdict import Divergence
from agentsim.report.exits import ExitCode
from agentsim.report.figures import exact
from agentsim.report.gate_words import line
from agentsim.report.json.canonical_json import DOLLAR_DIGITS, TOKEN_DIGITS, Document

EXITS = {"held": ExitCode.OK, "broken": ExitCode.FINDINGS, "unjudged": ExitCode.UNREADABLE}
"""The exit code of each outcome. Every format and the process itself take it from here."""


def gate_document(gate: Gate) -> Document:
    """All results, the misses of the judged sessions, their sums, and what could not be read."""
    return {
        "agentsim": __version__,
        "report": "check",
        "version": 1,
        "outcome": gate.outcome,
        "exit_code": int(EXITS[gate.outcome]),
        "config": gate.config,
        "counts": {status: gate.count(status) for status in ("broken", "held", "unjudged")},
        "results": results(gate.results),
        "misses": [_finding(finding) for finding in gate.findings],
        "traces": [_trace(trace) for trace in gate.traces],
        "problems": problems(gate.problems),
    }


def results(items: Iterable[Result]) -> list[Document]:
    """A record for each limit that was judged."""
    return [_result(item) for item in items]


def place(where: Divergence) -> Document:
    """Where two prompts part, without any of their words."""
    return {
        "section": where.section,
        "block": where.block,
        "address": where.address,
        "name": where.name,
        "change": where.change,
        "offset": where.offset,
        "changed_characters": where.changed_characters,
    }


def problems(items: Iterable[Problem]) -> list[Document]:
    """What could not be read."""
    return [{"file": one.file, "line": one.line, "reason": one.reason, "remedy": one.remedy} for one in items]


def value(limit: Limit, number: Fraction | None) -> object:
    """A value in the unit of a limit: exact decimals in strings, counts as integers, a share as two whole numbers."""
    if number is None:
        return None
    what = limit.metric if limit.kind == "max-growth" else limit.kind
    if what in ("max-cost", "max-lost-cost", "cost"):
        return exact(round(number), DOLLAR_DIGITS)
    if what in ("max-input-equivalents", "input-equivalents"):
        return exact(round(number), TOKEN_DIGITS)
    if what == "min-hit-rate" or number.denominator != 1:
        return {"part": number.numerator, "whole": number.denominator}
    return int(number)


def _result(result: Result) -> Document:
    limit = result.limit
    share = limit.relative
    return {
        "budget": result.budget,
        "level": result.level,
        "kind": limit.kind,
        "metric": limit.metric,
        "cause": limit.cause,
        "limit": {"part": limit.value.numerator, "whole": limit.value.denominator}
        if share
        else value(limit, limit.value),
        "limit_is_relative": share,
        "baseline": value(limit, result.base),
        "found": value(limit, result.actual),
        "status": result.status,
        "reason": result.reason,
        "text": line(result),
        "traces": list(result.traces),
        "file": result.file,
        "line": result.line,
    }


def _finding(finding: GateMiss) -> Document:
    verdict = finding.verdict
    return {
        "trace": finding.trace,
        "session": finding.session,
        "request": verdict.request,
        "row": finding.number,
        "file": finding.file,
        "line": finding.line,
        "cause": verdict.cause,
        "evidence": verdict.evidence,
        "alternatives": list(verdict.alternatives),
        "place": place(verdict.place) if verdict.place is not None else None,
        "lost_tokens": verdict.lost,
        "lost_cost": exact(verdict.lost_cost, DOLLAR_DIGITS),
        "blame": finding.blame,
    }


def _trace(trace: JudgedTrace) -> Document:
    sums = trace.measures
    return {
        "trace": trace.key,
        "path": trace.path,
        "session": trace.session,
        "budgets": trace.budgets,
        "requests": sums.requests,
        "tokens": {"fresh": sums.fresh, "written": sums.written, "read": sums.read, "output": sums.output},
        "hit_rate": {"read": sums.read, "total_input": sums.total_input},
        "cost": exact(sums.known_cost, DOLLAR_DIGITS),
        "input_equivalents": exact(sums.known_equivalents, TOKEN_DIGITS),
        "lost_cost": exact(sums.known_lost_cost, DOLLAR_DIGITS),
        "misses": dict(sums.misses),
        "not_priced": sums.unpriced,
        "without_counters": sums.unreported,
        "output_not_final": sums.provisional,
        "skipped_lines": sums.skipped,
    }


def gate_text(gate: Gate) -> str:
    """The document as text."""
    from io import StringIO

    from agentsim.report.json.canonical_json import write_document

    stream = StringIO()
    write_document(stream, gate_document(gate))
    return stream.getvalue()
