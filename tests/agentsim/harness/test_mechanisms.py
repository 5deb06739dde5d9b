"""Each mechanism in a scenario small enough to work out by hand: a front of 7,000 tokens, a question of 1,000."""

import msgspec
import pytest

from agentsim.core.dates import SECOND
from agentsim.diagnose import diagnose
from agentsim.harness.agent_steps import ChangeSettings, Compact, FanOut, Restart, Tools, Wait
from agentsim.harness.plan import (
    CallStyle,
    Clearing,
    Compaction,
    Failures,
    FanOutStyle,
    Harness,
    Helper,
    Marks,
    Plan,
    Service,
)
from agentsim.harness.plan_run import Simulation, simulate
from agentsim.harness.prompt_part import PromptPart
from agentsim.harness.random_draws import FixedNumber
from agentsim.rules.providers import rules_for
from tests.agentsim.harness.plans import FRONT, START, answer, ask, plan, tool_round


def rows(simulation: Simulation) -> list[tuple[int, int, int]]:
    """Written, read and fresh, row by row."""
    assert simulation.ledger is not None
    return [(r.usage.write or 0, r.usage.read or 0, r.usage.fresh or 0) for r in simulation.ledger.rows]


def starts(simulation: Simulation) -> list[float]:
    """Seconds from the beginning at which requests started."""
    return [((request.start or 0) - START) / SECOND for request in simulation.session.requests]


def test_a_conversation_grows_by_answers_and_results():
    simulation = simulate(plan(ask(), tool_round(), tool_round(), answer()))
    assert rows(simulation) == [(8_000, 0, 0), (1_100, 8_000, 0), (1_100, 9_100, 0)]
    # An answer of 100 tokens takes 2 s and 1 s; a tool takes 1 s.
    assert starts(simulation) == [0, 4, 8]
    assert simulation.account.tasks == (11 * SECOND,)
    assert dict(simulation.account.stages) == {
        "first_token": 6 * SECOND,
        "output": 3 * SECOND,
        "tools": 2 * SECOND,
        "pauses": 0,
        "failures": 0,
    }


def test_what_is_not_read_takes_its_time():
    slow = Service(first_token=FixedNumber(SECOND), uncached_rate=1_000, output_rate=100)
    simulation = simulate(plan(ask(), tool_round(), answer(), service=slow))
    first, second = simulation.session.requests
    assert (first.first_token or 0) - (first.start or 0) == 9 * SECOND  # 1 s and 8,000 tokens
    assert (second.first_token or 0) - (second.start or 0) == 2_100_000_000  # 1 s and 1,100 tokens


def test_no_breakpoints_no_cache():
    simulation = simulate(plan(ask(), tool_round(), answer(), marks=Marks(ttl=0, subagent_ttl=0)))
    assert rows(simulation) == [(0, 0, 8_000), (0, 0, 9_100)]


def test_parallel_calls_are_one_round_and_single_ones_are_many():
    steps = (ask(), tool_round(calls=3, took=2), answer())
    parallel = simulate(plan(*steps))
    single = simulate(plan(*steps, harness=Harness(calls=CallStyle(style="one_per_round"))))
    assert len(parallel.session.requests) == 2
    assert len(single.session.requests) == 4
    # The tools run side by side, or one after the other.
    assert starts(parallel) == [0, 7]  # 2 s + 3 s of output + 2 s
    assert starts(single) == [0, 5, 10, 15]  # three times 2 s + 1 s + 2 s


def test_a_script_returns_only_what_it_selects():
    style = CallStyle(style="script", script=FixedNumber(50), selected=FixedNumber(200))
    simulation = simulate(plan(ask(), tool_round(calls=3), answer(), harness=Harness(calls=style)))
    assert rows(simulation)[1] == (250, 8_000, 0)
    assert simulation.account.kept_outside == 3 * 1_000 - 200


