"""Nothing that exists only to make the recorded run come out is immune to a policy: each thing, and what undoes it.

What an entry of somebody else is stays as it is under our policies, except that without markers nothing of it is read.
"""

from __future__ import annotations

from typing import get_args

import pytest

from agentsim.core.session import Session
from agentsim.whatif.policies import policy
from agentsim.whatif.policy_simulation import Case, prepare, simulate, under
from agentsim.whatif.unknown_facts import WORLDS, Unknowns
from agentsim.whatif.unlogged_calls import UNLOGGED
from agentsim.whatif.world_facts import FactKind
from tests.agentsim.whatif.test_rebuild import counters

UNLOGGED_CALL = counters([(0, 0, 0, 30_000), (100, 30_000, 0, 2_000), (2_000, 33_000, 0, 500)])
"""The third row read 1,000 tokens more than the second one left: a call that no log shows wrote them."""
BEGINS_WARM = counters([(0, 30_000, 0, 2_000), (100, 32_000, 0, 2_000)])
"""The first row read what no row had written."""
KEPT_LONGER = counters([(0, 0, 30_000, 0), (100, 30_000, 2_000, 0), (404, 32_000, 100, 0)])
"""The third row read an entry four seconds after its lifetime."""
EXPIRED = counters([(0, 0, 30_000, 0), (900, 0, 32_000, 0)])
"""The second row lost an entry whose lifetime had ended."""

THINGS: dict[str, tuple[Session, str, str]] = {
    "unlogged": (UNLOGGED_CALL, "ttl-5m", "a shorter lifetime ends what it wrote before the pause is over"),
    "outside": (BEGINS_WARM, "no-caching", "without markers nothing is read, whoever wrote it"),
    "kept": (KEPT_LONGER, "no-caching", "what is not written is not kept"),
    "lost": (EXPIRED, "ttl-1h", "what had expired is there where it lives longer"),
}


def reads(case: Case, name: str | None, unknown: Unknowns | None = None) -> list[int]:
    """What each logged row reads."""
    session = case.session if name is None else under(case, [policy(name)])[0]
    rows = simulate(case, session) if unknown is None else simulate(case, session, unknown)
    return [row.usage.read or 0 for row in rows if row.request.counted]


def test_every_kind_of_fact_is_tried() -> None:
    assert set(get_args(FactKind)) | {"unlogged"} == set(THINGS)


@pytest.mark.parametrize("thing", sorted(THINGS))
def test_a_policy_undoes_it(thing: str) -> None:
    session, name, _ = THINGS[thing]
    case = prepare(session)
    logged = [request.usage.read or 0 for request in session.requests if request.usage is not None]
    kinds = {fact.kind for facts in case.world.facts.values() for fact in facts}
    calls = [request for request in case.session.requests if request.id.endswith(UNLOGGED)]
    assert thing in kinds or (thing == "unlogged" and calls) or thing == "lost"
    assert reads(case, None) == logged
    assert reads(case, name) != logged
    if name != "ttl-1h":
        assert sum(reads(case, name)) < sum(logged)
    else:
        assert sum(reads(case, name)) > sum(logged)


def test_a_log_that_begins_warm_does_not_say_what_a_shorter_lifetime_would_have_left() -> None:
    case = prepare(BEGINS_WARM)
    found = [reads(case, "ttl-5m", world)[0] for world in WORLDS]
    assert sorted(set(found)) == [0, 30_000]  # both are tried, and the saving is an interval
