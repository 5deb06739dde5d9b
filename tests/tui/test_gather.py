"""The session picker: what it finds, what it counts, and how it shows it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from agentsim.diagnose import diagnose
from agentsim.traces.format_registry import read
from agentsim.tui.picker.gather_sessions import PickerLine, gather
from agentsim.tui.picker.session_list import SessionRows
from agentsim.tui.tui_app import Launch
from tests.tui.conftest import ATLAS, CLAUDE_CODE, drive, keys, press, shown


def gathered(*paths: str) -> dict[str, PickerLine]:
    found: dict[str, PickerLine] = {}

    def tell(lines, done, total):
        found.update({line.session: line for line in lines})
        return True

    assert gather(paths, tell) == []
    return found


def test_sums_are_those_of_a_replay(tmp_path):
    shutil.copy(CLAUDE_CODE, tmp_path)
    shutil.copy(ATLAS, tmp_path)
    found = gathered(str(tmp_path))
    for path in (ATLAS, CLAUDE_CODE):
        (session,) = read([path])
        totals = diagnose(session).totals
        line = found[session.id]
        assert (line.requests, line.cost, line.lost, line.misses) == (
            totals.requests,
            totals.cost,
            totals.lost_cost,
            totals.misses,
        )
        assert (line.read, line.total) == totals.hit_rate


def test_a_request_in_two_sessions_counts_where_it_came_first(tmp_path):
    """A fork copies the history it starts from: its own sums leave the copies out, and opening it reads both."""
    text = Path(CLAUDE_CODE).read_text(encoding="utf-8")
    original = "3f0c7d52-8a41-4b7e-9a55-6d2e1c9b7f10"
    fork = "ffffffff-8a41-4b7e-9a55-6d2e1c9b7f10"
    (tmp_path / f"{original}.jsonl").write_text(text, encoding="utf-8")
    copied = text.replace(f'"sessionId":"{original}"', f'"sessionId":"{fork}"')
    (tmp_path / f"{fork}.jsonl").write_text(copied, encoding="utf-8")
    found = gathered(str(tmp_path))
    assert found[original].requests == 11
    assert found[fork].requests == 0
    assert found[fork].cost in (0, None)
    assert {os.path.basename(file) for file in found[fork].files} == {f"{original}.jsonl", f"{fork}.jsonl"}


def test_all_real_logs(shared_data):
    found = gathered(str(shared_data / "claude-code"))
    assert len(found) == 14
    assert sum(line.requests for line in found.values()) == 1976 - _copies(shared_data)
    # Opening one from the list shows the same sums as the list.
    from agentsim.tui.session_loading import read_session

    for line in found.values():
        judged, _ = read_session(line.files, line.session)
        assert judged is not None
        assert (judged.totals.requests, judged.totals.misses) == (line.requests, line.misses), line.session
        assert judged.totals.cost == (line.cost or 0)


def _copies(shared_data: Path) -> int:
    sessions = list(read([str(shared_data / "claude-code")]))
    total = sum(len(session.requests) for session in sessions)
    counted = sum(request.counted for session in sessions for request in session.requests)
    return 1976 - counted if total >= counted else 0


def test_nothing_to_find_says_what_to_do(tmp_path):
    def look(pilot_screen: str) -> None:
        assert "no sessions found" in pilot_screen
        assert "agentsim tui PATH" in pilot_screen

    async def step(pilot):
        look(shown(pilot.app))
        await press(pilot, "enter", "space", "c", "y", "s", "S")  # nothing happens, and nothing breaks

    drive(Launch(paths=(str(tmp_path),)), step)


def test_without_paths_the_logs_of_this_machine(own_home, tmp_path):
    folder = own_home / ".claude" / "projects" / "-work-thing"
    folder.mkdir(parents=True)
    shutil.copy(CLAUDE_CODE, folder)

    async def step(pilot):
        screen = shown(pilot.app)
        assert "-work-thing" in screen
        assert "$1.78" in screen
        await press(pilot, "enter")
        assert "11 requests" in shown(pilot.app)
        await press(pilot, "escape")
        assert "1 session" in shown(pilot.app)

    drive(Launch(), step)


def test_search_while_typing(tmp_path):
    for path in (ATLAS, CLAUDE_CODE):
        shutil.copy(path, tmp_path)

    async def two(pilot):
        assert len(pilot.app.screen.rows) == 2

    async def one(pilot):
        assert [line.session for line in pilot.app.screen.rows.shown] == ["atlas-14"]

    drive(Launch(paths=(str(tmp_path),)), two, keys("slash", *"FOURTEEN"), one, keys("escape"), two)


def test_a_search_that_finds_nothing_says_how_to_go_on(tmp_path):
    for path in (ATLAS, CLAUDE_CODE):
        shutil.copy(path, tmp_path)

    async def look(pilot):
        screen = shown(pilot.app)
        assert "no session holds “zz?” (of 2); Esc shows all" in screen
        assert "hit rate" not in screen  # of nothing
        last = screen.splitlines()[-1]
        assert "Esc Cancel" in last
        assert "Help" not in last  # its key is text now

    async def all_again(pilot):
        assert "2 sessions" in shown(pilot.app)
        assert "? Help" in shown(pilot.app).splitlines()[-1]

    drive(Launch(paths=(str(tmp_path),)), keys("slash", *"zz", "question_mark"), look, keys("escape"), all_again)


def test_newest_first_and_sorting():
    rows = SessionRows()
    rows.put(
        PickerLine(session=name, name=name, format="f", files=(), cost=cost, last=last, read=1, total=2)
        for name, cost, last in (("a", 5, 100), ("b", None, 300), ("c", 9, None), ("d", 1, 200))
    )
    assert [line.session for line in rows.shown] == ["b", "d", "a", "c"]  # unknown times last
    rows.sort = "cost"
    rows.arrange()
    assert [line.session for line in rows.shown] == ["c", "a", "d", "b"]  # unknown costs last


def test_a_broken_file_among_good_ones_is_told(tmp_path):
    shutil.copy(CLAUDE_CODE, tmp_path / "good.jsonl")
    (tmp_path / "bad.jsonl").write_bytes(b'{"agentsim":"agentsim/1","broken\n')
    (tmp_path / "empty.jsonl").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe.jsonl")

    async def step(pilot):
        assert len(pilot.app.screen.rows) == 1
        assert "good" in shown(pilot.app) or "$1.78" in shown(pilot.app)

    drive(Launch(paths=(str(tmp_path),)), step)
