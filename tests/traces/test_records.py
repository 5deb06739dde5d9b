"""Rows of hostile JSON files: found, split, decoded strictly, accounted for."""

from __future__ import annotations

import os

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.strict_decoding import BadRow, Count, counter, decode
from agentsim.traces.hostile_records import MAX_PROBLEMS, Tally, rows_of, split_objects
from agentsim.traces.log_lines import MAX_LINE_BYTES


class Usage(msgspec.Struct):
    input_tokens: Count | None = None
    name: str | None = None


ANY = msgspec.json.Decoder(msgspec.Raw)
USAGE = msgspec.json.Decoder(Usage)


def read(tmp_path, data):
    path = tmp_path / "log.jsonl"
    path.write_bytes(data)
    return [(row.line, row.data, row.bad and row.bad.reason) for row in rows_of(str(path), ANY)]


def test_rows_keep_the_line_numbers_of_the_file(tmp_path):
    assert read(tmp_path, b'{"a":1}\n\n  \r\n{"b":2}\r\n') == [(1, b'{"a":1}', None), (4, b'{"b":2}\r', None)]


def test_two_objects_run_together_are_two_rows(tmp_path):
    data = b'{"a":"}{"}{"b":"\\"}{"}\n{"c":3}\n'
    assert read(tmp_path, data) == [(1, b'{"a":"}{"}', None), (1, b'{"b":"\\"}{"}', None), (2, b'{"c":3}', None)]


def test_a_cut_last_line_is_incomplete_and_not_broken(tmp_path):
    assert read(tmp_path, b'{"a":1}\n{"b":') == [(1, b'{"a":1}', None), (2, b'{"b":', "incomplete")]
    assert read(tmp_path, b'{"a":1}{"b":') == [(1, b'{"a":1}', None), (1, b'{"b":', "incomplete")]
    assert read(tmp_path, b'{"b":\n{"a":1}\n')[0] == (1, b'{"b":', "broken JSON")


def test_a_cut_inside_a_character_is_incomplete(tmp_path):
    assert read(tmp_path, '{"a":"é'.encode()[:-1]) == [(1, b'{"a":"\xc3', "incomplete")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a":"\xff"}', "not UTF-8"),
        (b'{"a":NaN}', "broken JSON"),
        (b'{"a":Infinity}', "broken JSON"),
        (b'{"a":"\x00"}', "broken JSON"),
        (b"not json", "broken JSON"),
        (b"[" * 200_000 + b"]" * 200_000, "nested too deep"),
    ],
)
def test_a_bad_line_is_named_and_the_next_one_is_read(tmp_path, line, reason):
    assert read(tmp_path, line + b'\n{"b":2}\n') == [(1, line, reason), (2, b'{"b":2}', None)]


def test_half_an_emoji_does_not_cost_the_row(tmp_path):
    ((_, data, bad),) = read(tmp_path, b'{"name":"cut \\ud83d"}\n')
    assert bad is None
    assert decode(USAGE, data).name == "cut \\ud83d"


@pytest.mark.parametrize("value", [-1, 2**53 + 1, 1.0, "1", True, float("nan"), [], {}])
def test_what_is_no_count_is_refused(value):
    with pytest.raises(BadRow) as caught:
        counter(value, "input_tokens")
    assert caught.value.reason == "bad counter"


@pytest.mark.parametrize("value", [0, 1, 2**53, None])
def test_what_is_a_count_is_taken(value):
    assert counter(value) == value


@pytest.mark.parametrize("text", [b"-1", b"1.0", b'"1"', b"true", b"9007199254740993", b"1" * 40])
def test_the_typed_decoder_refuses_the_same_counts(text):
    with pytest.raises(BadRow) as caught:
        decode(USAGE, b'{"input_tokens":' + text + b"}")
    assert (caught.value.reason, caught.value.detail) == ("bad counter", "input_tokens")


def test_a_line_that_is_too_long_costs_only_itself(tmp_path):
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        file.write(b'{"a":1}\n{"b":"')
        file.seek(MAX_LINE_BYTES + 1000)  # a hole: no bytes on the disk
        file.write(b'"}\n{"c":3}\n')
    rows = [(row.line, row.bad and row.bad.reason) for row in rows_of(str(path), ANY)]
    assert rows == [(1, None), (2, "too long"), (3, None)]


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file"):
        next(rows_of(str(path), ANY))


def test_a_message_never_quotes_the_input():
    for data in (b'{"name":["canary"]}', b'["canary"]', b'"canary"', b'{"input_tokens":"canary"}', b'{"name":canary}'):
        with pytest.raises(BadRow) as caught:
            decode(USAGE, data)
        assert "canary" not in str(caught.value)


def test_a_tally_counts_all_and_describes_some():
    tally = Tally("log.jsonl")
    for line in range(1, MAX_PROBLEMS + 51):
        tally.rows += 1
        tally.skip(line, BadRow("bad counter", "usage.input_tokens"))
    tally.rows += 1
    tally.used += 1
    accounting = tally.accounting()
    assert accounting.adds_up
    assert accounting.skipped == (("bad counter", MAX_PROBLEMS + 50),)
    assert len(tally.problems) == MAX_PROBLEMS
    assert (tally.problems[0].file, tally.problems[0].line) == ("log.jsonl", 1)


@given(st.lists(st.dictionaries(st.text(), st.text(), max_size=3), min_size=1, max_size=5))
def test_objects_split_as_they_were_joined(objects):
    encoded = [msgspec.json.encode(item) for item in objects]
    assert split_objects(b"".join(encoded)) == encoded


@given(st.binary(max_size=200))
def test_splitting_loses_nothing_but_white_space(line):
    assert b"".join(b"".join(split_objects(line)).split()) == b"".join(line.split())
