"""A log that grows: new rows show by themselves, and a miss is flagged within a second of its line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from agentsim.traces.growing_file import GrowingFile
from agentsim.tui.log_follower import READ_ON, Following
from agentsim.tui.session_loading import read_paths, read_session
from agentsim.tui.trace.trace_screen import TraceScreen
from agentsim.tui.tui_app import Launch
from benchmarks.readers_corpus import write
from tests.tui.conftest import CLAUDE_CODE, SAMPLES, drive, shown

USAGE = str(SAMPLES / "atlas-14.usage.jsonl")


def test_a_miss_is_flagged_within_a_second_of_its_line(tmp_path):
    lines = Path(CLAUDE_CODE).read_bytes().splitlines(keepends=True)
    # The seventh request is the first miss of the sample; the log is cut in front of its first line.
    cut = _line_of_request(lines, 7)
    log = tmp_path / "session.jsonl"
    log.write_bytes(b"".join(lines[:cut]))
    took: list[float] = []

    async def grow(pilot):
        screen = pilot.app.screen
        assert isinstance(screen, TraceScreen)
        assert len(screen.rows) == 6
        assert "following" in shown(pilot.app)
        assert not any(screen.rows.is_miss(index) for index in range(6))
        await pilot.press("G")
        with log.open("ab") as file:
            half = len(lines[cut]) // 2
            file.write(lines[cut][:half])  # a line that is still being written is no row yet, and no error
            file.flush()
            await pilot.pause(0.5)
            assert len(screen.rows) == 6
            file.write(lines[cut][half:])
        began = time.monotonic()
        while "MISS AS301" not in shown(pilot.app):
            assert time.monotonic() - began < 5
            await pilot.pause(0.02)
        took.append(time.monotonic() - began)
        assert len(screen.rows) == 7
        assert screen.selected == 6  # the cursor was at the end and stays there

    drive(Launch(paths=(str(log),), follow=True), grow)
    assert took[0] < 1


def _line_of_request(lines: list[bytes], number: int) -> int:
    seen: list[bytes] = []
    for index, line in enumerate(lines):
        if b'"type":"assistant"' in line and b'"usage"' in line:
            name = line.split(b'"id":"', 1)[1].split(b'"', 1)[0]
            if name not in seen:
                seen.append(name)
                if len(seen) == number:
                    return index
    raise AssertionError(f"the sample has no request {number}")


def test_the_first_look_finds_what_was_written_while_the_app_started(tmp_path):
    log = tmp_path / "session.jsonl"
    log.write_bytes(Path(CLAUDE_CODE).read_bytes())

    async def look(pilot):
        await pilot.pause(0.6)
        assert len(pilot.app.screen.rows) == 11

    drive(Launch(paths=(str(log),), follow=True), look)


def test_it_starts_at_the_end_and_tells_that_the_file_is_gone(tmp_path):
    log = tmp_path / "session.jsonl"
    log.write_bytes(Path(CLAUDE_CODE).read_bytes())

    async def look(pilot):
        await pilot.pause(0.6)
        assert pilot.app.screen.grid.cursor == 10
        assert "following" in shown(pilot.app)
        log.unlink()
        await pilot.pause(0.6)
        assert "its file is gone" in shown(pilot.app)
        assert len(pilot.app.screen.rows) == 11

    drive(Launch(paths=(str(log),), follow=True), look)


@pytest.mark.parametrize("format", ["codex", "pi", "claude-code", "agentsim/1"])
def test_what_is_followed_is_what_reading_it_anew_shows(tmp_path, format):
    if format in ("codex", "pi"):
        (log,) = write(tmp_path, format, 9)
    else:
        log = tmp_path / "session.jsonl"
        log.write_bytes(Path(CLAUDE_CODE if format == "claude-code" else USAGE).read_bytes())
    text = log.read_bytes()
    (session,) = read_paths([str(log)]).sessions
    log.write_bytes(b"")
    following = Following(session.id)
    seen = []
    for part in range(4, 13):
        if part == 9:  # begun anew
            log.write_bytes(b"")
        with log.open("ab") as file:
            file.write(text[log.stat().st_size : len(text) * part // 12])
        found = following.read([str(log)])
        assert found == read_session([str(log)], session.id)[0]
        seen.append(0 if found is None else len(found.rows))
    assert seen == sorted(seen)
    assert seen[-1] == len(session.requests)
    assert seen[0] < seen[-1]


@pytest.mark.parametrize("format", READ_ON)
def test_a_log_that_grows_is_begun_once(tmp_path, monkeypatch, format):
    if format == "claude-code":
        log = tmp_path / "session.jsonl"
        log.write_bytes(Path(CLAUDE_CODE).read_bytes())
    else:
        (log,) = write(tmp_path, format, 9)
    lines = log.read_bytes().splitlines(keepends=True)
    (session,) = read_paths([str(log)]).sessions
    log.write_bytes(b"".join(lines[:-5]))
    begun = []
    all_lines = GrowingFile.all_lines

    def spy(file):
        begun.append(file)
        return all_lines(file)

    monkeypatch.setattr(GrowingFile, "all_lines", spy)
    following = Following(session.id)
    for line in lines[-5:]:
        assert following.read([str(log)]) is not None
        with log.open("ab") as file:
            file.write(line)
    assert len(begun) == 1
