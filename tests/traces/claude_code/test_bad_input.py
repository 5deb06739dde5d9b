"""Bad input: told with its place, counted once, and never the end of the rest."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentsim.core.session import Session
from agentsim.traces.hostile_records import REMEDIES
from agentsim.traces.readers.claude_code import read_sessions
from agentsim.traces.readers.claude_code.claude_files import look_at
from agentsim.traces.readers.claude_code.claude_scan import scan
from agentsim.traces.samples.claude_log import ClaudeLog, turns


def healthy() -> list[str]:
    log = ClaudeLog()
    turns(log, [500, 600])
    return log.lines


def read(path: Path) -> Session:
    (session,) = read_sessions([str(path)])
    assert session.accounting.adds_up
    return session


def usage_line(lines: list[str]) -> int:
    return next(index for index, line in enumerate(lines) if '"usage"' in line and '"tool_use"' in line)


def broken(tmp_path: Path, replace: str, by: str) -> Session:
    """A log in which one request's lines say ``by`` instead of ``replace``."""
    lines = healthy()
    last_id = json.loads(lines[-1])["message"]["id"]
    lines = [line.replace(replace, by) if last_id in line else line for line in lines]
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return read(path)


@pytest.mark.parametrize(
    "value", ['"12"', "-1", "1.5", "true", "NaN", "Infinity", "1e999", str(2**53 + 1), "9" * 40, "[]", '{"a":1}']
)
def test_a_bad_counter_loses_its_row_and_no_other(tmp_path: Path, value: str) -> None:
    session = broken(tmp_path, '"cache_read_input_tokens":20500', f'"cache_read_input_tokens":{value}')
    assert len(session.requests) == 2
    skipped = dict(session.accounting.skipped)
    assert sum(skipped.values()) == 2  # the thinking line and the tool call's line of that request
    assert set(skipped) <= {"bad counter", "broken JSON"}
    assert [problem.line for problem in session.problems] == [8, 9]
    assert all(problem.file.endswith("s1.jsonl") and problem.remedy for problem in session.problems)


def test_writes_by_lifetime_that_exceed_all_writes_lose_their_row(tmp_path: Path) -> None:
    session = broken(tmp_path, '"ephemeral_1h_input_tokens":0', '"ephemeral_1h_input_tokens":1')
    assert len(session.requests) == 2
    assert dict(session.accounting.skipped) == {"bad counter": 2}


def test_a_truncated_last_line_is_incomplete_and_not_broken(tmp_path: Path) -> None:
    lines = healthy()
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join(lines)[:-200])
    session = read(path)
    assert dict(session.accounting.skipped) == {"incomplete": 1}
    assert session.problems[0].line == len(lines)
    # The request whose last line is missing is still there, from the line before.
    assert len(session.requests) == 3


def test_a_broken_line_in_the_middle_is_broken(tmp_path: Path) -> None:
    lines = healthy()
    lines.insert(3, lines[3][:80])
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join(lines) + "\n")
    session = read(path)
    assert dict(session.accounting.skipped) == {"broken JSON": 1}
    assert session.problems[0].line == 4
    assert len(session.requests) == 3


def test_two_objects_on_one_line_are_two_rows(tmp_path: Path) -> None:
    lines = healthy()
    joined = [*lines[:-2], lines[-2] + lines[-1]]
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join(joined) + "\n")
    session = read(path)
    assert session.accounting.rows == len(lines)
    assert session.accounting.skipped == ()
    assert len(session.requests) == 3


def test_a_whole_object_before_a_cut_one_is_kept(tmp_path: Path) -> None:
    lines = healthy()
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join([*lines[:-1], lines[-1] + lines[-1][:50]]) + "\n")
    session = read(path)
    assert dict(session.accounting.skipped) == {"broken JSON": 1}
    assert session.accounting.rows == len(lines) + 1
    assert len(session.requests) == 3


@pytest.mark.parametrize("row", ["null", "[]", "3", '"text"'])
def test_a_row_must_be_an_object(tmp_path: Path, row: str) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join([*healthy(), row]) + "\n")
    assert dict(read(path).accounting.skipped) == {"not an object": 1}


def test_invalid_utf8_in_content_does_not_lose_the_counters(tmp_path: Path) -> None:
    lines = [line.encode() for line in healthy()]
    at = usage_line(healthy())
    lines[at] = lines[at].replace(b'"Bash"', b'"B\xff\xfesh"')
    path = tmp_path / "s1.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    assert len(read(path).requests) == 3


def test_byte_order_mark_and_carriage_returns(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(healthy()).encode() + b"\r\n")
    session = read(path)
    assert session.accounting.skipped == ()
    assert [r.parent is None for r in session.requests] == [True, False, False]
    assert session.requests[1].appended_blocks == 2


