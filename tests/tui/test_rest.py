"""What is remembered, what is exported, what is imported, and how fast large sessions are shown."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentsim.tui import remembered_state
from agentsim.tui.tui_app import Launch
from benchmarks.tui import large, paint
from tests.tui.conftest import ATLAS, CLAUDE_CODE, drive, keys, press, shown


def test_state_survives(tmp_path):
    file = str(tmp_path / "deep" / "tui.json")
    drive(Launch(paths=(ATLAS,), memory_file=file), keys("t", *["j"] * 3, "ctrl+t"))
    remembered = remembered_state.load(file)
    assert (remembered.theme, remembered.lanes) == ("light", "tree")

    async def look(pilot):
        assert pilot.app.theme == "light"
        assert "by lane" in shown(pilot.app)
        assert pilot.app.screen.selected == remembered.rows["atlas-14"]

    drive(Launch(paths=(ATLAS,), memory_file=file), look)


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"rows": 3}', b"\xff\xfe", b'{"theme": "no such theme", "rows": {"atlas-14": 99999}}']
)
def test_a_broken_state_changes_nothing(tmp_path, content):
    file = tmp_path / "tui.json"
    file.write_bytes(content)
    drive(Launch(paths=(ATLAS,), memory_file=str(file)), keys("j"))
    assert json.loads(file.read_bytes())["theme"] == "dark"


def test_a_state_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    drive(Launch(paths=(ATLAS,), memory_file=str(tmp_path / "file" / "tui.json")), keys("j"))


def test_only_so_many_sessions_are_remembered():
    kept = remembered_state.RememberedState()
    for number in range(remembered_state.MOST_SESSIONS + 5):
        kept.stood_at(f"s{number}", number)
    assert len(kept.rows) == remembered_state.MOST_SESSIONS
    assert "s0" not in kept.rows
    assert kept.rows["s5"] == 5


def test_exports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drive(
        Launch(paths=(ATLAS,)),
        keys("e", "enter", "e", "enter", "e", "down", "enter", "b", "e", "enter", "escape", "v", "e", "enter"),
    )
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == [
        "agentsim-atlas-14-rows-2.md",  # nothing is overwritten
        "agentsim-atlas-14-rows.md",
        "agentsim-atlas-14-timeline.md",
        "agentsim-atlas-14-totals.md",
        "agentsim-atlas-14.json",
    ]
    rows = (tmp_path / "agentsim-atlas-14-rows.md").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "# Session atlas-14"
    assert len([line for line in rows if line.startswith("| ")]) == 15
    document = json.loads((tmp_path / "agentsim-atlas-14.json").read_text(encoding="utf-8"))
    assert document["totals"]["hit_rate"]["read"] == 311_760


def test_real_sessions_in_every_view(shared_data):
    """Long real logs, all screens: no exception, and the totals of the replay."""
    logs = sorted((shared_data / "claude-code").glob("*.jsonl"))
    for log in (logs[0], logs[-4]):
        drive(
            Launch(paths=(str(log),)),
            keys("right_square_bracket", "enter", "escape", "t", "v", "0", "plus", "escape", "b", "escape", "m", "s"),
        )


def test_a_capture_with_bodies():
    capture = str(Path(ATLAS).parent / "claude-trace.jsonl")
    drive(Launch(paths=(capture,)), keys("right_square_bracket", "enter", "x", "escape", "v", "escape", "b"))


def test_nothing_else_imports_textual():
    """The app costs the other commands nothing."""
    code = (
        "import sys; import agentsim.cli as c; import agentsim.commands.tui, agentsim.commands.replay; "
        "import agentsim.traces.format_registry; "
        "assert not any(m.startswith(('textual', 'rich', 'aiohttp', 'agentsim.tui')) for m in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(ATLAS).parents[2])


def test_outside_text_reaches_widgets_through_ink_alone():
    """Content and segments are made in tui/ink.py and from text that went through it; nothing parses markup."""
    for file in (Path(ATLAS).parents[2] / "tui").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert "from_markup" not in text, file
        assert "Text.from_" not in text, file
        for call in text.split(".notify(")[1:]:
            assert "markup=False" in call[: call.index("\n\n") if "\n\n" in call else None][:400], file


def test_a_hundred_thousand_rows():
    """Painted in half a second, filtered in 0.3 s: with room for a busy machine, and far from growing with the rows."""
    runs = [asyncio.run(paint(large(100_000))) for _ in range(3)]
    assert min(run["rows painted"] for run in runs) < 1.5
    assert min(run["filter to misses"] for run in runs) < 0.3
    assert min(run["a key, drawn"] for run in runs) < 0.05


@pytest.mark.parametrize("paths", [(ATLAS, CLAUDE_CODE)])
def test_several_files_are_for_choosing(paths):
    async def look(pilot):
        assert "2 sessions" in shown(pilot.app)
        await press(pilot, "enter")
        assert "11 requests" in shown(pilot.app)

    drive(Launch(paths=paths), look)


def test_a_simulated_session():
    scenarios = Path(ATLAS).parents[2] / "scenarios"

    async def look(pilot):
        text = shown(pilot.app)
        assert "14 requests · hit rate 52.65 %" in text
        assert pilot.app.screen.diagnosis.session.format == "simulation"

    drive(Launch(paths=(str(scenarios / "atlas-14.toml"),)), look)

    async def four(pilot):
        assert "4 sessions" in shown(pilot.app)
        await press(pilot, "enter")
        assert "4 requests" in shown(pilot.app)

    drive(Launch(paths=(str(scenarios / "fanout-2x2.toml"),)), four)
