"""What was predicted against what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agentsim.core.session import Session
from agentsim.tuning.kept_applications import KeptApplication
from agentsim.tuning.recorded_lifetimes import RecordedLifetimes
from agentsim.tuning.saving_shares import SessionSaving, ShareInterval, measured_share, share_of
from agentsim.tuning.tune_choice import CannotTune
from agentsim.tuning.tune_verification import TuneVerification, verify_settings
from tests.agentsim.tuning.paused_sessions import DAY, START, paused

LONG, QUICK = 900, 30


def applied(predicted: ShareInterval, **how: Any) -> KeptApplication:
    wanted: dict[str, Any] = {
        "file": "settings.json",
        "harness": "claude-code",
        "time": START + 30 * DAY,
        "written": {"env.ENABLE_PROMPT_CACHING_1H": "1"},
        "before": {"env.ENABLE_PROMPT_CACHING_1H": None},
        "missing": False,
        "policies": ("ttl-1h",),
        "lifetimes": RecordedLifetimes("5m", None),
        "predicted": predicted,
        "sessions": 10,
        "first": START,
        "last": START + 10 * DAY,
    }
    return KeptApplication(**{**wanted, **how})


def since(pauses: Sequence[int], count: int, lifetime: int = 3600) -> list[Session]:
    before = [paused(number, pauses) for number in range(10)]
    return before + [paused(50 + number, pauses, lifetime=lifetime, day=31 + number) for number in range(count)]


def verified(pauses: Sequence[int], count: int, predicted: ShareInterval, lifetime: int = 3600) -> TuneVerification:
    return verify_settings(since(pauses, count, lifetime), applied(predicted))


def bills(pauses: Sequence[int]) -> tuple[int, int]:
    """What such a session costs under five minutes and under an hour, by its own counters."""
    from agentsim.whatif.policy_simulation import prepare

    return prepare(paused(0, pauses)).sums.cost, prepare(paused(0, pauses, lifetime=3600)).sums.cost


def test_the_measured_share_is_that_of_the_two_bills() -> None:
    pauses = [QUICK, LONG] * 5
    before, now = bills(pauses)
    share = share_of(before - now, before)
    found = verified(pauses, 9, ShareInterval(share, share - 1, share + 1))
    assert found.measured.share == share
    assert found.saved == 9 * (before - now)
    assert (found.sessions, found.in_force, found.against) == (9, 9, 0)
    assert found.judgement == "held"
    # By bills alone it is the same: every session is like every other, so nothing else can differ.
    assert found.by_bills == ShareInterval(share, share, share)
    assert found.comparable == 1_000_000


def test_a_prediction_that_did_not_hold_is_told_on_either_side() -> None:
    pauses = [QUICK, LONG] * 5
    before, now = bills(pauses)
    share = share_of(before - now, before)
    assert verified(pauses, 9, ShareInterval(share + 9, share + 1, share + 20)).judgement == "less"
    assert verified(pauses, 9, ShareInterval(share + 9, share, share + 20)).judgement == "held"
    assert verified(pauses, 9, ShareInterval(share - 9, share - 20, share - 1)).judgement == "more"


def test_a_setting_that_costs_more_should_be_undone() -> None:
    found = verified([QUICK] * 5, 9, ShareInterval(100_000, 50_000, 150_000))
    assert found.judgement == "costs"
    assert found.should_undo
    assert found.saved < 0


def test_few_sessions_leave_it_open() -> None:
    pauses = [LONG] * 8
    assert verified(pauses, 7, ShareInterval(1, 0, 999_999)).judgement == "open"
    assert verified(pauses, 8, ShareInterval(1, 0, 999_999)).judgement == "held"


def test_a_setting_that_is_not_in_force_proves_nothing() -> None:
    found = verified([LONG] * 8, 9, ShareInterval(1, 0, 999_999), lifetime=300)
    assert (found.in_force, found.against) == (0, 9)
    assert found.judgement == "open"


def test_no_session_since_is_an_error() -> None:
    with pytest.raises(CannotTune, match="no session since"):
        verified([LONG], 0, ShareInterval(1, 0, 2))


def test_another_mix_of_work_is_not_taken_for_a_saving() -> None:
    """Sessions since have no pauses: their bill falls, and the setting has no part in it."""
    before = [paused(number, [LONG, LONG, QUICK, QUICK]) for number in range(10)]
    after = [paused(50 + number, [QUICK] * 4, day=31 + number) for number in range(10)]
    cheaper = [one.requests[-1].usage for one in after]
    assert cheaper[0] is not None
    found = verify_settings([*before, *after], applied(ShareInterval(1, 0, 2), lifetimes=RecordedLifetimes("5m", None)))
    assert found.measured.share == 0
    assert found.by_bills is not None
    assert abs(found.by_bills.share) < 20_000


def test_measured_shares_are_of_the_bill_of_before() -> None:
    assert measured_share([SessionSaving(200, 100)]).share == 500_000