def test_a_line_of_64_mebibytes_is_read_and_a_longer_one_passed_over(tmp_path: Path) -> None:
    lines = healthy()
    huge = json.loads(lines[0])
    huge["message"]["content"] = ""
    room = 64 * 2**20 - len(json.dumps(huge, separators=(",", ":")))
    huge["message"]["content"] = "x" * room
    fits = json.dumps(huge, separators=(",", ":"))
    huge["message"]["content"] = "x" * (room + 1)
    too_long = json.dumps(huge, separators=(",", ":"))
    assert len(fits) == 64 * 2**20
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join([fits, *lines[1:4], too_long, *lines[4:]]) + "\n")
    session = read(path)
    assert dict(session.accounting.skipped) == {"too long": 1}
    assert session.problems[0].line == 5
    assert len(session.requests) == 3


def test_deep_nesting_is_passed_over(tmp_path: Path) -> None:
    lines = healthy()
    deep = lines[-1].replace('"input":{}', '"input":' + "[" * 200_000 + "]" * 200_000)
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join([*lines, deep.replace("msg-s1", "msg-deep")]) + "\n")
    session = read(path)
    assert dict(session.accounting.skipped) == {"nested too deep": 1}


def test_empty_files_and_folders_hold_no_session(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    assert read_sessions([str(tmp_path)]) == []


def test_a_fifo_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    fifo = tmp_path / "s1.jsonl"
    os.mkfifo(fifo)
    with pytest.raises(OSError, match="not a regular file"):
        look_at(str(fifo))


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    ClaudeLog().save(tmp_path / "a" / "s1.jsonl")
    (tmp_path / "a" / "again").symlink_to(tmp_path / "a")
    log = ClaudeLog()
    turns(log, [100])
    log.save(tmp_path / "a" / "s1.jsonl")
    assert len(read_sessions([str(tmp_path)])) == 1


def test_usage_inside_a_tools_input_is_not_billed(tmp_path: Path) -> None:
    """A tool call whose input looks like a usage report, or like a user's line, changes nothing."""
    lines = healthy()
    at = usage_line(lines)
    trick = '"input":{"usage":{"input_tokens":9,"cache_read_input_tokens":9},"type":"user","message":{"role":"user"}}'
    lines[at] = lines[at].replace('"input":{}', trick)
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join(lines) + "\n")
    plain = tmp_path / "plain" / "s1.jsonl"
    plain.parent.mkdir()
    plain.write_text("\n".join(healthy()) + "\n")
    assert [r.usage for r in read(path).requests] == [r.usage for r in read(plain).requests]


_LINES = st.lists(st.sampled_from(range(9)), min_size=1, max_size=12)
_NOISE = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [
            b"{}",
            b"null",
            b"[]",
            b"1",
            b'"x"',
            b"{",
            b"}",
            b'{"type":"assistant","message":{"usage":{}}}',
            b'{"type":"assistant","message":{"id":1,"usage":{}}}',
            b'{"message":{"usage":null}}',
            b'{"type":"progress","data":{"message":"usage"}}',
            b'{"usage":1}{"usage":2}',
            b"\xff\xfe",
            b"\x00",
        ]
    ),
)


@settings(max_examples=200, deadline=None)
@given(
    order=_LINES,
    noise=st.lists(st.tuples(st.integers(0, 12), _NOISE), max_size=5),
    flips=st.lists(st.integers(0), max_size=6),
)
@example(order=[0, 1], noise=[(1, b'"usage"')], flips=[])
@example(order=[0, 1, 2], noise=[(0, b'{"type":"assistant","message":{"usage":{}}}')], flips=[])
def test_no_bytes_can_crash_the_reader_and_every_row_is_counted_once(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], noise: list[tuple[int, bytes]], flips: list[int]
) -> None:
    base = [line.encode() for line in healthy()]
    lines = [base[index % len(base)] for index in order]
    for at, junk in noise:
        lines.insert(at % (len(lines) + 1), junk)
    data = bytearray(b"\n".join(lines))
    for flip in flips:
        if data:
            data[flip % len(data)] ^= 1 << (flip % 8)
    path = tmp_path_factory.mktemp("fuzz") / "s1.jsonl"
    path.write_bytes(bytes(data))
    unit = scan((str(path),))
    assert unit.rows == len(unit.calls) + unit.duplicate + unit.not_billable + sum(unit.skipped.values())
    assert set(unit.skipped) <= set(REMEDIES)
    for session in read_sessions([str(path)]):
        assert session.accounting.adds_up
