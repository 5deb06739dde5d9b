"""JUnit XML, checked by a schema and by a reader that is not ours."""

import re
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import xmlschema
from junitparser import Error, Failure, JUnitXml, Skipped

from agentsim.budget.budget_gate import Gate
from agentsim.report.ci.junit import junit_text
from tests.agentsim.report import gates


@cache
def schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(Path(__file__).with_name("junit.xsd")))


def read(gate: Gate) -> Any:
    text = junit_text(gate)
    schema().validate(text)
    return JUnitXml.fromstring(text.encode())


@pytest.mark.parametrize("gate", [gates.real, gates.all_held, gates.hostile, lambda: gates.many(50)])
def test_it_is_valid(gate: Any) -> None:
    schema().validate(junit_text(gate()))


def test_the_schema_can_refuse() -> None:
    text = junit_text(gates.real())
    assert not schema().is_valid(text.replace("<failure ", "<fault ").replace("</failure>", "</fault>"))
    assert not schema().is_valid(re.sub(r' tests="\d+"', "", text))


def test_a_case_for_each_limit_of_each_session_with_its_numbers() -> None:
    gate = gates.real()
    suites = list(read(gate))
    assert sum(len(list(suite)) for suite in suites) == len(gate.results) == 10
    assert [(suite.name, suite.tests, suite.failures, suite.errors, suite.skipped) for suite in suites] == [
        # Of four limits on two sessions: cost and forbid are broken once, growth is not in the baseline once.
        ("shop", 8, 2, 1, 0),
        ("softly", 2, 0, 0, 1),
    ]
    case = next(case for case in suites[0] if case.name.startswith("forbid AS103") and "after" in case.name)
    (failure,) = case.result
    assert isinstance(failure, Failure)
    assert failure.message == "BROKEN · shop · rec/gate-after.jsonl · forbid AS103 · found 1 · 1 over"
    assert failure.type == "forbid"
    assert "tools[0] fetch_page moved" in failure.text
    properties = {one.get("name"): one.get("value") for one in case._elem.iter("property")}
    assert properties == {
        "limit": "forbid AS103",
        "found": "1",
        "status": "broken",
        "requests": "12",
        "cost": "0.1428",
        "input_equivalents": "40400",
        "hit_rate_percent": "79.12",
        "misses": "1",
        "config": "agentsim.toml:8",
    }


def test_what_cannot_be_judged_is_an_error_and_what_only_warns_is_skipped() -> None:
    cases = [case for suite in read(gates.real()) for case in suite]
    (error,) = [one for case in cases for one in case.result if isinstance(one, Error)]
    assert "the baseline does not hold rec/gate-before.jsonl#gate-before" in error.message
    (skipped,) = [one for case in cases for one in case.result if isinstance(one, Skipped)]
    assert skipped.message.startswith("BROKEN (warns)")


def test_an_input_that_cannot_be_read_is_an_error() -> None:
    suite = list(read(gates.hostile()))[-1]
    assert (suite.name, suite.tests, suite.errors) == ("input", 1, 1)


def test_hostile_words_make_no_elements() -> None:
    text = junit_text(gates.hostile())
    root = ElementTree.fromstring(text)
    assert {element.tag for element in root.iter()} == {
        "testsuites",
        "testsuite",
        "properties",
        "property",
        "testcase",
        "failure",
        "error",
    }
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ufffe]", text)
    assert "</failure>&gt;" not in text
