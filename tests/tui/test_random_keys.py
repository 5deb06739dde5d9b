"""Keys at random: whatever is pressed, no exception, and the app is there or has ended as asked."""

from __future__ import annotations

import asyncio
import os
import random

import pytest
from textual import events

from agentsim.tui.tui_app import AgentsimApp, Launch
from tests.tui.conftest import ATLAS, CLAUDE_CODE, settle

SIZES = ((80, 24), (100, 30), (200, 60))
KEYS = (
    "up down left right pageup pagedown home end enter escape tab shift+tab space backspace delete f1 ctrl+t ctrl+d "
    "ctrl+u ctrl+f ctrl+b ctrl+p slash question_mark left_square_bracket right_square_bracket plus minus full_stop "
    "colon 0 1 9 a b c d e f g h i j k l m n o p r s t u v w x y z G N S"
).split()

CHARACTERS = {
    "space": " ", "slash": "/", "question_mark": "?", "left_square_bracket": "[", "right_square_bracket": "]",
    "plus": "+", "minus": "-", "full_stop": ".", "colon": ":",
}  # fmt: skip


async def play(seed: int, size: tuple[int, int], count: int, paths: tuple[str, ...], folder: str) -> None:
    draw = random.Random(seed)
    pressed: list[str] = []
    while len(pressed) < count:
        app = AgentsimApp(Launch(paths=paths))
        app.copy_to_clipboard = lambda text: None  # type: ignore[method-assign]
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            while len(pressed) < count and app.is_running and not app._exit:
                some = [draw.choice(KEYS) for _ in range(10)]
                pressed += some
                # All at once, as from a person who leans on the keyboard; the pilot would wait after each.
                for key in some:
                    app.post_message(events.Key(key, CHARACTERS.get(key, key if len(key) == 1 else None)))
                try:
                    await asyncio.wait_for(pilot.pause(), 60)
                except Exception as error:
                    raise AssertionError(f"seed {seed}, size {size}, last keys {pressed[-25:]}") from error
                if draw.random() < 0.1:
                    await pilot.resize_terminal(*draw.choice([*SIZES, (20, 6), (1, 1)]))
        if app._exception is not None:
            raise AssertionError(f"seed {seed}, size {size}, last keys {pressed[-25:]}") from app._exception


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_two_hundred_keys(size, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asyncio.run(play(size[0], size, 200, (ATLAS,), str(tmp_path)))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(os.environ.get("LONG_TESTS") != "1", reason="minutes long: LONG_TESTS=1 runs it")
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_ten_thousand_keys(size, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    for path in (ATLAS, CLAUDE_CODE):
        (tmp_path / "logs" / path.rsplit("/", 1)[1]).symlink_to(path)
    asyncio.run(play(1, size, 5_000, (ATLAS,), str(tmp_path)))
    asyncio.run(play(2, size, 5_000, (str(tmp_path / "logs"),), str(tmp_path)))
