"""How far the best combination that is found is from the best that there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from agentsim.core.session import Session
from agentsim.whatif.comparison import compare
from agentsim.whatif.policies import Policy, parse
from agentsim.whatif.policy_simulation import add_up, prepare, simulate, under
from tests.agentsim.whatif.test_rebuild import counters

POLICIES = ("ttl-5m", "ttl-1h", "keep-alive", "keep-alive-three", "no-caching", "compact-earlier:at=40000")
MOST_REGRET = (1, 200)
"""Half a percent of the bill."""

rows = st.lists(
    st.tuples(st.sampled_from([20, 200, 400, 900, 2_000, 4_000]), st.integers(1_000, 20_000), st.booleans()),
    min_size=2,
    max_size=9,
)


def grown(drawn: Sequence[tuple[int, int, bool]]) -> Session:
    """A conversation that grows; what a pause outlived is written again."""
    hour = drawn[0][2]
    now, total, found = 0, 0, []
    for gap, more, _ in drawn:
        now += gap
        read = total if gap < (3_600 if hour else 300) else 0
        written = total + more - read
        found.append((now, read, 0 if hour else written, written if hour else 0))
        total += more
    return counters(found)


def choices(policies: Sequence[Policy]) -> Iterator[tuple[Policy, ...]]:
    """Every set of them in which no two decide the same."""
    for count in range(len(policies) + 1):
        for chosen in combinations(policies, count):
            slots = [slot for policy in chosen for slot in policy.slots]
            if len(slots) == len(set(slots)):
                yield chosen


@settings(max_examples=10, deadline=None, phases=(Phase.explicit, Phase.generate))
@example([(20, 1_000, False)] * 3 + [(4_000, 1_000, False)])  # an hour and refreshes save together and not alone
@given(rows)
def test_the_best_combination_is_within_half_a_percent_of_the_best_that_there_is(
    drawn: list[tuple[int, int, bool]],
) -> None:
    session = grown(drawn)
    combined = compare(session, POLICIES, combine=True).combined
    assert combined is not None
    case = prepare(session)
    costs = []
    for chosen in choices([parse(name) for name in POLICIES]):
        rewritten, applied = under(case, chosen)
        costs.append(add_up(simulate(case, rewritten)).cost if applied else case.sums.cost)
    assert (combined.sums.cost - min(costs)) * MOST_REGRET[1] <= case.sums.cost * MOST_REGRET[0]
