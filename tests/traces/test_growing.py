"""Rollouts of Codex and sessions of Pi, read while they are written: the same as read anew, after each piece."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentsim.traces.hostile_records import RawRow, rows_in
from agentsim.traces.readers import codex, pi
from agentsim.traces.readers.codex.codex_rollout import GrowingRollouts
from benchmarks.readers_corpus import write

READERS = {"codex": (codex, GrowingRollouts), "pi": (pi, pi.GrowingPiLogs)}


def both(format: str, paths: list[str], grown: Any) -> tuple[object, object]:
    reader: Any = READERS[format][0]
    problems: tuple[list[Any], list[Any]] = ([], [])
    return (
        (list(reader.read_sessions(paths, problems[0], grown)), problems[0]),
        (list(reader.read_sessions(paths, problems[1])), problems[1]),
    )


@cache
def lines_of(format: str) -> list[bytes]:
    """A log of five calls."""
    with TemporaryDirectory() as folder:
        (log,) = write(Path(folder), format, 5)
        return log.read_bytes().splitlines()


def damaged(line: bytes) -> bytes:
    """The same row with a counter that cannot be one."""
    record = json.loads(line)

    def spoil(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: -1 if key in ("output_tokens", "output") else spoil(inner) for key, inner in value.items()}
        return [spoil(inner) for inner in value] if isinstance(value, list) else value

    return json.dumps(spoil(record)).encode()


ODD = st.sampled_from([b"", b"  ", b"{", b"[]", b"nothing", b'{"type":'])


@pytest.mark.parametrize("format", READERS)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_the_same_after_each_piece(tmp_path: Path, format: str, data: st.DataObject) -> None:
    known = lines_of(format)
    line = st.sampled_from(known)
    texts = st.one_of(line, line, line, st.builds(damaged, line), st.builds(lambda a, b: a + b, line, line), ODD)
    more = data.draw(st.lists(texts, max_size=10))
    newline = data.draw(st.booleans())
    text = b"\n".join([*known[: data.draw(st.integers(1, len(known)))], *more]) + b"\n" * newline
    cuts = {cut % (len(text) + 1) for cut in data.draw(st.lists(st.integers(0, 99_999), max_size=8))}
    if data.draw(st.booleans()):
        cuts |= {place + 1 for place, byte in enumerate(text) if byte == ord("\n")}
    log = tmp_path / "rollout-session.jsonl"
    log.write_bytes(b"")
    grown = READERS[format][1]()
    begin = 0
    for end in sorted(cuts | {len(text)}):
        with log.open("ab") as file:
            file.write(text[begin:end])
        begin = end
        kept, anew = both(format, [str(log)], grown)
        assert kept == anew


@pytest.mark.parametrize(
    ("format", "module"),
    [("codex", "agentsim.traces.readers.codex.codex_rollout"), ("pi", "agentsim.traces.readers.pi")],
)
def test_only_what_was_appended_is_decoded(tmp_path, monkeypatch, format, module):
    lines = lines_of(format)
    log = tmp_path / "rollout-session.jsonl"
    log.write_bytes(b"\n".join(lines[:-3]) + b"\n")
    decoded: list[RawRow[Any]] = []

    def spy(chunks, decoder):
        for row in rows_in(chunks, decoder):
            decoded.append(row)
            yield row

    monkeypatch.setattr(f"{module}.rows_in", spy)
    grown = READERS[format][1]()
    both(format, [str(log)], grown)
    assert [row.line for row in decoded] == list(range(1, len(lines) - 2))
    decoded.clear()
    for number, line in enumerate(lines[-3:], len(lines) - 2):
        with log.open("ab") as file:
            file.write(line + b"\n")
        both(format, [str(log)], grown)
        assert [row.line for row in decoded] == [number]
        decoded.clear()


@pytest.mark.parametrize("format", READERS)
def test_another_file_is_read_anew(tmp_path, format):
    lines = lines_of(format)
    log = tmp_path / "rollout-session.jsonl"
    grown = READERS[format][1]()
    for text in (lines[:-4], lines[:-6], [*lines[:3], *lines[4:], *lines[3:]], lines):
        log.write_bytes(b"\n".join(text) + b"\n")
        kept, anew = both(format, [str(log)], grown)
        assert kept == anew
