"""The trace screen: moving, filtering, sorting, lanes, search, copying, the story of a row."""

from __future__ import annotations

import asyncio
import threading

import pytest

from agentsim.tui.trace.trace_screen import TraceScreen
from agentsim.tui.tui_app import AgentsimApp, Launch
from tests.tui.conftest import ATLAS, CLAUDE_CODE, drive, keys, press, settle, shown

MISSES = [4, 6, 8, 10, 12, 13]
"""Rows of the worked example that lost their cache, from 0."""


def run(*steps, paths=(ATLAS,), size=(100, 30)):
    drive(Launch(paths=paths), *steps, size=size)


def at(index):
    async def step(pilot):
        assert pilot.app.screen.selected == index

    return step


def sees(*texts, absent=()):
    async def step(pilot):
        screen = shown(pilot.app)
        for text in texts:
            assert text in screen, f"{text!r} is not on\n{screen}"
        for text in absent:
            assert text not in screen

    return step


def says(text):
    async def step(pilot):
        assert text in [notice.message for notice in pilot.app._notifications]

    return step


def test_keys_move_the_cursor():
    run(
        at(0), keys("j"), at(1), keys("down"), at(2), keys("k"), at(1), keys("G"), at(13), keys("j"), at(13),
        keys("g"), at(0), keys("up"), at(0), keys("pagedown"), keys("ctrl+u"), keys("end"), at(13), keys("home"), at(0),
    )  # fmt: skip


def test_brackets_go_from_miss_to_miss_and_round():
    steps = []
    for index in [*MISSES, MISSES[0]]:
        steps += [keys("right_square_bracket"), at(index)]
    run(*steps, keys("left_square_bracket"), at(13), keys("left_square_bracket"), at(12))


def test_only_misses_keeps_the_row():
    async def lines(pilot):
        rows = pilot.app.screen.rows
        assert [rows.index_at(line) for line in range(len(rows))] == MISSES

    run(keys("right_square_bracket", "m"), lines, at(4), sees("misses only (6)"), keys("escape"), at(4))


def test_search_goes_to_matches():
    run(
        keys("slash", *"as502", "enter"), at(12), keys("n"), at(13), keys("n"), at(12), keys("N"), at(13),
        keys("slash", *"tool_choice", "enter"), at(8),
        keys("slash", "7", "enter"), at(6),
        keys("slash", *"nowhere", "enter"), at(6), says("nothing holds “nowhere”"),
    )  # fmt: skip


def test_filter_by_text():
    run(keys("f", *"sub", "enter"), sees("filter “sub” (3)"), at(11), keys("f", *["backspace"] * 3, "enter"), at(11))


@pytest.mark.parametrize(
    ("presses", "first"),
    [
        (4, 11),  # total, largest first; rows 12 to 14 are equal and keep their order
        (5, 10),  # written: row 11 wrote 44,520
        (6, 11),  # read: rows 12 to 14 read 51,870
        (9, 10),  # cost: row 11
    ],
)
def test_sorting(presses, first):
    async def top(pilot):
        assert pilot.app.screen.rows.index_at(0) == first

    # number → start → gap → took → total → written → read → fresh → hit → cost
    run(keys(*["s"] * presses), top)


def test_a_click_on_a_title_sorts_and_again_reverses():
    async def click(pilot):
        grid = pilot.app.screen.grid
        x = grid.render_line(0).text.index("cost") + 1
        await pilot.click("#rows", offset=(x, 0))
        await pilot.pause()
        assert (pilot.app.screen.rows.sort, pilot.app.screen.rows.descending) == ("cost", True)
        await pilot.click("#rows", offset=(grid.render_line(0).text.index("cost") + 1, 0))
        await pilot.pause()
        assert pilot.app.screen.rows.descending is False
        assert pilot.app.screen.rows.index_at(0) == 1  # row 2 is the cheapest: 1,500 written, 8,500 read

    run(click)


def test_a_click_chooses_a_row():
    async def click(pilot):
        await pilot.click("#rows", offset=(20, 5))
        await press(pilot)
        assert pilot.app.screen.selected == 4

    run(click, sees("db_query"))


def test_lanes_as_a_tree():
    async def folded(pilot):
        await press(pilot, "g", "space")
        assert len(pilot.app.screen.rows) == 14 + 4 - 11 - 3 - 3  # main hides its rows and its three subagents

    run(keys("t"), sees("▾ main · 11 requests, $1.34, 4 misses", "└ ▾ sub 1"), at(0), folded, keys("t"), at(0))


