"""A model without a price: no screen says that a session cost nothing."""

from __future__ import annotations

from agentsim.traces.samples.claude_log import ClaudeLog
from agentsim.tui.tui_app import Launch
from tests.tui.conftest import drive, press, shown


def test_no_screen_says_that_it_cost_nothing(tmp_path):
    files = []
    for name in ("one", "two"):
        log = ClaudeLog(name, model="claude-nobody-knows-9")
        log.user()
        log.call(0, 20_000)
        log.results()
        log.label("system_changed").call(0, 21_000)
        files.append(str(log.save(tmp_path / f"{name}.jsonl")))
    seen: dict[str, str] = {}

    async def look(pilot):
        seen["picker"] = shown(pilot.app)
        await press(pilot, "enter")
        seen["rows"] = shown(pilot.app)
        await press(pilot, "t")
        seen["lanes"] = shown(pilot.app)
        await press(pilot, "b")
        seen["totals"] = shown(pilot.app)

    drive(Launch(paths=(str(tmp_path),)), look)

    async def compare(pilot):
        await press(pilot, "space", "j", "space", "c")
        seen["compare"] = shown(pilot.app)

    drive(Launch(paths=(str(tmp_path),)), compare)
    assert "By model" in seen["totals"]
    assert "B − A" in seen["compare"]
    for name, text in seen.items():
        assert "not priced" in text, name
        assert "$0.0" not in text, name
