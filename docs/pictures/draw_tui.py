"""Draw the pictures of the terminal app: ``python docs/pictures/draw_tui.py``. A test redraws them and compares."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from textual.pilot import Pilot

from agentsim.tui.screen_export import picture
from agentsim.tui.tui_app import AgentsimApp, Launch

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parents[1] / "traces" / "samples"
ATLAS = str(SAMPLES / "atlas-14.jsonl")
CLAUDE_CODE = str(SAMPLES / "claude-code.jsonl")
MISS = "right_square_bracket"

PICTURES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[int, int], str]] = {
    "tui-rows": ((ATLAS,), (MISS,), (120, 40), "dark"),
    "tui-timeline": ((ATLAS,), (MISS, MISS, "v"), (120, 24), "dark"),
    "tui-what-if": ((ATLAS,), ("w", "down", "space"), (160, 40), "dark"),
    "tui-totals": ((ATLAS,), ("b",), (110, 34), "light"),
    "tui-claude-code": ((CLAUDE_CODE,), (MISS, MISS, MISS), (120, 34), "colour-blind safe"),
    "tui-sessions": ((ATLAS, CLAUDE_CODE), (), (110, 12), "dark"),
    "tui-compare": ((ATLAS, CLAUDE_CODE), ("space", "down", "c"), (120, 30), "dark"),
}
"""Name: the logs, the keys, the size of the terminal, the theme."""


async def settle(pilot: Pilot[int]) -> None:
    """Wait until nothing has worked for three looks: a key may start a worker only once what it opened is drawn."""
    quiet = 0
    while quiet < 3:
        working = [worker for worker in pilot.app.workers if not worker.is_finished]
        if working:
            await pilot.app.workers.wait_for_complete(working)
        await pilot.pause(0.1)
        quiet = 0 if working else quiet + 1


async def draw(name: str) -> str:
    """One picture."""
    paths, keys, size, theme = PICTURES[name]
    app = AgentsimApp(Launch(paths=paths))
    async with app.run_test(size=size) as pilot:
        app.theme = theme
        await settle(pilot)
        for key in keys:
            await pilot.press(key)
            await settle(pilot)
        return picture(app)


def main() -> None:
    """Draw them all."""
    os.environ["TZ"] = "UTC"
    os.environ.pop("NO_COLOR", None)
    time.tzset()
    for name in PICTURES:
        (HERE / f"{name}.svg").write_text(asyncio.run(draw(name)), encoding="utf-8")
        print(f"{name}.svg")


if __name__ == "__main__":
    main()