def test_the_story_of_a_tool_inserted():
    run(
        keys("right_square_bracket", "enter"),
        sees(
            "MISS AS101",
            "tools[3] db_query inserted",
            "proved by the bodies",
            "✗ first difference",
            "+ tools[3]",
            # 36,915 input equivalents (the fix alone, whole session) at $5 a million tokens: $0.184575.
            "would have saved $0.1846",
            "#4 r04",
        ),
        keys("escape"),
        sees("what happened"),
    )


def test_the_story_of_an_entry_that_nobody_read():
    # Three agents wrote the same 30,500 tokens at once: a surcharge of $1.25 a million each.
    run(
        keys("G", "enter"),
        sees("never read", "30,500 tokens, $0.0381 of surcharge (AS307)", "the only request of"),
    )


def test_words_are_shown_only_when_asked():
    """Rows 12 and 13 are told apart by their instructions: content, hidden until x."""
    words = "You review the ledger only"
    run(
        keys(*["right_square_bracket"] * 5, "enter", "G"),
        sees("x shows the words", absent=(words,)),
        keys("x", "G"),
        sees(words),
        keys("x"),
        sees(absent=(words,)),
    )


def test_a_log_without_bodies_says_what_is_left_to_check():
    run(
        keys(*["right_square_bracket"] * 3, "enter"),
        sees("tools changed, 54,551 tokens", "to check", "before it: tools came or went", "✗ reuse ended"),
        paths=(CLAUDE_CODE,),
    )


def test_copying_a_row():
    async def copied(pilot):
        assert pilot.app.clipboard.startswith("atlas-14 # 7, lane main")
        assert "written 37,650" in pilot.app.clipboard
        assert "AS201" in pilot.app.clipboard

    run(keys(*["j"] * 6, "y"), copied)


def test_typing_ahead_loses_no_key():
    """Keys that come in one burst behind the slash belong to the search."""

    async def burst(pilot):
        await pilot.press("slash", *"AS301", "enter")
        await press(pilot)
        assert pilot.app.screen.selected == 10
        assert not pilot.app.screen.has_class("-story")

    run(burst)


def test_help_lists_every_key_of_the_screen():
    """A key that the footer or a binding has and the help page has not would be found by nobody."""
    from textual.binding import Binding

    from agentsim.tui.base_screen import Page
    from agentsim.tui.compare_screen import CompareScreen
    from agentsim.tui.help_screen import EVERYWHERE, MOVING
    from agentsim.tui.picker.picker_screen import PickerScreen
    from agentsim.tui.timeline.timeline_screen import TimelineScreen
    from agentsim.tui.trace.trace_screen import TraceScreen

    names = {
        "right_square_bracket": "]", "left_square_bracket": "[", "slash": "/", "question_mark": "?", "space": "Space",
        "enter": "Enter", "escape": "Esc", "plus": "+", "minus": "-", "equals_sign": "+", "f1": "F1",
    }  # fmt: skip
    for screen in (TraceScreen, PickerScreen, TimelineScreen, CompareScreen):
        told = " ".join(f"{key} {what}" for key, what in (*screen.HELP_KEYS, *MOVING, *EVERYWHERE))
        for binding in (*screen.BINDINGS, *Page.BINDINGS):
            assert isinstance(binding, Binding)
            for key in binding.key.split(","):
                assert names.get(key, key) in told, f"{screen.__name__}: {key}"


def test_the_palette_finds_actions_by_name():
    async def palette(pilot):
        await pilot.press("ctrl+p")
        await pilot.pause(0.3)
        await pilot.press(*"Timeline")
        await pilot.pause(0.6)
        await pilot.press("enter")
        await press(pilot)
        assert type(pilot.app.screen).__name__ == "TimelineScreen"

    run(palette)


def test_what_was_never_read_is_found_out_in_a_worker_where_there_are_many_rows(monkeypatch):
    from agentsim.diagnose.never_read import never_read as found
    from agentsim.tui.trace import row_story

    go = threading.Event()

    def never_read(rows):
        assert threading.current_thread() is not threading.main_thread()
        go.wait(20)
        return found(rows)

    monkeypatch.setattr(row_story, "never_read", never_read)
    monkeypatch.setattr(row_story, "AT_ONCE", 13)

    async def look() -> None:
        app = AgentsimApp(Launch(paths=(ATLAS,)))
        async with app.run_test(size=(100, 40)) as pilot:
            while not (
                isinstance(screen := app.screen, TraceScreen) and screen.query("#rows") and len(screen.grid.rows)
            ):
                await pilot.pause(0.02)
            screen.select(8)
            while "#9 " not in shown(app):
                await pilot.pause(0.02)
            assert "never read" not in shown(app)
            go.set()
            await settle(pilot)
            assert "never read  1,500 tokens" in shown(app)

    asyncio.run(look())
