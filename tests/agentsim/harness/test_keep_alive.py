"""Keep-alive in a running harness, against the policy that rewrites a recorded session in the same way."""

import pytest

from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.simulate import scan
from agentsim.core.dates import SECOND
from agentsim.core.session import Session
from agentsim.harness.agent_steps import Restart, Step, Wait
from agentsim.harness.plan import Harness, KeepAlivePlan, Marks, Plan
from agentsim.harness.plan_run import Simulation, simulate
from agentsim.whatif.policies import parse
from tests.agentsim.harness.plans import START, answer, ask, plan, tool_round

PRESETS = ["keep-alive", "keep-alive-priced", "keep-alive-three", "keep-alive-steady", "keep-alive-hour"]


def kept(preset: str | None, *steps: Step, ttl: int = 300) -> Plan:
    harness = Harness(keep_alive=None if preset is None else KeepAlivePlan(preset=preset))
    return plan(*steps, harness=harness, marks=Marks(ttl=ttl))


def refreshes(session: Session) -> list[float]:
    return [((r.start or 0) - START) / SECOND for r in session.requests if r.purpose == "keep_alive"]


def long_day(size: int) -> list[Step]:
    """Pauses within and between turns, shorter and longer than lifetimes and limits."""
    return [
        ask(size),
        tool_round(took=400),
        answer(),
        ask(100, pause=700),
        tool_round(took=4_000),
        answer(),
        ask(100, pause=2_400),
        answer(),
        ask(100, pause=200),
        answer(),
    ]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("ttl", [300, 3_600])
@pytest.mark.parametrize("size", [20_000, 200_000])
def test_the_timer_does_what_the_policy_does_to_a_recording(preset: str, ttl: int, size: int):
    live = simulate(kept(preset, *long_day(size), ttl=ttl))
    recorded = simulate(kept(None, *long_day(size), ttl=ttl)).session
    policy = parse(preset)
    rewritten = recorded if policy.applies(recorded) else policy.rewrite(recorded)
    assert refreshes(live.session) == refreshes(rewritten)
    usages = [row.usage for row in scan(rewritten, ModeledProvider()).rows]
    assert live.ledger is not None
    assert [row.usage for row in live.ledger.rows] == usages


def test_a_refresh_reads_everything_and_writes_nothing():
    simulation = simulate(kept("keep-alive-steady", ask(150_000), answer(), ask(100, pause=600), answer()))
    sums = simulation.account.of("keep_alive")
    # The answer takes 3 s; 603 s after its request began the next one comes: two refreshes at 270 s and 540 s.
    assert refreshes(simulation.session) == [270, 540]
    assert (sums.requests, sums.read, sums.written, sums.fresh, sums.output) == (2, 2 * 157_000, 0, 0, 2)
    assert simulation.session.requests[-1].usage is not None
    assert simulation.session.requests[-1].usage.read == 157_000


def test_a_real_request_sets_the_timer_anew():
    steps = (ask(150_000), tool_round(took=200), tool_round(took=200), answer())
    assert refreshes(simulate(kept("keep-alive-steady", *steps)).session) == []


def test_timers_that_come_too_late_are_dropped():
    # At 270 s of 300, half of what is left is 15 s.
    steps = (ask(150_000), answer(), ask(100, pause=600), answer())
    in_time = simulate(kept("keep-alive-steady:late=15", *steps))
    too_late = simulate(kept("keep-alive-steady:late=16", *steps))
    assert refreshes(in_time.session) == [285, 570]
    assert refreshes(too_late.session) == []
    assert (in_time.account.dropped_timers, too_late.account.dropped_timers) == (0, 2)


def test_closing_the_harness_ends_it():
    closed = simulate(kept("keep-alive-steady", ask(150_000), answer(), Restart(pause=600 * SECOND), ask(), answer()))
    assert refreshes(closed.session) == []
    opened = simulate(kept("keep-alive-steady", ask(150_000), answer(), Wait(600 * SECOND), ask(), answer()))
    assert refreshes(opened.session) == [270, 540]


def test_nothing_is_refreshed_after_the_end():
    simulation: Simulation = simulate(kept("keep-alive-steady", ask(150_000), answer()))
    assert [request.purpose for request in simulation.session.requests] == ["main"]
