"""Formats are told apart by content; folders are walked safely and always in the same order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentsim.core.session import Problem
from agentsim.traces.format_registry import FORMATS, detect, read
from agentsim.traces.hostile_records import TraceError
from agentsim.traces.readers import agentsim1
from tests.traces.captures import body, conversation, jsonl, pair, response, user

SAMPLES = Path(__file__).resolve().parents[2] / "traces" / "samples"
EXCHANGES = list(enumerate(conversation(2)))
TRACE_LINES = jsonl(*(pair(asked, response(f"m{n}"), at=n) for n, asked in EXCHANGES))
PAIR_LINES = jsonl(*({"request": asked, "response": response(f"m{n}")} for n, asked in EXCHANGES))
CLAUDE_LINES = jsonl(
    {
        "type": "user",
        "uuid": "u1",
        "parentUuid": None,
        "sessionId": "s1",
        "timestamp": "2026-05-28T20:26:40.000Z",
        "message": {"role": "user", "content": "hi"},
    },
    {
        "type": "assistant",
        "uuid": "u2",
        "parentUuid": "u1",
        "sessionId": "s1",
        "requestId": "req_1",
        "timestamp": "2026-05-28T20:26:42.000Z",
        "message": {**response("msg_c"), "content": [{"type": "text", "text": "hi"}]},
    },
)


def name_of(path):
    found = detect(str(path))
    return None if found is None else found.name


def test_every_format_says_what_it_is():
    names = [format.name for format in FORMATS]
    assert names[:5] == ["agentsim/1", "entire-checkpoints", "har", "claude-trace", "claude-code"]
    assert names[-2:] == ["pairs", "usage-lines"]  # the least particular ones
    assert len(set(names)) == len(names)
    assert all(format.description and isinstance(format.verified, bool) for format in FORMATS)


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (TRACE_LINES, "claude-trace"),
        (PAIR_LINES, "pairs"),
        (CLAUDE_LINES, "claude-code"),
        (b"\n\n" + PAIR_LINES, "pairs"),
    ],
)
def test_content_decides_and_not_the_name(tmp_path, lines, name):
    path = tmp_path / "anything.log"
    path.write_bytes(b"\xef\xbb\xbf" + lines)
    assert name_of(path) == name
    (session,) = read([str(path)])
    assert session.format == name


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.jsonl")), ids=lambda path: path.name)
def test_every_sample_is_read_without_a_word(path):
    problems: list[Problem] = []
    sessions = list(read([str(path)], problems))
    assert not problems
    assert all(session.requests and not session.problems and session.accounting.adds_up for session in sessions)
    assert path.stat().st_size < 60_000


def test_a_trace_of_the_own_format_is_found_again(tmp_path):
    (session,) = read([str(SAMPLES / "claude-trace.jsonl")])
    path = tmp_path / "out"
    agentsim1.write(session, path)
    assert name_of(path) == "agentsim/1"
    (again,) = read([str(path)])
    assert again.requests == session.requests


def test_a_folder_of_bodies_is_one_unit(tmp_path):
    import json

    folder = tmp_path / "bodies"
    folder.mkdir()
    (folder / "a.request.json").write_text(json.dumps(body(user("x"))))
    (folder / "r.response.json").write_text(json.dumps(response("m")))
    assert name_of(folder) == "raw-bodies"
    (session,) = read([str(tmp_path)])
    assert (session.id, session.format) == ("bodies", "raw-bodies")


def test_a_folder_of_everything_gives_the_same_whatever_the_order(tmp_path):
    for name, lines in (("b/x.jsonl", TRACE_LINES), ("a/y.jsonl", PAIR_LINES), ("c.jsonl", CLAUDE_LINES)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(lines)
    whole = list(read([str(tmp_path)]))
    assert [session.format for session in whole] == ["claude-trace", "claude-code", "pairs"]
    named = [str(tmp_path / name) for name in ("c.jsonl", "a/y.jsonl", "b/x.jsonl")]
    assert list(read(named)) == list(read(named[::-1])) == whole


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "an empty file"),
        (b"  \n\n", "an empty file"),
        (b"hello\n", "no known format"),
        (b'{"type":"message_start"}\n', "no known format"),
        (b"\x00\xff" * 100, "no known format"),
        (b'{"record":"session","format":"agentsim/9"}\n', r"agentsim/9; this program reads agentsim/1"),
    ],
)
def test_a_named_file_of_no_known_format_is_an_error_that_names_it(tmp_path, content, words):
    path = tmp_path / "odd.jsonl"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=rf"odd\.jsonl.*{words}"):
        list(read([str(path)]))


def test_a_folder_without_logs_is_an_error(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(TraceError, match="no logs in here"):
        list(read([str(tmp_path)]))


def test_odd_files_in_a_folder_are_told_and_the_others_are_read(tmp_path):
    (tmp_path / "good.jsonl").write_bytes(TRACE_LINES)
    (tmp_path / "bad.jsonl").write_bytes(b"hello\n")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "newer.jsonl").write_bytes(b'{"record":"session","format":"agentsim/9"}\n')
    problems: list[Problem] = []
    (session,) = read([str(tmp_path)], problems)
    assert len(session.requests) == 2
    assert sorted(os.path.basename(problem.file) for problem in problems) == ["bad.jsonl", "empty.jsonl", "newer.jsonl"]


def test_files_of_common_ends_are_passed_over_in_silence(tmp_path):
    (tmp_path / "good.jsonl").write_bytes(TRACE_LINES)
    for name in ("package.json", "store.db", "x.traj"):
        (tmp_path / name).write_bytes(b'{"name": "x"}')
    problems: list[Problem] = []
    assert len(list(read([str(tmp_path)], problems))) == 1
    assert not problems
    with pytest.raises(TraceError, match="no known format"):
        list(read([str(tmp_path / "package.json")]))


def test_a_named_file_that_fails_is_not_hidden_by_one_that_works(tmp_path):
    (tmp_path / "good.jsonl").write_bytes(TRACE_LINES)
    (tmp_path / "newer.jsonl").write_bytes(b'{"record":"session","format":"agentsim/9"}\n')
    paths = [str(tmp_path / "good.jsonl"), str(tmp_path / "newer.jsonl")]
    with pytest.raises(TraceError, match="newer"):
        list(read(paths))
    problems: list[Problem] = []
    assert len(list(read(paths, problems))) == 1
    assert problems


def test_a_copy_is_no_fault(tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(TRACE_LINES)
    assert len(list(read([str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]))) == 1


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        list(read([str(tmp_path / "nowhere.jsonl")]))


def test_a_hostile_folder_is_walked_to_its_end(tmp_path):
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "log.jsonl").write_bytes(TRACE_LINES)
    (deep / "up").symlink_to(tmp_path)  # a circle
    (deep / "itself").symlink_to(deep / "itself")
    (deep / "gone.jsonl").symlink_to(tmp_path / "gone")
    os.mkfifo(deep / "pipe.jsonl")
    (Path(os.fsdecode(os.fsencode(deep) + b"/caf\xe9.jsonl"))).write_bytes(PAIR_LINES)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    problems: list[Problem] = []
    try:
        sessions = list(read([str(tmp_path)], problems))
    finally:
        closed.chmod(0o700)
    assert [session.format for session in sessions] == ["claude-trace", "pairs"]
    if os.geteuid() != 0:
        assert [os.path.basename(problem.file) for problem in problems] == ["closed"]


@pytest.mark.parametrize(
    "module",
    ["agentsim.traces.format_registry", "agentsim.traces.readers.claude_trace", "agentsim.traces.readers.agentsim1"],
)
def test_readers_import_nothing_heavy(module):
    code = f"import sys, {module}; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pydantic", "torch", "simpy", "rich", "tiktoken", "genai_prices", "anthropic"} & set(loaded)
