"""What no log tells: worlds that bring the same log about, the interval of a saving, and when its sign is told."""

from __future__ import annotations

import msgspec
import pytest

from agentsim.core.session import Session, Usage
from agentsim.report.saving_words import interval_words, saving_words
from agentsim.whatif.backtest_standing import STANDINGS, BacktestStanding, fails, is_unproven
from agentsim.whatif.comparison import compare
from agentsim.whatif.policies import policy
from agentsim.whatif.policy_simulation import prepare, simulate, under
from agentsim.whatif.saving_interval import SavingInterval
from agentsim.whatif.unknown_facts import OUTLIVES, PLAIN, WORLDS, dropped, feared_of, is_certain
from agentsim.whatif.unlogged_calls import UNLOGGED
from tests.agentsim.whatif.policies.small import block, request, session
from tests.agentsim.whatif.test_rebuild import counters

SHORT, _ = OUTLIVES
SECOND = 10**9


def read_of(given: Session, name: str, spec: str, world: object = PLAIN) -> int:
    """What one request reads under a policy, in a world."""
    case = prepare(given)
    rewritten, _ = under(case, [policy(spec)])
    rows = simulate(case, rewritten, world)  # type: ignore[arg-type]
    return next(row.usage.read or 0 for row in rows if row.request.id == name)


@pytest.mark.parametrize(("pause", "read"), [(300 + SHORT, 45_000), (301 + SHORT, 40_000)])
def test_an_entry_may_outlive_its_lifetime_by_so_much(pause: int, read: int) -> None:
    # An hour's entry was read after the pause. Under five minutes the plain world has lost it; another session may
    # have sent the same tools and system text since.
    given = counters([(0, 0, 0, 40_000), (20, 40_000, 0, 5_000), (20 + pause, 45_000, 0, 500)])
    assert read_of(given, "r2", "ttl-5m") == 0
    assert read_of(given, "r2", "ttl-5m", WORLDS[0]) == read


@pytest.mark.parametrize(("pause", "certain"), [(240, True), (241, False)])
def test_nothing_is_unknown_while_every_entry_is_there(pause: int, certain: bool) -> None:
    given = counters([(0, 0, 40_000, 0), (pause, 40_000, 500, 0)])
    assert is_certain(prepare(given).session) is certain


def test_a_saving_of_unknown_sign_is_told_as_an_interval() -> None:
    pause = 300 + SHORT
    rows = [(0, 0, 0, 40_000), (pause, 40_000, 0, 20_000)]
    comparison = compare(counters(rows), ["ttl-5m"])
    (outcome,) = comparison.outcomes
    assert outcome.interval is not None
    assert outcome.interval.low < 0 < outcome.interval.high
    assert (outcome.told, outcome.told_equivalents) == (None, None)
    assert saving_words(outcome.saving, outcome.interval) == "unclear"
    record = comparison.records()[1]
    assert record["saving"] is None
    assert float(str(record["saving_low"])) < 0 < float(str(record["saving_high"]))


def test_a_saving_whose_sign_holds_is_told() -> None:
    rows = [
        (30 * number, 40_000 + 500 * (number - 1) if number else 0, 0, 500 if number else 40_000) for number in range(9)
    ]
    (outcome,) = compare(counters(rows), ["ttl-5m"]).outcomes
    assert outcome.told == outcome.saving
    assert (outcome.saving or 0) > 0


def test_words() -> None:
    cent = 10**10
    assert saving_words(None, None) == "–"
    assert saving_words(5 * cent, SavingInterval(5 * cent, 5 * cent), 2) == "$0.05"
    assert interval_words(SavingInterval(5 * cent, 5 * cent)) == "–"
    assert interval_words(SavingInterval(-5 * cent, 7 * cent), 2) == "-$0.05 to $0.07"
    assert saving_words(cent, SavingInterval(-5 * cent, 7 * cent), 2) == "unclear"
    assert SavingInterval(0, 1).sign_holds is False
    assert SavingInterval(1, 2).sign_holds
    assert SavingInterval(0, 0).sign_holds


@pytest.mark.parametrize(("pause", "gone"), [(599, 0), (600, 1)])
def test_early_losses_begin_where_they_were_observed(pause: int, gone: int) -> None:
    given = prepare(counters([(0, 0, 9_000, 0), (pause, 0, 9_500, 0)])).session
    assert len(dropped(given, (), 1)) == gone
    assert not dropped(given, (), None)
    assert not dropped(given, [request.id for request in given.requests], 1)


