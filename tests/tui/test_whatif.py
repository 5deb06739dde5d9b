"""The what-if panel: check boxes, and the figures of the worked example."""

from __future__ import annotations

from agentsim.tui.tui_app import Launch
from agentsim.tui.whatif.policy_grid import PolicyRows
from agentsim.tui.whatif.whatif_panel import WhatIfPanel
from tests.tui.conftest import ATLAS, CLAUDE_CODE, drive, keys, press, settle, shown

DOLLARS = 10**12
PER_TOKEN = 5 * 10**6
"""Picodollars for an ordinary input token of the worked example's model: $5 a million."""


def choose(*names: str):
    async def step(pilot):
        panel = pilot.app.screen.query_one(WhatIfPanel)
        for name in names:
            panel.grid.cursor = panel.rows.order.index(name)
            await press(pilot, "space")
        await settle(pilot)

    return step


def saves(equivalents: float):
    async def step(pilot):
        revision = pilot.app.screen.query_one(WhatIfPanel).revision
        assert revision is not None
        assert revision.base.cost - revision.sums.cost == round(equivalents * PER_TOKEN)

    return step


def test_fixes_alone_and_together():
    """The saving of each fix over the whole session, as the worked example has it: a keep-alive saves 37,957.5 input
    equivalents after its own cost (which, beyond input, has one token of output at five times the price)."""

    async def rows(pilot):
        screen = pilot.app.screen
        revision = screen.query_one(WhatIfPanel).revision
        assert revision is not None
        seventh = revision.rows["r07"].usage
        assert (seventh.write, seventh.read) == (1_500, 36_150)
        assert [row.request.purpose for row in revision.added] == ["keep_alive"]
        text = shown(pilot.app)
        assert "→ written" in text
        line = next(line for line in text.splitlines() if " 7  " in line[:12])
        assert "37,650" in line
        assert "36,150" in line

    async def no_longer(pilot):
        await press(pilot, "space")
        assert pilot.app.screen.query_one(WhatIfPanel).revision is None
        assert "→ written" not in shown(pilot.app)

    drive(Launch(paths=(ATLAS,)), keys("w"), choose("keep-alive"), saves(37_957.5 - 5), rows, no_longer, size=(160, 40))


def test_the_heading_says_how_good_the_simulation_is():
    async def look(pilot):
        text = shown(pilot.app)
        assert "14 of 14 rows" in text
        assert "100.0 % of tokens" in text

    drive(Launch(paths=(ATLAS,)), keys("w"), look, size=(200, 60))


def test_policies_that_decide_the_same_replace_each_other():
    rows = PolicyRows()
    rows.toggle("ttl-1h")
    rows.toggle("stagger-fan-out")
    rows.toggle("ttl-5m")
    assert rows.chosen == {"ttl-5m", "stagger-fan-out"}
    rows.toggle("ttl-5m")
    assert rows.chosen == {"stagger-fan-out"}


def test_parameters_are_edited_as_on_a_command_line():
    async def edit(pilot):
        panel = pilot.app.screen.query_one(WhatIfPanel)
        panel.grid.cursor = panel.rows.order.index("keep-alive")
        await press(pilot, "enter")
        bar = pilot.app.screen.query_one("SearchBar")
        assert "fraction=0.9" in bar.value
        bar.value = "keep-alive:fraction=0.5"
        await press(pilot, "enter")
        assert panel.rows.policies["keep-alive"].spec == "keep-alive:fraction=0.5"
        assert panel.rows.chosen == {"keep-alive"}
        await press(pilot, "enter")
        bar.value = "keep-alive:fraction=much"
        await press(pilot, "enter")
        assert any("fraction" in notice.message for notice in pilot.app._notifications)
        assert panel.rows.policies["keep-alive"].spec == "keep-alive:fraction=0.5"

    drive(Launch(paths=(ATLAS,)), keys("w"), edit)


def test_the_revised_session_on_the_time_axis():
    async def look(pilot):
        await press(pilot, "w", "v", "r")
        text = shown(pilot.app)
        assert "revised by the what-if panel" in text
        assert "keep-alive" in text
        assert "◆" in text

    drive(Launch(paths=(ATLAS,)), keys("w"), choose("keep-alive"), look)


def test_without_bodies_some_policies_say_why_they_cannot_be_tried():
    async def look(pilot):
        panel = pilot.app.screen.query_one(WhatIfPanel)
        assert "needs bodies" in panel.rows.idle["deferred-tools"]
        assert panel.rows.saves

    drive(Launch(paths=(CLAUDE_CODE,)), keys("w"), look)


def test_real_logs_stay_answering(shared_data):
    """A long real session: the panel simulates in the background, and a key is answered meanwhile."""
    import time

    async def look(pilot):
        await pilot.press("w")
        waits = []
        for _ in range(20):
            began = time.monotonic()
            await pilot.press("j")
            waits.append(time.monotonic() - began)
        assert sorted(waits)[10] < 0.5
        await settle(pilot)
        assert "rows exact" in " ".join(str(pilot.app.screen.query_one("#result").render()).split())

    log = shared_data / "claude-code" / "oh-my-posh__fable5-1h-then-5m-94fab1a1.jsonl"
    drive(Launch(paths=(str(log),)), look, size=(160, 45))