def test_a_tool_that_goes_and_one_that_comes():
    steps = (ask(), tool_round(), Tools(remove="read"), tool_round(), Tools(insert="grep", tokens=70, after="edit"))
    simulation = simulate(plan(*steps, answer()))
    assert rows(simulation) == [(8_000, 0, 0), (7_100, 0, 0), (8_270, 0, 0)]
    last = simulation.session.requests[-1].prompt
    assert last is not None
    assert [last[index].name for index in range(3)] == ["edit", "grep", "system"]
    assert [last[index].message for index in range(3)] == [0, 1, 0]
    assert [verdict.cause for verdict in diagnose(simulation.session).verdicts] == [None, "AS102", "AS101"]


def test_clearing_loses_what_stands_behind_the_first_cleared_result():
    # At 10,200 tokens the first one of two results goes, the last one stays.
    rule = Clearing(trigger=10_000, keep=1, stub=10)
    simulation = simulate(plan(ask(), tool_round(), tool_round(), answer(), harness=Harness(clearing=rule)))
    # Third request: 8,000 + 100 + 10 + 100 + 1,000; what stands in front of the result is read, up to the question.
    assert rows(simulation)[2] == (1_210, 8_000, 0)
    assert simulation.account.cleared == 990
    assert [event.kind for event in simulation.session.events] == ["prompt_submitted", "clearing"]
    assert diagnose(simulation.session).verdicts[2].cause == "AS122"


@pytest.mark.parametrize(
    ("change", "clears"),
    [({"at_least": 991}, False), ({"at_least": 990}, True), ({"protect": 1_100}, True), ({"protect": 1_101}, False)],
)
def test_clearing_waits_until_it_is_worth_it(change: dict[str, int], clears: bool):
    # Behind the first result stand a call of 100 and the second result of 1,000.
    rule = Clearing(trigger=10_000, keep=1, stub=10, **change)
    simulation = simulate(plan(ask(), tool_round(), tool_round(), answer(), harness=Harness(clearing=rule)))
    assert (simulation.account.cleared > 0) == clears


def test_compaction_on_the_warm_prefix():
    rule = Compaction(method="reuse_prefix", trigger=10_000, summary=FixedNumber(500), instruction=40)
    simulation = simulate(plan(ask(), tool_round(), tool_round(), answer(), harness=Harness(compaction=rule)))
    # 10,200 tokens are there when the third request is due: the summary request reads 9,100 of them.
    assert rows(simulation) == [(8_000, 0, 0), (1_100, 8_000, 0), (1_140, 9_100, 0), (500, FRONT, 0)]
    assert [request.purpose for request in simulation.session.requests] == ["main", "main", "summary", "main"]
    (one,) = simulation.account.compactions
    assert (one.before, one.after, one.later.requests) == (10_200, 7_500, 0)
    assert diagnose(simulation.session).verdicts[3].kind == "compaction"


def test_compaction_keeps_a_tail_that_begins_with_no_result():
    rule = Compaction(method="reuse_prefix", trigger=10_000, summary=FixedNumber(500), keep=1_050)
    steps = (ask(), tool_round(), tool_round(), answer())
    simulation = simulate(plan(*steps, harness=Harness(compaction=rule)))
    # The last 1,050 tokens would be the last result alone; its call does not fit, so nothing is kept.
    assert simulation.account.compactions[0].after == 7_500
    rule = msgspec.structs.replace(rule, keep=2_250)
    with_words = (ask(), tool_round(), answer(50), ask(30), answer())
    simulation = simulate(plan(*with_words, Compact(), ask(20), answer(), harness=Harness(compaction=rule)))
    # From the back: 20, 100, 30, 50 fit; so do the result of 1,000 and its call of 100, which then go all the same.
    assert simulation.account.compactions[0].after == 7_500 + 50 + 30 + 100 + 20


def test_a_person_can_ask_for_a_compaction():
    rule = Compaction(trigger=10**6, summary=FixedNumber(500))
    steps = (ask(), answer(), Compact(), ask(10), answer())
    assert simulate(plan(*steps, harness=Harness(compaction=rule))).account.compactions[0].before == 8_110


def test_a_restart_with_the_same_prefix_reads_everything():
    steps = (ask(), answer(), Restart(pause=60 * SECOND, version="2"), ask(10), answer())
    simulation = simulate(plan(*steps))
    assert rows(simulation)[1] == (110, 8_000, 0)
    assert [event.kind for event in simulation.session.events][1:3] == ["version_change", "resume"]
    assert simulation.session.requests[1].harness_version == "2"


