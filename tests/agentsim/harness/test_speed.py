"""What a simulated request costs does not depend on how many there are."""

import time

from agentsim.core.dates import SECOND
from agentsim.harness.plan import Plan, Population
from agentsim.harness.plan_run import simulate
from agentsim.harness.random_draws import FixedNumber
from agentsim.harness.step_sources import GeneratedTasks
from tests.agentsim.harness.plans import plan


def day(agents: int, rounds: int) -> Plan:
    source = GeneratedTasks(turns=FixedNumber(1), rounds=FixedNumber(rounds - 1), result=FixedNumber(500))
    return plan(source=source, population=Population(agents=agents, gap=FixedNumber(10 * SECOND)))


def microseconds(made: Plan) -> float:
    """Processor time for each request, the better of two runs."""
    best = float("inf")
    for _ in range(2):
        begun = time.process_time()
        requests = simulate(made, keep=False).account.total.requests
        best = min(best, (time.process_time() - begun) * 1e6 / requests)
    return best


def test_many_agents_cost_as_much_as_few():
    microseconds(day(5, 20))  # loads prices and rules
    few, many = microseconds(day(50, 20)), microseconds(day(400, 20))
    assert many < 2 * few


def test_a_long_conversation_costs_as_much_as_a_short_one():
    microseconds(day(5, 20))
    short, long = microseconds(day(50, 20)), microseconds(day(1, 2_500))
    assert long < 2 * short
