"""The scan tells most lines by bytes that stand where they stood before. What it finds is what full decoding finds:
a log saved again with spaces between its tokens shows none of those bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentsim.traces.log_lines import read_blocks
from agentsim.traces.readers.claude_code.claude_conversation import ClaudeConversation, take, take_odd_line
from agentsim.traces.readers.claude_code.claude_lines import decode_line
from agentsim.traces.readers.claude_code.claude_scan import scan, scan_blocks

USER_INSIDE = {"type": "tool_use", "id": "toolu_1", "name": "x", "input": {"type": "user", "usage": {}}}
ASSISTANT_INSIDE = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "assistant", "usage": {}}]}
QUOTED = {"type": "text", "text": 'say "type":"assistant","usage":{ and "type":"user"'}
PLAIN = {"type": "text", "text": "x" * 40}
LONG = {"type": "text", "text": "y" * 700}


def uuid(number: int) -> str:
    return str(UUID(int=number))


def line(number: int, kind: str, parent: str | None, block: dict[str, Any], order: int, shift: int) -> dict[str, Any]:
    """A line of the kind; ``order`` says where its type stands: before its message, as a user's does, or behind."""
    head = {"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/w", "sessionId": "s1"}
    stamp = f"2026-11-02T05:03:{number % 60:02d}{'.133' if shift else ''}Z"
    tail = {"uuid": uuid(number + 1), "timestamp": stamp}
    role = "assistant" if kind in ("call", "again") else "user"
    message: dict[str, Any] = {"role": role, "content": [block]}
    middle: dict[str, Any] = {"type": "assistant" if role == "assistant" else kind}
    if role == "assistant":
        group = number - 1 if kind == "again" else number
        usage = {"input_tokens": 3, "cache_creation_input_tokens": 10, "cache_read_input_tokens": group}
        message = {"id": f"msg_{group}", "model": "claude-opus-4-8", **message, "usage": {**usage, "output_tokens": 9}}
        middle["requestId"] = f"req_{group}"
    body = {"message": message}
    return {**head, **(middle | body if order else body | middle), **tail}


lines = st.tuples(
    st.sampled_from(["user", "call", "again", "system", "attachment"]),
    st.sampled_from(["uuid", "short", "none"]),
    st.sampled_from([PLAIN, LONG, QUOTED, USER_INSIDE, ASSISTANT_INSIDE]),
    st.sampled_from([0, 1]),
    st.sampled_from([0, 1]),
)


def content(unit: ClaudeConversation) -> tuple[object, ...]:
    calls = [msgspec.structs.replace(call, position=0) for call in unit.calls]
    told = [msgspec.structs.asdict(call) for call in calls]
    counts = (unit.rows, unit.duplicate, unit.not_billable, unit.skipped)
    return told, counts, unit.session, unit.first_stamp, unit.last_stamp


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(lines, max_size=12), st.booleans())
@example([("user", "uuid", PLAIN, 1, 1), ("call", "uuid", PLAIN, 0, 1), ("again", "uuid", LONG, 0, 1)] * 3, True)
@example(
    [("user", "uuid", USER_INSIDE, 1, 1), ("call", "uuid", USER_INSIDE, 1, 1), ("user", "uuid", LONG, 1, 0)], False
)
def test_shortcuts_find_what_decoding_finds(tmp_path: Path, drawn, newline: bool) -> None:
    parents = {"uuid": uuid(99), "short": "p1", "none": None}
    records = [
        line(number, kind, parents[parent], block, order, shift)
        for number, (kind, parent, block, order, shift) in enumerate(drawn, 1)
    ]
    end = "\n" if newline and records else ""
    tight, spaced = tmp_path / "tight.jsonl", tmp_path / "spaced.jsonl"
    tight.write_text("\n".join(json.dumps(record, separators=(",", ":")) for record in records) + end)
    spaced.write_text("\n".join(json.dumps(record) for record in records) + end)
    one, other = scan((str(tight),)), scan((str(spaced),))
    assert content(one) == content(other)
    called = {record["message"]["id"] for record in records if record["type"] == "assistant"}
    assert {call.key[0] for call in one.calls} == called


