"""SARIF 2.1.0, for code scanning: causes are rules with their help, misses and broken budgets are results."""

from __future__ import annotations

import json
import os
from hashlib import blake2b
from typing import Any
from urllib.parse import quote

from agentsim import __version__
from agentsim.budget.budget_gate import Gate, GateMiss, Result
from agentsim.report import gate_words
from agentsim.report.clean import clean

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"

BUDGET_RULES = {
    "budget-broken": (
        "BudgetBroken",
        "A budget is broken",
        "A limit that the configuration sets does not hold for a recorded session.",
        (
            "Look at the misses of the session first: each names its cause and its fix. Raise the limit, or write the "
            "baseline again, when the growth is meant."
        ),
    ),
    "budget-not-judged": (
        "BudgetNotJudged",
        "A budget could not be judged",
        (
            "Evidence is missing, so nothing can be said to hold: an input that cannot be read, a model without a "
            "known price, counters that are not reported, or a cause that the log cannot settle."
        ),
        (
            "The message says what is missing. Record full bodies, limit input equivalents instead of dollars, or "
            "allow some skipped lines."
        ),
    ),
}

Document = dict[str, Any]


def sarif_text(gate: Gate) -> str:
    """The gate as a SARIF file. The text is ASCII; everything else is escaped."""
    return json.dumps(sarif_document(gate), ensure_ascii=True, indent=1).replace("\x7f", "\\u007f") + "\n"


def sarif_document(gate: Gate) -> Document:
    """One run: the misses of all judged sessions and the limits that do not hold, the gravest first."""
    codes = sorted({finding.verdict.code for finding in gate.findings})
    failed = [result for result in gate.results if result.status != "held"]
    rules = [_budget_rule(name) for name in BUDGET_RULES] + [_cause_rule(code) for code in codes]
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    results = [_budget_result(result, index) for result in failed]
    results += [_miss_result(finding, index) for finding in gate.findings]
    notifications = [
        {
            "level": "error",
            "message": {"text": clean(f"{problem.reason}; {problem.remedy}")},
            "locations": [_location(problem.file, problem.line or None)],
        }
        for problem in gate.problems
    ]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "agentsim",
                        "semanticVersion": __version__,
                        "version": __version__,
                        "rules": rules,
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": not gate.problems,
                        "toolExecutionNotifications": notifications,
                    }
                ],
                "results": results,
                "properties": {"outcome": gate.outcome, "tally": gate_words.tally(gate)},
            }
        ],
    }


def _cause_rule(code: str) -> Document:
    from agentsim.diagnose.cause_registry import cause

    try:
        known = cause(code)
    except KeyError:
        return {"id": clean(code), "shortDescription": {"text": clean(code)}}
    name = "".join(part.capitalize() for part in known.slug.split("-"))
    text = f"{known.meaning}\n\nTo confirm: {known.how_to_confirm}\n\nFix: {known.fix}"
    markdown = f"{known.meaning}\n\n**To confirm.** {known.how_to_confirm}\n\n**Fix.** {known.fix}"
    return {
        "id": known.code,
        "name": name,
        "shortDescription": {"text": known.title},
        "fullDescription": {"text": known.meaning},
        "help": {"text": text, "markdown": markdown},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["prompt-cache", known.slug]},
    }


def _budget_rule(id: str) -> Document:
    name, title, meaning, fix = BUDGET_RULES[id]
    return {
        "id": id,
        "name": name,
        "shortDescription": {"text": title},
        "fullDescription": {"text": meaning},
        "help": {"text": f"{meaning}\n\n{fix}", "markdown": f"{meaning}\n\n{fix}"},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["prompt-cache", "budget"]},
    }


def _budget_result(result: Result, index: dict[str, int]) -> Document:
    rule = "budget-broken" if result.status == "broken" else "budget-not-judged"
    file, line = result.place
    document: Document = {
        "ruleId": rule,
        "ruleIndex": index[rule],
        # What could not be judged is a failure as well: of the evidence. Of other kinds the standard allows no level.
        "kind": "fail",
        "level": "error" if result.level == "error" else "warning",
        "message": {"text": clean(gate_words.line(result))},
        "locations": [_location(file or "agentsim.toml", line)],
        "partialFingerprints": _fingerprint(result.budget, gate_words.kind_name(result.limit), result.subject),
        "properties": {"budget": clean(result.budget), "trace": clean(result.subject), "status": result.status},
    }
    if result.file is not None and result.path is not None:
        document["relatedLocations"] = [_location(result.path, None)]
    return document


def _miss_result(finding: GateMiss, index: dict[str, int]) -> Document:
    verdict = finding.verdict
    rule = clean(verdict.code)
    fix = gate_words.miss_fix(finding)
    text = clean(gate_words.miss_text(finding)) + (f". Fix: {clean(fix)}" if fix else "")
    return {
        "ruleId": rule,
        "ruleIndex": index[rule],
        "kind": "fail",
        "level": finding.blame,
        "message": {"text": text},
        "locations": [_location(finding.file, finding.line)],
        "partialFingerprints": _fingerprint(finding.path, finding.session, verdict.request),
        "properties": {
            "session": clean(finding.session),
            "request": clean(verdict.request),
            "row": finding.number,
            "lostTokens": verdict.lost,
        },
    }


def _location(file: str, line: int | None) -> Document:
    physical: Document = {"artifactLocation": {"uri": _uri(file)}}
    # Line 1 where none is known: code scanning shows no result without a region.
    physical["region"] = {"startLine": line or 1}
    return {"physicalLocation": physical}


def _uri(file: str) -> str:
    """A file as a relative URI reference. A colon would make its beginning a scheme."""
    path = file.replace(os.sep, "/").removeprefix("./")
    return quote(_bytes(path), safe="/-._~")


def _fingerprint(*parts: str) -> dict[str, str]:
    """What stays the same while a result does: neither the lines nor the values are in it."""
    return {"agentsim/v1": blake2b(_bytes("\x1f".join(parts)), digest_size=16).hexdigest()}


def _bytes(text: str) -> bytes:
    """Text as bytes. Names of files may have bytes that are no UTF-8, which Python keeps as half surrogates."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")
