"""What a key answers: the rows of a total, the next act's price, the context, what was not read, actions by name."""

from __future__ import annotations

import msgspec
import pytest

from agentsim.core.dates import SECOND
from agentsim.core.session import Problem
from agentsim.outlook.cache_state import state_of
from agentsim.outlook.next_acts import last_reply, price_acts
from agentsim.tui.ink import Ink
from agentsim.tui.session_loading import judge, read_paths
from agentsim.tui.themes import THEMES, colourless
from agentsim.tui.totals_screen import page
from agentsim.tui.trace.cache_countdown import clock, countdown
from agentsim.tui.trace.trace_screen import TraceScreen
from agentsim.tui.tui_app import AgentsimApp, Launch
from agentsim.tui.whatif.whatif_panel import WhatIfPanel
from tests.tui.conftest import ATLAS, CLAUDE_CODE, drive, keys, press, settle, shown


def words(pieces) -> str:
    return "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces)


@pytest.mark.parametrize("path", [ATLAS, CLAUDE_CODE])
def test_each_total_leads_to_as_many_rows_as_it_counts(path):
    diagnosis = judge(read_paths([path]).sessions[0])
    found = [(line.pieces, line.group) for line in page(diagnosis, 100) if line.group is not None]
    assert {group.field for _, group in found} == {"cause", "model", "lane", "purpose", "kind"}
    for pieces, group in found:
        count = next(word for word in words(pieces[2:]).split() if word.isdigit())
        assert len(group.rows(diagnosis)) == int(count), group


def test_enter_on_a_total_shows_its_rows_and_back_shows_all():
    async def enter(pilot):
        screen = pilot.app.screen
        await press(pilot, "b", "down", "enter")
        assert pilot.app.screen is screen
        assert [screen.rows.index_at(line) for line in range(len(screen.rows))] == [6]
        assert "AS201 The five-minute entry had expired (1)" in shown(pilot.app).splitlines()[1]
        await press(pilot, "escape")
        assert len(screen.rows) == 14

    drive(Launch(paths=(ATLAS,)), enter, size=(140, 40))


def test_a_total_and_a_filter_hold_together():
    async def both(pilot):
        await press(pilot, "b", "enter")
        rows = pilot.app.screen.rows
        assert rows.group is not None
        rows.wanted = "r14"
        rows.arrange()
        assert [rows.index_at(line) for line in range(len(rows))] == [13]
        rows.only_misses = True
        rows.arrange()
        assert len(rows) == 1
        rows.wanted = "r02"  # a hit: not in this group
        rows.arrange()
        assert len(rows) == 0

    drive(Launch(paths=(ATLAS,)), both)


def test_the_price_of_the_next_act_and_its_rules():
    async def look(pilot):
        await press(pilot, "a")
        text = shown(pilot.app)
        assert "cold since" in text
        assert "go on now" in text
        await press(pilot, "r")
        assert "warm for" in shown(pilot.app)
        await press(pilot, "y")
        assert "matching = breakpoint (high)" in shown(pilot.app)
        await press(pilot, "q")
        assert isinstance(pilot.app.screen, TraceScreen)

    drive(Launch(paths=(CLAUDE_CODE,)), look, size=(110, 40))


def test_the_context_page_ends_in_the_bill():
    async def look(pilot):
        await press(pilot, "i")
        assert "the bill" in shown(pilot.app)
        assert "$2.02" in shown(pilot.app)

    drive(Launch(paths=(ATLAS,)), look, size=(100, 45))


def test_the_countdown_at_the_last_moment_and_after_it():
    session = read_paths([CLAUDE_CODE]).sessions[0]
    state = state_of(session)
    ends = state.deadline(state.chain[0])
    assert ends.promised is not None
    assert ends.latest is not None
    assert "warm for 0:00" in words(countdown(price_acts(state, ends.promised)))
    assert "perhaps warm" in words(countdown(price_acts(state, ends.promised + 1)))
    assert "perhaps warm" in words(countdown(price_acts(state, ends.latest)))
    cold = words(countdown(price_acts(state, ends.latest + 1)))
    assert "cold since" in cold
    assert "when cold" not in cold  # it is: going on now is that price
    warm = words(countdown(price_acts(state, last_reply(state))))
    assert "go on now $0.0353" in warm
    lengths = [clock(seconds * SECOND) for seconds in (0, 59, 60, 3599, 3600)]
    assert lengths == ["0:00", "0:59", "1:00", "59:59", "1:00:00"]


