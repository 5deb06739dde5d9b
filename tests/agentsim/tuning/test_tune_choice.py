"""Which settings are chosen, and what is predicted of them, where the bill is a sum that fits on a line."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from agentsim.core.session import Session
from agentsim.tuning.saving_shares import FEWEST
from agentsim.tuning.tune_choice import CannotTune, choose_settings
from tests.agentsim.tuning.paused_sessions import HEAD, STEP, paused

LONG, QUICK = 900, 30
OPUS_INPUT = 5_000_000
"""Picodollars a token: $5 a million."""


def input_cost(pauses: Sequence[int], lifetime: int) -> int:
    """What the input of such a session costs: a fresh prefix after each pause that the lifetime does not outlast."""
    write = 125 if lifetime == 300 else 200
    total = HEAD * write
    for turn, pause in enumerate(pauses, 1):
        size = HEAD + STEP * turn
        total += size * write if pause >= lifetime else (size - STEP) * 10 + STEP * write
    return total * OPUS_INPUT // 100


def sessions(pauses: Sequence[int], count: int, **how: int) -> list[Session]:
    return [paused(number, pauses, **how) for number in range(count)]


def test_pauses_that_five_minutes_do_not_outlast_ask_for_an_hour() -> None:
    pauses = [QUICK, LONG] * 5
    found = choose_settings(sessions(pauses, 12))
    assert [one.setting.policy for one in found.chosen] == ["ttl-1h"]
    assert found.chosen[0].setting.settings == {"env": {"ENABLE_PROMPT_CACHING_1H": "1"}}
    assert (found.older, found.newer) == (9, 3)
    each = input_cost(pauses, 300) - input_cost(pauses, 3600)
    assert (found.chosen[0].older, found.chosen[0].newer) == (9 * each, 3 * each)
    assert found.predicted is not None
    assert found.predicted.low <= found.predicted.share == 12 * each * 1_000_000 // found.cost <= found.predicted.high


def test_without_pauses_nothing_is_proposed_but_the_cheaper_write() -> None:
    found = choose_settings(sessions([QUICK] * 4, 12))
    assert not found.chosen
    assert found.predicted is None
    assert {one.reason for one in found.tried if one.setting.policy == "ttl-1h"} == {"it costs more"}
    found = choose_settings(sessions([QUICK] * 4, 12, lifetime=3600))
    assert [one.setting.policy for one in found.chosen] == ["ttl-5m"]


def test_what_saved_only_in_the_older_sessions_is_not_proposed() -> None:
    old = sessions([LONG] * 4, 9)
    new = [paused(number, [QUICK] * 4) for number in range(9, 12)]
    found = choose_settings([*old, *new])
    assert not found.chosen
    reasons = {one.setting.policy: one.reason for one in found.tried}
    assert reasons["ttl-1h"] == "it saved in the older sessions and not in the newer ones"


def test_eight_sessions_say_something_and_seven_nothing() -> None:
    assert FEWEST == 8
    assert choose_settings(sessions([LONG] * 5, 8)).chosen
    with pytest.raises(CannotTune, match="7 sessions can be simulated"):
        choose_settings(sessions([LONG] * 5, 7))


def test_sessions_under_other_lifetimes_are_left_out() -> None:
    others = [paused(100 + number, [LONG], lifetime=3600, day=-number - 1) for number in range(3)]
    found = choose_settings([*sessions([LONG] * 5, 9), *others])
    assert found.older + found.newer == 9
    assert [each.reason for each in found.left_out] == ["it asked for other lifetimes"] * 3


def test_a_version_without_the_setting_is_told() -> None:
    reasons = {}
    for version in ("2.1.242", "2.1.243"):
        logs = [paused(number, [LONG], version=version) for number in range(9)]
        reasons[version] = {one.setting.policy: one.reason for one in choose_settings(logs).tried}
    assert reasons["2.1.242"]["ttl-main-1h"] == "it needs version 2.1.243; these are of 2.1.242"
    assert "version" not in reasons["2.1.243"]["ttl-main-1h"]


def test_a_window_for_compaction_is_shown_and_not_proposed() -> None:
    long = [paused(number, [QUICK] * 60) for number in range(9)]
    shown = [one for one in choose_settings(long).tried if one.setting.slot == "compaction"]
    assert {one.setting.settings["autoCompactWindow"] for one in shown} == {100_000, 200_000, 400_000}
    assert all(one.reason for one in shown)


def test_another_harness_is_named() -> None:
    others = [replace(session, harness="pi") for session in sessions([LONG] * 5, 9)]
    with pytest.raises(CannotTune, match="no session of Claude Code can be simulated; these are of pi"):
        choose_settings(others)
    with pytest.raises(CannotTune, match="there are no sessions"):
        choose_settings([])