@pytest.mark.parametrize(
    ("pauses", "percents", "feared"), [(1, 5, 0), (1, 6, 1), (10, 80, 2), (100, 800, 13), (5, 0, 0), (3, 300, 3)]
)
def test_as_many_losses_are_feared_as_happen_in_one_of_twenty_cases(pauses: int, percents: int, feared: int) -> None:
    assert feared_of(pauses, percents) == feared


def test_an_unlogged_call_of_a_body_log_comes_right_after_the_reply_and_follows_its_lane() -> None:
    head = [block("system", 5_000, "system"), block("a", 20_000)]
    reply = block("reply", 900)
    asked = [
        request("r0", 0, head, (0, 1), ttl=3_600),
        request("r1", 700, [*head, reply, block("b", 400)], (0, 3), ttl=3_600),
    ]
    logged = [
        Usage(fresh=0, write_long=25_000, read=0, output=900),
        Usage(fresh=0, write_long=400, read=25_900, output=9),
    ]
    reported = tuple(msgspec.structs.replace(one, usage=usage) for one, usage in zip(asked, logged, strict=True))
    given = msgspec.structs.replace(session(*asked), requests=reported)
    case = prepare(given)
    call = case.session.requests[1]
    assert call.id == "r1" + UNLOGGED
    assert not call.counted
    assert [(row.request.id, row.usage.read) for row in case.rows if row.request.counted] == [("r0", 0), ("r1", 25_900)]
    # Nothing five minutes old survives a pause of eleven, whoever wrote it.
    assert read_of(given, "r1", "ttl-5m") == 0
    assert read_of(given, "r1", "ttl-split") == 5_000


def test_what_was_written_seconds_ago_is_there_whatever_its_lifetime() -> None:
    # The second request came while the first one's answer was awaited, and read it all the same.
    given = counters([(0, 0, 0, 40_000), (1, 40_000, 0, 500), (2, 40_500, 0, 500)])
    assert read_of(given, "r1", "ttl-5m") == 40_000


def test_the_worlds_leave_the_recorded_run_as_it_was() -> None:
    given = counters([(0, 12_000, 0, 30_000), (400, 42_000, 0, 500), (900, 12_000, 0, 31_000)])
    case = prepare(given)
    assert [row.usage for row in simulate(case, case.session)] == [row.usage for row in case.rows]


@pytest.mark.parametrize(("pause", "read"), [(301, 40_000), (299, 0)])
def test_what_had_expired_is_there_where_it_lives_longer(pause: int, read: int) -> None:
    # A log of a harness tells when answers ended: within five minutes of that, and more than five after the start, the
    # loss is an expiry. A loss within five minutes of the start is a dropped entry, and is lost under every policy.
    given = counters([(0, 0, 40_000, 0), (pause, 0, 40_500, 0)])
    given = msgspec.structs.replace(given, completeness="messages")
    assert read_of(given, "r1", "ttl-1h") == read


@pytest.mark.parametrize(
    ("standing", "passes"),
    [
        ((99, 100, 300, 85), True),
        ((98, 100, 300, 85), False),
        ((99, 100, 301, 85), False),
        ((99, 100, 300, 84), False),
        ((10, 10, 0, 100), True),
        ((9, 9, 0, 100), False),
    ],
)
def test_what_a_policy_must_reach_where_agents_really_follow_it(
    standing: tuple[int, int, int, int], passes: bool
) -> None:
    assert BacktestStanding(*standing).passes is passes


def test_no_dollars_are_told_of_a_policy_that_fails_or_was_not_measured() -> None:
    rows = [(0, 0, 90_000, 0), (30, 90_000, 500, 0), (1_200, 0, 91_000, 0), (1_230, 91_000, 500, 0)]
    comparison = compare(counters(rows), ["compact-before-expiry:at=1000", "no-caching"])
    told = {outcome.policy.name: outcome.told is not None for outcome in comparison.outcomes}
    assert told.pop("no-caching")
    assert told
    assert not any(told.values())
    for name in told:
        record = next(record for record in comparison.records() if str(record["policy"]).startswith(name))
        assert (record["saving"], record["saving_low"], record["saving_high"]) == (None, None, None)
    assert fails("compact-before-expiry")
    assert not fails("marker-system")
    assert is_unproven("marker-system")
    assert not STANDINGS["compact-before-expiry"].passes