def test_the_countdown_is_shown_while_a_log_is_followed(tmp_path):
    log = tmp_path / "log.jsonl"
    with open(CLAUDE_CODE, encoding="utf-8") as file:
        log.write_text(file.read(), encoding="utf-8")

    async def look(pilot):
        for _ in range(100):
            if "cold since" in shown(pilot.app):
                break
            await pilot.pause(0.05)
        assert "a: all acts" in shown(pilot.app)
        assert "compact now" in shown(pilot.app)

    drive(Launch(paths=(str(log),), follow=True), look)


def test_what_could_not_be_read_is_listed_on_a_key():
    async def look(pilot):
        screen = pilot.app.screen
        await press(pilot, "p")
        assert pilot.app.screen is screen  # a notice, no empty page
        problem = Problem(file="a.jsonl", line=7, reason="no JSON", remedy="its line is left out")
        session = msgspec.structs.replace(screen.diagnosis.session, problems=(problem,))
        screen.diagnosis = msgspec.structs.replace(screen.diagnosis, session=session)
        await press(pilot, "p")
        assert "a.jsonl:7" in shown(pilot.app)
        assert "no JSON; its line is left out" in shown(pilot.app)

    drive(Launch(paths=(ATLAS,)), look)


def test_a_what_if_shows_outcome_and_cost_and_lists_nothing_idle():
    async def look(pilot):
        panel = pilot.app.screen.query_one(WhatIfPanel)
        assert "pin-model" in panel.rows.idle
        assert "pin-model" not in panel.rows.order
        assert f"{panel.rows.hidden} more have nothing to do" in shown(pilot.app)
        await press(pilot, "a")
        assert "pin-model" in panel.rows.order
        await press(pilot, "a")
        panel.grid.cursor = panel.rows.order.index("keep-alive")
        await press(pilot, "space")
        await settle(pilot)
        revision = panel.revision
        assert revision is not None
        rows = pilot.app.screen.rows
        keys = [column.key for column in rows.columns]
        cells = dict(zip(keys, rows.cells(6), strict=True))  # row 7 lost its cache to a pause
        assert cells["outcome"][0] == "hit"
        assert revision.rows["r07"].cost == 34_950_000_000
        assert cells["new_cost"][0] == "$0.0350"
        assert dict(zip(keys, rows.cells(0), strict=True))["outcome"][0] == "="

    drive(Launch(paths=(ATLAS,)), keys("w"), look, size=(200, 40))


def test_the_palette_holds_our_actions_and_nothing_else():
    async def look(pilot):
        names = [command.title for command in pilot.app.get_system_commands(pilot.app.screen)]
        assert "Compare with another session  (c)" in names
        assert "Next  (a)" in names
        assert not [name for name in names if name.startswith(("Focus", "Scroll", "Page", "Maximize", "Screenshot"))]
        assert len(names) == len(set(names))

    drive(Launch(paths=(ATLAS,)), look)


def test_without_colours_every_ink_is_that_of_the_text(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    for theme in THEMES:
        plain = colourless(theme)
        inks = {name for name in plain.variables if name not in ("faint", "cursor-row")}
        assert {plain.variables[name] for name in inks} == {theme.foreground}
    app = AgentsimApp(Launch())
    assert app.available_themes["dark"].variables["bad"] == app.available_themes["dark"].foreground


def test_a_row_that_only_costs_less_has_the_same_outcome():
    async def look(pilot):
        panel = pilot.app.screen.query_one(WhatIfPanel)
        panel.grid.cursor = panel.rows.order.index("ttl-5m")
        await press(pilot, "space")
        await settle(pilot)
        rows = pilot.app.screen.rows
        place = [column.key for column in rows.columns].index("outcome")
        assert {rows.cells(line)[place] for line in range(len(rows))} == {("=", Ink.FAINT)}

    drive(Launch(paths=(CLAUDE_CODE,)), keys("w"), look, size=(200, 40))
