"""The documentation of the app shows and says what the app is."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

_spec = importlib.util.spec_from_file_location("draw_tui", DOCS / "pictures" / "draw_tui.py")
assert _spec is not None
assert _spec.loader is not None
draw_tui = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(draw_tui)


@pytest.mark.parametrize("name", draw_tui.PICTURES)
def test_pictures_are_what_the_app_draws(name):
    drawn = asyncio.run(draw_tui.draw(name))
    assert drawn == (DOCS / "pictures" / f"{name}.svg").read_text(encoding="utf-8"), "run docs/pictures/draw_tui.py"


def test_every_key_is_documented():
    from agentsim.tui.compare_screen import CompareScreen
    from agentsim.tui.picker.picker_screen import PickerScreen
    from agentsim.tui.timeline.timeline_screen import TimelineScreen
    from agentsim.tui.trace.trace_screen import TraceScreen

    text = (DOCS / "tui.md").read_text(encoding="utf-8")
    for screen in (TraceScreen, PickerScreen, TimelineScreen, CompareScreen):
        for keys, _ in screen.HELP_KEYS:
            for key in keys.split():
                assert f"`{key}`" in text, f"{screen.HELP_TITLE}: {key}"
