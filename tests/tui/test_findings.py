"""Losses that repeat, on the pages of the app."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agentsim.diagnose import diagnose
from agentsim.traces.format_registry import read
from agentsim.tui.findings_screen import FindingsScreen, findings_of_all
from agentsim.tui.totals_screen import page
from agentsim.tui.tui_app import Launch
from tests.tui.conftest import CLAUDE_CODE, drive


def test_the_sums_of_a_session_name_what_repeats(shared_data: Path) -> None:
    (path,) = (shared_data / "claude-code").glob("*opus5-1h-fork*part1of2.jsonl")
    (found,) = read([str(path)], [])
    for width in (60, 120):
        lines = [
            "".join(p if isinstance(p, str) else p[0] for p in line.pieces) for line in page(diagnose(found), width)
        ]
        assert "Losses that repeat" in lines
        words = " ".join(" ".join(lines).split())
        assert (
            "All 5 losses fall on the first request after a prompt (15 of them), 0 of 538 after tool results" in words
        )
        assert max(map(len, lines[lines.index("Losses that repeat") :][:8])) <= width


def test_f_opens_the_findings_of_all_sessions(tmp_path: Path) -> None:
    import shutil

    for name in ("one", "two"):
        shutil.copy(CLAUDE_CODE, tmp_path / f"{name}.jsonl")

    async def look(pilot: object) -> None:
        await pilot.press("f")  # type: ignore[attr-defined]
        for _ in range(600):
            await asyncio.sleep(0.05)
            screen = pilot.app.screen  # type: ignore[attr-defined]
            if isinstance(screen, FindingsScreen) and screen.query("#page"):
                await pilot.pause()  # type: ignore[attr-defined]
                return
        raise AssertionError("nothing was shown")

    drive(Launch(paths=(str(tmp_path),)), look)


def test_what_is_lost_again_and_again_is_listed_over_all_sessions(shared_data: Path) -> None:
    found = findings_of_all([str(shared_data / "claude-code")])
    assert found is not None
    rows = FindingsScreen(found)._rows()
    page = "\n".join("".join(p if isinstance(p, str) else p[0] for p in row) for row in rows)
    assert "6 × AS130 The messages changed, where is not known, each time about 38,058 tokens were read" in page
    assert "in 2 sessions" in page
    assert "All 6 losses fall on the first request after a prompt" in page
    assert "Losses without a place:\n    17 of 20 losses" in page


def test_without_sessions_there_are_no_findings(tmp_path: Path) -> None:
    assert findings_of_all([str(tmp_path / "nothing")]) is None
