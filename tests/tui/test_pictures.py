"""Each screen as it was looked at and found good. A change of the look renews them: RENEW_PICTURES=1."""

from __future__ import annotations

import pytest

from agentsim.tui.tui_app import Launch
from tests.tui.conftest import ATLAS, CLAUDE_CODE

SCREENS = {
    "rows": (),
    "story-tools": ("right_square_bracket", "enter"),
    "story-expiry": ("right_square_bracket", "right_square_bracket"),
    "misses": ("m",),
    "tree": ("t",),
    "timeline": ("right_square_bracket", "right_square_bracket", "v"),
    "totals": ("b",),
    "what-if": ("w", "space"),
    "help": ("question_mark",),
    "export": ("e",),
}


@pytest.mark.parametrize("screen", SCREENS)
def test_worked_example(same_picture, screen):
    same_picture(f"atlas-{screen}", Launch(paths=(ATLAS,)), *SCREENS[screen])


@pytest.mark.parametrize("screen", ["rows", "story-expiry", "timeline", "totals", "what-if"])
def test_claude_code_log(same_picture, screen):
    same_picture(f"claude-code-{screen}", Launch(paths=(CLAUDE_CODE,)), *SCREENS[screen])


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 60)])
def test_small_and_large_terminals(same_picture, width, height):
    same_picture(f"atlas-rows-{width}x{height}", Launch(paths=(ATLAS,)), "w", "w", size=(width, height))


@pytest.mark.parametrize("theme", ["light", "colour-blind safe"])
def test_themes(same_picture, theme):
    name = f"atlas-rows-{theme.replace(' ', '-')}"
    same_picture(name, Launch(paths=(ATLAS,)), "right_square_bracket", theme=theme)


def test_picker_and_comparison(same_picture, tmp_path):
    for path in (ATLAS, CLAUDE_CODE):
        (tmp_path / path.rsplit("/", 1)[1]).symlink_to(path)
    same_picture("picker", Launch(paths=(str(tmp_path),)))
    same_picture("compare", Launch(paths=(str(tmp_path),)), "space", "down", "c")
