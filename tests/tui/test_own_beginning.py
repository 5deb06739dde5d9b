"""Sessions whose times count from their own beginning: no screen gives them a date of 1970."""

from __future__ import annotations

import json

from agentsim.tui.tui_app import Launch
from tests.tui.conftest import drive, press, shown


def test_no_screen_names_a_day(tmp_path):
    # A serving trace counts milliseconds. Its second request begins after 26 h.
    rows = [{"timestamp": n, "input_length": 600, "output_length": 1, "hash_ids": [1, 2]} for n in (0, 93_600_000)]
    (tmp_path / "trace.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    seen: dict[str, str] = {}

    async def look(pilot):
        seen["picker"] = shown(pilot.app)
        await press(pilot, "enter", "j")
        seen["rows"] = shown(pilot.app)
        await press(pilot, "v")
        seen["timeline"] = shown(pilot.app)

    drive(Launch(paths=(str(tmp_path),)), look)
    for name, text in seen.items():
        assert "1970" not in text, name
        assert "+26:00:00" in text, name