def plain_scan(path: Path) -> ClaudeConversation:
    """The scan without any shortcut: every line decoded, and accounted for."""
    unit = ClaudeConversation((str(path),))
    text, position = path.read_bytes(), 0
    ended = text.endswith(b"\n")
    texts = text.split(b"\n")
    for number, one in enumerate(texts[:-1] if not texts[-1] else texts, 1):
        try:
            decoded = decode_line(one)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            take_odd_line(unit, 0, str(path), one, number, position, not ended and number == len(texts))
        else:
            take(unit, 0, decoded, number, position)
        position += len(one) + 1
        unit.rows += 1
    return unit


ODD = [
    "",
    " ",
    "{",
    "[]",
    "nothing",
    "]}",
    "\x00",
    '{"type":"assistant","message":{"usage":{"input_tokens":-1}}}',
    "{]}{",
]
"""Lines of nobody."""

texts = st.one_of(
    st.builds(lambda drawn, number: [(drawn, number)], lines, st.integers(1, 9)),
    st.builds(lambda one, other: [(one, 1), (other, 2)], lines, lines),  # run together on one line
    st.sampled_from(ODD).map(lambda text: [text]),
)


def written(parts: list[Any], spaced: bool) -> str:
    """A line of a file, from what was drawn for it."""
    out = ""
    for part in parts:
        if isinstance(part, str):
            out += part
        else:
            (kind, parent, block, order, shift), number = part
            record = line(number, kind, {"uuid": uuid(99), "short": "p1", "none": None}[parent], block, order, shift)
            out += json.dumps(record, separators=None if spaced else (",", ":"))
    return out


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(texts, st.booleans(), st.integers(0, 40)), max_size=12), st.booleans())
def test_the_scan_finds_what_plain_decoding_of_every_line_finds(tmp_path: Path, drawn, newline: bool) -> None:
    """With lines cut off, run together, saved again with spaces, and of nobody."""
    whole = [written(parts, spaced) for parts, spaced, _ in drawn]
    # A line that is cut shows no closing brace, by which the scan would pass it over unread.
    cut = [text[:-by].rstrip("}") if by > 36 else text for text, (_, _, by) in zip(whole, drawn, strict=True)]
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(cut) + "\n" * (newline and bool(cut)))
    one, other = ClaudeConversation((str(path),)), plain_scan(path)
    scan_blocks(one, 0, read_blocks(str(path)))
    assert content(one) == content(other)
    assert [call.position for call in one.calls] == [call.position for call in other.calls]
    assert one.problems == other.problems


def test_a_users_line_that_was_cut_is_told(tmp_path: Path) -> None:
    """The third line begins as the two before it do and does not end."""
    path = tmp_path / "s.jsonl"
    texts = [json.dumps(line(number, "user", uuid(50), PLAIN, 1, 1), separators=(",", ":")) for number in range(3)]
    path.write_text("\n".join([*texts[:2], texts[2][:-9]]) + "\n")
    unit = scan((str(path),))
    assert (unit.rows, unit.not_billable, unit.skipped) == (3, 2, {"broken JSON": 1})


def test_small_files_are_kept_whole_and_others_are_not(tmp_path: Path, monkeypatch) -> None:
    import functools

    from agentsim.traces.readers.claude_code import claude_scan as module

    text = "\n".join(
        json.dumps(line(number, "call", uuid(50), PLAIN, 0, 1), separators=(",", ":")) for number in range(9)
    )
    for end in ("", "\n"):
        path = tmp_path / "s.jsonl"
        path.write_text(text + end)
        assert scan((str(path),), keep=True).texts == {0: path.read_bytes()}
        with monkeypatch.context() as patch:
            patch.setattr(module, "read_blocks", functools.partial(read_blocks, block_bytes=1000))
            cut = scan((str(path),), keep=True)
        assert cut.texts == {}
        assert len(cut.calls) == 9
