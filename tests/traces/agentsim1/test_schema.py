"""The schema people get, checked by a program that is not ours, takes and refuses the rows that the reader does."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentsim.core.strict_decoding import BadRow, decode
from agentsim.traces.readers.agentsim1 import lines
from agentsim.traces.readers.agentsim1.trace_wire import KINDS, ROWS, schema
from tests.traces.sessions import sessions

SAMPLES = Path(__file__).resolve().parents[3] / "traces" / "samples"


def ecma_pattern(validator, pattern, instance, schema):
    """Patterns of JSON Schema are ECMAScript's: "$" means the end, and nothing in front of a line feed."""
    if isinstance(instance, str) and not re.search(pattern.replace("$", r"\Z"), instance):
        yield jsonschema.ValidationError(f"does not match {pattern}")


@functools.cache
def validator():
    document = schema()
    jsonschema.Draft202012Validator.check_schema(document)
    checker = jsonschema.Draft202012Validator.TYPE_CHECKER
    # To JSON Schema 1.0 is an integer. The reader refuses it, which no schema can say.
    checker = checker.redefine("integer", lambda _, value: type(value) is int)
    draft = jsonschema.Draft202012Validator
    return jsonschema.validators.extend(draft, {"pattern": ecma_pattern}, type_checker=checker)(document)


def refuse(constant):
    raise ValueError(f"{constant} is no JSON")


def schema_accepts(row):
    try:
        return validator().is_valid(json.loads(row.decode(), parse_constant=refuse))
    except (ValueError, UnicodeDecodeError):
        return False


def reader_accepts(row):
    try:
        row.decode()
        decode(KINDS, row)
        decode(ROWS, row)
    except (BadRow, UnicodeDecodeError):
        return False
    return True


def test_every_bundled_trace_is_valid():
    found = 0
    for path in sorted(SAMPLES.glob("*.jsonl")):
        rows = path.read_bytes().splitlines()
        if b'"agentsim/1"' not in rows[0]:
            continue
        found += 1
        for row in rows:
            validator().validate(json.loads(row))
            assert schema_accepts(row)
    assert found or not list(SAMPLES.glob("atlas*")), "no bundled trace was looked at"


@settings(max_examples=60, deadline=None)
@given(session=sessions())
def test_every_written_row_is_valid(session):
    for row in lines(session):
        validator().validate(json.loads(row))
        assert schema_accepts(row)


HEADER = {
    "record": "session",
    "format": "agentsim/1",
    "id": "s",
    "source_format": "x",
    "completeness": "full",
    "digests": "plain",
    "text": False,
    "lanes": [{"id": "main", "title": "main"}],
}
BLOCK = {"section": "tools", "kind": "text", "digest": "0" * 32}
REQUEST = {
    "record": "request",
    "id": "r",
    "lane": "main",
    "model": "m",
    "start": "1.5",
    "usage": {"fresh": 1, "read": 2},
    "prompt": {"blocks": [BLOCK], "breakpoints": [[0, 300]]},
    "settings": [["effort", '"high"']],
    "section_tokens": [["tools", 12]],
    "iterations": [{"output": 3}],
    "diagnosis": {"reported": True, "reason": None},
    "source": {"file": "f", "line": 1},
}
EVENT = {"record": "event", "kind": "compaction", "time": None, "lane": "main"}
ROWS_BY_HAND = [HEADER, REQUEST, EVENT]


def test_the_rows_by_hand_are_accepted():
    for row in ROWS_BY_HAND:
        data = json.dumps(row).encode()
        assert schema_accepts(data)
        assert reader_accepts(data)
        validator().validate(row)


def paths_of(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths_of(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths_of(item, (*path, index))


def changed(value, path, new):
    if not path:
        return new
    head, *rest = path
    if isinstance(value, list):
        return [changed(item, rest, new) if index == head else item for index, item in enumerate(value)]
    return {key: changed(item, rest, new) if key == head else item for key, item in value.items()}


PLACES = [(index, path) for index, row in enumerate(ROWS_BY_HAND) for path in paths_of(row) if path]
ODD_VALUES = ["", "1", "x", -1, 0, 1, 1.0, 1.5, 2**53, 2**53 + 1, 10**40, True, None, [], {}, [1], ["a", 1], [[1, 2]]]
ODD_VALUES += ["\n", "1.5\n", "0" * 32 + "\n", "é", {"id": "x", "title": "y"}, [[1, 2, 3]], "main", "full", "session"]


@settings(max_examples=600, deadline=None)
@given(place=st.sampled_from(PLACES), value=st.sampled_from(ODD_VALUES))
@example(place=(1, ("usage", "fresh")), value=1.0)
@example(place=(1, ("usage", "fresh")), value="1")
@example(place=(1, ("usage", "fresh")), value=True)
@example(place=(1, ("start",)), value="1.5\n")
def test_both_take_and_refuse_the_same_values(place, value):
    index, path = place
    row = json.dumps(changed(ROWS_BY_HAND[index], path, value)).encode()
    assert schema_accepts(row) == reader_accepts(row)


@pytest.mark.parametrize("place", PLACES)
def test_both_require_the_same_fields(place):
    index, path = place
    if isinstance(path[-1], int):
        return
    row = json.loads(json.dumps(ROWS_BY_HAND[index]))
    inner = functools.reduce(lambda value, key: value[key], path[:-1], row)
    del inner[path[-1]]
    data = json.dumps(row).encode()
    assert schema_accepts(data) == reader_accepts(data)


@settings(max_examples=600, deadline=None)
@given(
    row=st.sampled_from(ROWS_BY_HAND),
    at=st.integers(0, 10**6),
    new=st.binary(max_size=3) | st.sampled_from([b"NaN", b"Infinity", b"1e999", b"-0", b"01", b'"', b"null", b"}{"]),
    length=st.integers(0, 3),
)
def test_both_take_and_refuse_the_same_mutilated_rows(row, at, new, length):
    data = json.dumps(row).encode()
    at %= len(data)
    data = data[:at] + new + data[at + length :]
    assert schema_accepts(data) == reader_accepts(data)