def test_a_restart_that_rebuilds_the_system_prompt_loses_everything():
    steps = (ask(), answer(), Restart(pause=60 * SECOND, same_prefix=False), ask(10), answer())
    simulation = simulate(plan(*steps))
    assert rows(simulation)[1] == (8_110, 0, 0)
    assert diagnose(simulation.session).verdicts[1].cause == "AS110"


def test_switches_of_effort_and_model():
    steps = (
        ask(),
        tool_round(),
        ChangeSettings(values=(("effort", '"low"'),)),
        tool_round(),
        ChangeSettings(model="claude-sonnet-5"),
        answer(),
    )
    simulation = simulate(plan(*steps))
    # On this model, effort is in the key of the messages; another model has its own cache.
    assert rows(simulation)[1:] == [(2_100, FRONT, 0), (10_200, 0, 0)]
    assert [verdict.cause for verdict in diagnose(simulation.session).verdicts] == [None, "AS403", "AS404"]
    kinds = [event.kind for event in simulation.session.events]
    assert kinds == ["prompt_submitted", "effort_change", "model_change"]


FAN = FanOut(children=(10, 20, 30), text=50, shared=(PromptPart("map", 4_000),), reply=60)


def test_forks_share_the_parents_prompt():
    simulation = simulate(plan(ask(), FAN, answer()))
    # Parent 8,000; each child 50 + 4,000 + its own more; results of 60 each come back.
    assert rows(simulation) == [
        (8_000, 0, 0),
        *[(4_050 + own, 8_000, 0) for own in (10, 20, 30)],
        (50 + 180, 8_000, 0),
    ]
    assert [lane.id for lane in simulation.session.lanes] == ["main", "main/sub1", "main/sub2", "main/sub3"]


def test_fresh_subagents_share_only_their_own_front():
    style = FanOutStyle(fork=False, mark=True, wait="first_token")
    simulation = simulate(plan(ask(), FAN, answer(), harness=Harness(fan_out=style)))
    assert rows(simulation)[1:4] == [(4_010, FRONT, 0), (20, FRONT + 4_000, 0), (30, FRONT + 4_000, 0)]


def test_the_others_wait_for_the_first_and_no_longer_than_they_may():
    style = FanOutStyle(mark=True, wait="first_token")
    assert starts(simulate(plan(ask(), FAN, answer(), harness=Harness(fan_out=style))))[1:4] == [2.5, 4.5, 4.5]
    style = FanOutStyle(mark=True, wait="end")
    assert starts(simulate(plan(ask(), FAN, answer(), harness=Harness(fan_out=style))))[1:4] == [2.5, 5.1, 5.1]
    style = FanOutStyle(mark=True, wait="first_token", wait_at_most=SECOND)
    late = simulate(plan(ask(), FAN, answer(), harness=Harness(fan_out=style)))
    assert starts(late)[1:4] == [2.5, 3.5, 3.5]
    assert rows(late)[2] == (4_070, 8_000, 0)  # too early: A's entry is not readable yet


def test_no_more_run_at_a_time_than_the_limit():
    simulation = simulate(plan(ask(), FAN, answer(), harness=Harness(fan_out=FanOutStyle(limit=1))))
    assert starts(simulation)[1:4] == [2.5, 5.1, 7.7]  # each takes 2 s and 0.6 s


def failing(**rule: int) -> Failures:
    return Failures(**{"attempts": 3, "timeout": 30 * SECOND, **rule})  # type: ignore[arg-type]


def test_refusals_cost_time_and_no_money():
    # Every attempt is refused: the task ends after three, with two waits of 1 s and 2 s between them.
    simulation = simulate(plan(ask(), answer(), failures=failing(overloaded=1_000_000)))
    account = simulation.account
    assert (account.finished, account.refused, account.total.requests) == (0, 3, 0)
    assert dict(account.stages)["failures"] == 3 * SECOND
    asked = failing(rate_limited=1_000_000)
    assert dict(simulate(plan(ask(), answer(), failures=asked)).account.stages)["failures"] == 2 * 20 * SECOND


