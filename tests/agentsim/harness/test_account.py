"""Sums, spreads, estimates: small functions with visible arithmetic."""

from fractions import Fraction

import pytest

from agentsim.core.dates import SECOND
from agentsim.core.sums import Sums
from agentsim.harness.plan import Population
from agentsim.harness.plan_run import simulate
from agentsim.harness.random_draws import FixedNumber
from agentsim.harness.repeated_trials import estimate, run_trial
from agentsim.harness.step_sources import GeneratedTasks
from agentsim.harness.task_account import TaskAccount, spread, together
from tests.agentsim.harness.plans import answer, ask, plan, tool_round


def test_a_spread_names_the_typical_and_the_slow():
    found = spread(range(1, 101))
    assert found is not None
    assert (found.count, found.typical, found.tail, found.largest) == (100, 50, 95, 100)
    one = spread([7])
    assert one is not None
    assert (one.count, one.typical, one.tail, one.largest) == (1, 7, 7, 7)
    assert spread([]) is None


def test_the_tail_is_a_value_that_occurred():
    found = spread([1, 2, 3, 4, 1_000])
    assert found is not None
    assert (found.typical, found.tail) == (3, 1_000)  # the fifth of five is the 95 % by nearest rank


def test_an_estimate_by_students_t():
    # 2, 4, 6, 8: mean 5, variance 20/3, standard error sqrt(5/3) = 1.29099, t(3) = 3.182: 4.108.
    found = estimate([2_000, 4_000, 6_000, 8_000])
    assert (found.mean, found.half) == (5_000, 4_108)
    assert estimate([9]).half is None
    assert estimate([5, 5, 5]).half == 0


def test_few_degrees_of_freedom_take_the_wider_quantile():
    values = [0, 10_000] * 18  # 35 degrees of freedom: those of 30 count, 2.042
    # Variance 36 * 5,000² / 35; its root over 6 is 845.15.
    assert estimate(values).half == round(2.042 * 845.154)


def test_cost_per_accepted_task():
    def account(cost: int, accepted: int | None, unpriced: int = 0) -> TaskAccount:
        total = Sums(requests=1, cost=cost, unpriced=unpriced)
        empty = simulate(plan(ask(), answer())).account
        return TaskAccount(
            **{
                **{name: getattr(empty, name) for name in TaskAccount.__struct_fields__},
                "total": total,
                "accepted": accepted,
            }
        )

    assert account(10, 4).cost_per_accepted == round(Fraction(10, 4) + Fraction(1, 100))  # 2.5 is rounded up
    assert account(10, 0).cost_per_accepted is None
    assert account(10, None).cost_per_accepted is None
    assert account(10, 4, unpriced=1).cost_per_accepted is None


def test_acceptance_is_never_measured_unless_it_is_given():
    assert simulate(plan(ask(), answer())).account.accepted is None
    assert simulate(plan(ask(), answer(), passes=1_000_000)).account.accepted == 1
    assert simulate(plan(ask(), answer(), passes=0)).account.accepted == 0


def test_a_share_of_tasks_is_accepted():
    source = GeneratedTasks(rounds=FixedNumber(0))
    account = simulate(plan(source=source, population=Population(agents=2_000), passes=700_000), keep=False).account
    assert 1_330 < (account.accepted or 0) < 1_470  # 1,400 expected, a standard deviation is 20


def test_several_runs_are_added_up():
    trial = run_trial(lambda seed: plan(ask(), tool_round(), answer(), seed=seed), [1, 2, 3])
    whole, first = trial.whole, trial.accounts[0]
    assert trial.seeds == (1, 2, 3)
    assert whole.total.requests == 3 * first.total.requests == 6
    assert whole.total.cost == 3 * first.total.cost
    assert whole.tasks == first.tasks * 3
    assert together([first]) is first
    found = trial.estimate(lambda account: account.total.cost)
    assert found is not None
    assert (found.mean, found.half) == (first.total.cost, 0)


def test_peaks_include_subagents_and_turns_are_timed():
    account = simulate(plan(ask(), tool_round(took=5), answer(), ask(10, pause=60), answer())).account
    # 2 s + 1 s, a tool of 5 s, 2 s + 1 s; then 2 s + 1 s after a pause.
    assert account.turns == (11 * SECOND, 3 * SECOND)
    assert account.tasks == (74 * SECOND,)
    assert account.peaks == (8_000 + 1_100 + 100 + 10,)


@pytest.mark.parametrize("price", [True, False])
def test_without_prices_nothing_costs_nothing(price: bool):
    total = simulate(plan(ask(), answer()), price=price).account.total
    assert (total.cost > 0) == price
    assert total.unpriced == (0 if price else 1)
