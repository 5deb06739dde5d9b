"""JUnit XML, which every CI shows: a suite for each budget, a test case for each of its limits on a session."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from agentsim import __version__
from agentsim.budget.budget_gate import Gate, GateMiss, Result
from agentsim.budget.session_measures import Measures
from agentsim.report import gate_words
from agentsim.report.clean import clean
from agentsim.report.figures import exact, per_cent

MOST_FAILURE_LINES = 20

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(gate: Gate) -> str:
    """The gate as a JUnit file. A broken limit is a failure, one that could not be judged an error; what only warns
    is skipped, with the reason in words. Cleaned text only: nothing in it can end an attribute or an element."""
    suites = ['<?xml version="1.0" encoding="UTF-8"?>']
    cases = [_case(result) for result in gate.results]
    unread = gate.problems
    counts = _counts(cases, len(unread))
    suites.append(f'<testsuites name="agentsim check"{counts}>')
    measures = {trace.key: trace.measures for trace in gate.traces}
    for budget in dict.fromkeys(result.budget for result in gate.results):
        own = [(result, kind) for result, kind in zip(gate.results, cases, strict=True) if result.budget == budget]
        suites.append(f"<testsuite name={_attribute(budget)}{_counts([kind for _, kind in own], 0)}>")
        suites.append(f'<properties><property name="agentsim" value={_attribute(__version__)}/></properties>')
        for result, kind in own:
            suites += _lines(result, kind, measures, gate.findings)
        suites.append("</testsuite>")
    if unread:
        suites.append(f'<testsuite name="input"{_counts([], len(unread))}>')
        for problem in unread:
            text = f"{problem.file}:{problem.line}: {problem.reason}; {problem.remedy}"
            suites.append(f'<testcase classname="input" name={_attribute(problem.file)} time="0">')
            suites.append(f'<error message={_attribute(text)} type="unreadable">{_content(text)}</error></testcase>')
        suites.append("</testsuite>")
    suites.append("</testsuites>")
    return "\n".join(suites) + "\n"


def _case(result: Result) -> str:
    """Which kind of element a result becomes: ``passed``, ``failure``, ``error`` or ``skipped``."""
    if result.status == "held":
        return "passed"
    if result.level == "warn":
        return "skipped"
    return "failure" if result.status == "broken" else "error"


def _counts(kinds: Iterable[str], unread: int) -> str:
    kinds = list(kinds)
    numbers = {
        "tests": len(kinds) + unread,
        "failures": kinds.count("failure"),
        "errors": kinds.count("error") + unread,
        "skipped": kinds.count("skipped"),
    }
    return "".join(f' {name}="{number}"' for name, number in numbers.items()) + ' time="0"'


def _lines(result: Result, kind: str, measures: dict[str, Measures], findings: Iterable[GateMiss]) -> Iterable[str]:
    name = f"{gate_words.limit(result.limit)} · {result.subject}"
    yield f'<testcase classname={_attribute(f"agentsim.{result.budget}")} name={_attribute(name)} time="0">'
    yield "<properties>"
    for key, value in _properties(result, measures):
        yield f"<property name={_attribute(key)} value={_attribute(value)}/>"
    yield "</properties>"
    if kind != "passed":
        text = gate_words.line(result)
        if kind == "skipped":
            yield f"<skipped message={_attribute(text)}/>"
        else:
            about = [text, *_misses(result, findings)]
            body = "\n".join(_content(one) for one in about)
            yield f"<{kind} message={_attribute(text)} type={_attribute(result.limit.kind)}>{body}</{kind}>"
    yield "</testcase>"


def _misses(result: Result, findings: Iterable[GateMiss]) -> list[str]:
    if result.status != "broken":
        return []
    own = [finding for finding in findings if finding.trace in result.traces]
    lines = [f"{gate_words.miss_text(one)} ({one.file}{f':{one.line}' if one.line else ''})" for one in own]
    hidden = len(lines) - MOST_FAILURE_LINES
    return lines[:MOST_FAILURE_LINES] + ([f"and {hidden:,} more"] if hidden > 0 else [])


def _properties(result: Result, measures: dict[str, Measures]) -> Iterable[tuple[str, str]]:
    yield "limit", gate_words.limit(result.limit, result.base)
    yield "found", gate_words.found(result)
    yield "status", result.status
    if len(result.traces) == 1:
        sums = measures[result.traces[0]]
        yield "requests", str(sums.requests)
        yield "cost", exact(sums.known_cost, 12) or "unknown"
        yield "input_equivalents", exact(sums.known_equivalents, 6) or "unknown"
        yield "hit_rate_percent", per_cent(sums.read, sums.total_input)
        yield "misses", str(sum(count for _, count in sums.misses))
    if result.file is not None:
        yield "config", f"{result.file}:{result.line}" if result.line else result.file


def _attribute(text: str) -> str:
    return quoteattr(_safe(text))


def _content(text: str) -> str:
    return escape(_safe(text))


def _safe(text: str) -> str:
    """Text without characters that XML forbids, even as references, and without any that a terminal obeys."""
    return _NOT_XML.sub("\ufffd", clean(text))