def seed_with_one_timeout(rule: Failures) -> Plan:
    for seed in range(1_000):
        candidate = plan(ask(), answer(), failures=rule, seed=seed)
        account = simulate(candidate).account
        if account.timed_out == 1 and account.finished == 1:
            return candidate
    raise AssertionError("no seed has exactly one timeout")


def test_a_retry_of_the_same_prompt_reads_what_the_lost_answer_wrote():
    simulation = simulate(seed_with_one_timeout(failing(timed_out=300_000)))
    assert rows(simulation) == [(8_000, 0, 0), (0, 8_000, 0)]
    assert [request.purpose for request in simulation.session.requests] == ["main", "retry"]
    assert starts(simulation) == [0, 31]  # 30 s until the harness notices, and 1 s
    assert simulation.account.of("retry").requests == 1


def test_a_retry_that_begins_differently_writes_everything_again():
    rule = msgspec.structs.replace(failing(timed_out=300_000), retry="new_prefix")
    assert rows(simulate(seed_with_one_timeout(rule))) == [(8_000, 0, 0), (8_000, 0, 0)]


def test_a_helper_is_asked_once_a_turn():
    helper = Helper(model="claude-haiku-4-5", tokens=300, output=10)
    simulation = simulate(plan(ask(), answer(), ask(), answer(), harness=Harness(helper=helper)))
    asked = [request for request in simulation.session.requests if request.purpose == "helper"]
    assert [request.usage.fresh for request in asked if request.usage] == [300, 300]
    assert {request.lane for request in asked} == {"main/helper"}


def test_more_breakpoints_than_the_provider_takes_end_the_task():
    marks = Marks(at=("tools", "system", "previous", "last"))
    style = FanOutStyle(mark=True)
    simulation = simulate(plan(ask(), FAN, answer(), marks=marks, harness=Harness(fan_out=style)))
    assert simulation.account.of("subagent").total_input == 0  # five breakpoints: refused


def test_waiting_is_no_turn():
    simulation = simulate(plan(ask(), answer(), Wait(600 * SECOND), ask(), answer()))
    assert simulation.account.turns == (3 * SECOND, 3 * SECOND)
    assert rows(simulation)[1][1] == 0  # ten minutes are longer than five


def test_a_wrong_provider_is_told():
    with pytest.raises(ValueError, match="no rules are known"):
        simulate(plan(ask(), answer(), provider="nobody", model="other"))


def test_a_provider_that_keeps_every_prompt_by_itself():
    slow = Service(first_token=FixedNumber(SECOND), uncached_rate=1_000, output_rate=100)
    simulation = simulate(plan(ask(), tool_round(), answer(), provider="openai", model="gpt-5.1", service=slow))
    _, second = simulation.session.requests
    # 8,000 tokens seen before, counted in multiples of 128: 62 times 128 are 7,936. Nothing is billed for writing.
    assert rows(simulation) == [(0, 0, 8_000), (0, 7_936, 9_100 - 7_936)]
    assert (second.first_token or 0) - (second.start or 0) == SECOND + (9_100 - 7_936) * SECOND // 1_000


@pytest.mark.parametrize(
    ("provider", "model"),
    [("anthropic", "claude-opus-4-8"), ("openai", "gpt-5.1"), ("deepseek", "deepseek-chat"), ("vllm", "m"),
     ("sglang", "m"), ("tensorrt-llm", "m"), ("llamacpp", "m"), ("ollama", "m")],
)  # fmt: skip
def test_the_first_token_waits_for_what_is_not_cached_whoever_keeps_the_cache(provider, model):
    service = Service(first_token=FixedNumber(SECOND), uncached_rate=1_000, output_rate=100)
    given = {"provider": provider, "model": model, "service": service}
    ledger = simulate(plan(ask(), tool_round(), tool_round(), answer(), **given), price=False).ledger
    assert ledger is not None
    for row in ledger.rows:
        assert row.first_token is not None
        assert row.start is not None
        uncached = (row.usage.total_input or 0) - (row.usage.read or 0)
        closing = rules_for(provider, model, row.start).closing
        assert row.first_token - row.start == SECOND + (uncached - closing) * SECOND // 1_000
    assert all((row.usage.read or 0) > 6_000 for row in ledger.rows[2:])
