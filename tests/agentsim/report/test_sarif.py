"""SARIF, read by models that were generated from the official 2.1.0 schema."""

import json
import re
from importlib import import_module
from typing import Any
from urllib.parse import unquote

import pytest
from pydantic import ValidationError

from agentsim.diagnose.cause_registry import cause
from agentsim.report.ci.sarif import sarif_document, sarif_text
from tests.agentsim.report import gates

model: Any = import_module("pydantic_sarif.model")  # it has no types of its own


def read(text: str) -> Any:
    return model.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate_json(text)


@pytest.mark.parametrize("gate", [gates.real, gates.all_held, gates.hostile, lambda: gates.many(50)])
def test_it_is_valid(gate: Any) -> None:
    read(sarif_text(gate()))


def test_the_models_can_refuse() -> None:
    text = sarif_text(gates.real())
    for wrong in (
        text.replace('"ruleId"', '"rule"'),
        text.replace('"2.1.0"', '"2.0.0"'),
        text.replace(": 8\n", ": 0\n"),
    ):
        assert wrong != text
        with pytest.raises(ValidationError):
            read(wrong)


def test_rules_are_causes_with_their_help() -> None:
    (run,) = sarif_document(gates.real())["runs"]
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert list(rules) == ["budget-broken", "budget-not-judged", "AS103"]
    known = cause("AS103")
    assert rules["AS103"]["shortDescription"]["text"] == known.title
    assert known.fix in rules["AS103"]["help"]["text"]
    assert rules["AS103"]["name"] == "ToolsReordered"
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_results_stand_at_the_limit_and_at_the_request() -> None:
    (run,) = sarif_document(gates.real())["runs"]
    found = [
        (
            result["ruleId"],
            result["level"],
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
        )
        for result in run["results"]
    ]
    assert ("budget-broken", "error", "agentsim.toml", 7) in found
    assert ("budget-broken", "warning", "agentsim.toml", 20) in found
    assert ("budget-not-judged", "error", "agentsim.toml", 9) in found
    assert ("AS103", "error", "rec/gate-after.jsonl", 1) in found, "a session that is in no file has no line"
    assert len(found) == 2 + 1 + 1 + 1


def test_fingerprints_tell_results_apart_and_stay() -> None:
    prints = [
        result["partialFingerprints"]["agentsim/v1"] for result in sarif_document(gates.real())["runs"][0]["results"]
    ]
    assert len(set(prints)) == len(prints)
    assert prints == [
        result["partialFingerprints"]["agentsim/v1"] for result in sarif_document(gates.real())["runs"][0]["results"]
    ]


def test_hostile_words_stay_inert() -> None:
    text = sarif_text(gates.hostile())
    assert text.isascii()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", text)
    (run,) = json.loads(text)["runs"]
    for result in run["results"]:
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9%/._~-]+", uri)
        assert "\x1b]52" in unquote(uri), "the name is all there, escaped"
        assert "\x1b" not in result["message"]["text"]
    assert run["invocations"][0]["executionSuccessful"] is False
