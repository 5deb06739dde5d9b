"""What holds for every simulation, whatever its steps, mechanisms and times."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from unittest.mock import patch

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from agentsim.cache.bounded_store import ForgettingStore
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.simulate import replay, scan
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Breakpoint
from agentsim.core.session import Request, Row, Session
from agentsim.harness.agent_steps import ChangeSettings, Child, Compact, FanOut, LoadTool, Restart, Step, Wait
from agentsim.harness.plan import (
    CallStyle,
    Clearing,
    Compaction,
    Failures,
    FanOutStyle,
    Harness,
    KeepAlivePlan,
    Marks,
    Plan,
    ToolLoading,
)
from agentsim.harness.plan_run import Simulation, simulate
from agentsim.harness.prompt_part import PromptPart
from agentsim.harness.random_draws import FixedNumber
from agentsim.rules.prices import RateCard, cost
from tests.agentsim.harness.plans import answer, ask, plan, tool_round

PAUSES = st.sampled_from([0, 1, 30, 200, 299, 300, 301, 1_000, 3_599, 3_700])
SIZES = st.integers(0, 40_000)

HARNESSES = st.builds(
    Harness,
    tools=st.builds(
        ToolLoading,
        strategy=st.sampled_from(["rewrite", "deferred", "deferred_late", "fixed", "all"]),
        search=st.sampled_from([0, 60]),
    ),
    calls=st.builds(CallStyle, style=st.sampled_from(["parallel", "one_per_round", "script"])),
    fan_out=st.builds(
        FanOutStyle,
        fork=st.booleans(),
        mark=st.booleans(),
        wait=st.sampled_from(["none", "first_token", "end"]),
        stagger=st.sampled_from([0, SECOND // 2]),
        limit=st.sampled_from([None, 1, 2]),
        model=st.sampled_from([None, "claude-haiku-4-5"]),
    ),
    compaction=st.none()
    | st.builds(
        Compaction,
        method=st.sampled_from(["reuse_prefix", "separate"]),
        trigger=st.just(60_000),
        keep=st.sampled_from([0, 5_000]),
        summary=st.just(FixedNumber(1_500)),
        model=st.sampled_from([None, "claude-haiku-4-5"]),
    ),
    clearing=st.none() | st.builds(Clearing, trigger=st.just(40_000), keep=st.integers(0, 3), at_least=st.just(5_000)),
    keep_alive=st.none()
    | st.sampled_from(["keep-alive-steady", "keep-alive-priced"]).map(lambda p: KeepAlivePlan(preset=p)),
)

CHILDREN = st.builds(
    Child,
    own=st.integers(1, 500),
    steps=st.lists(
        st.just(tool_round())
        | st.just(LoadTool(name="inside", tokens=300))
        | st.integers(1, 3).map(lambda n: FanOut(children=(50,) * n, reply=90)),
        max_size=2,
    ).map(tuple),
    reply=st.integers(1, 900),
    model=st.sampled_from([None, "claude-sonnet-4-5"]),
)

FAILURES = st.none() | st.builds(
    Failures,
    overloaded=st.sampled_from([0, 100_000]),
    timed_out=st.sampled_from([0, 100_000]),
    timeout=st.just(40 * SECOND),
    retry=st.sampled_from(["same_prompt", "new_prefix"]),
)


class Days(RuleBasedStateMachine):
    """Writes a day of work, step by step; each step is followed by a simulation of the day so far."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = [ask(3_000)]
        self.given: dict[str, object] = {}

    @initialize(harness=HARNESSES, failures=FAILURES, seed=st.integers(0, 50), previous=st.booleans())
    def begin(self, harness: Harness, failures: Failures | None, seed: int, previous: bool) -> None:
        at = ("system", "previous", "last") if previous else ("system", "last")
        self.given = {"harness": harness, "failures": failures, "seed": seed, "marks": Marks(at=at)}  # type: ignore[arg-type]

    @rule(size=SIZES, took=PAUSES, calls=st.integers(1, 12))
    def works(self, size: int, took: int, calls: int) -> None:
        self.steps.append(tool_round(result=size // calls, took=took, calls=calls))
        self.check()

    @rule(size=SIZES, pause=PAUSES)
    def is_asked(self, size: int, pause: int) -> None:
        self.steps += [answer(), ask(size, pause=pause)]
        self.check()

    @rule(children=st.lists(st.integers(1, 500) | CHILDREN, min_size=1, max_size=4), brief=SIZES)
    def sends_subagents(self, children: list[int | Child], brief: int) -> None:
        step = FanOut(children=tuple(children), text=50, shared=(PromptPart("brief", brief),), rounds=(tool_round(),))
        self.steps.append(step)
        self.check()

    @rule(
        step=st.one_of(
            st.integers(1, 900).map(lambda size: LoadTool(name=f"tool {size}", tokens=size)),
            st.sampled_from(["low", "high"]).map(lambda e: ChangeSettings(values=(("effort", f'"{e}"'),))),
            PAUSES.map(lambda pause: Restart(pause=pause * SECOND, same_prefix=pause % 2 == 0)),
            PAUSES.map(lambda pause: Wait(pause * SECOND)),
            st.just(Compact()),
        )
    )
    def something_changes(self, step: Step) -> None:
        self.steps += [step, tool_round()]
        self.check()

    def check(self) -> None:
        made = plan(*self.steps, answer(), **self.given)
        simulation = simulate(made)
        check_rows(simulation)
        check_lifetimes(simulation)
        check_sums(simulation)
        check_paths(simulation)
        check_ttl(simulation.session)


def rows_of(simulation: Simulation) -> tuple[Row, ...]:
    assert simulation.ledger is not None
    return simulation.ledger.rows


def check_rows(simulation: Simulation) -> None:
    """Written + read + fresh is the prompt, and times go forward."""
    last = 0
    for row in rows_of(simulation):
        prompt = row.request.prompt
        assert prompt is not None
        total = (row.usage.write or 0) + (row.usage.read or 0) + (row.usage.fresh or 0)
        assert total == prompt.tokens == row.usage.total_input
        assert row.start is not None
        assert row.first_token is not None
        assert row.end is not None
        assert last <= row.start <= row.first_token <= row.end
        last = row.start


def check_lifetimes(simulation: Simulation) -> None:
    """Nothing is read before the request that wrote it began to be answered, nor 300 s after its last use."""
    requests = {request.id: request for request in simulation.session.requests}
    reads = {row.request.id: row.usage.read or 0 for row in rows_of(simulation)}
    order = [request.id for request in simulation.session.requests]
    for link in simulation.links:
        writer, reader = requests[link.writer], requests[link.reader]
        assert (writer.first_token or 0) <= (reader.start or 0)
        length = length_of(reader, reads[reader.id])
        uses = [
            requests[name].start or 0
            for name in order[: order.index(reader.id)]
            if used(requests[name], reader, length, reads[name], name == writer.id)
        ]
        assert (reader.start or 0) - max(uses) <= 300 * SECOND


def length_of(request: Request, tokens: int) -> int:
    """How many blocks the tokens that a request read make up."""
    assert request.prompt is not None
    return next(n for n in range(len(request.prompt) + 1) if request.prompt.tokens_until(n) == tokens)


def used(request: Request, reader: Request, length: int, read: int, wrote: bool) -> bool:
    """Whether a request wrote the prefix that the reader read, or read at least so much of the same prompt."""
    assert request.prompt is not None
    assert reader.prompt is not None
    if request.prompt.common_length(reader.prompt) < length:
        return False
    ends = {marker.position + 1 for marker in request.prompt.breakpoints}
    return wrote or length in ends or read >= request.prompt.tokens_until(length)


def check_sums(simulation: Simulation) -> None:
    """The account is the sum of its rows, and of its purposes."""
    account, rows = simulation.account, rows_of(simulation)
    assert account.total.requests == len(rows)
    assert account.total.read == sum(row.usage.read or 0 for row in rows)
    assert account.total.written == sum(row.usage.write or 0 for row in rows)
    assert account.total.cost == sum(row.cost or 0 for row in rows)
    assert account.total.cost == sum(sums.cost for _, sums in account.purposes)
    for one in account.compactions:
        assert one.summary.requests == 1
        assert one.first.requests <= 1
        assert one.after <= one.before + 1_500


def check_paths(simulation: Simulation) -> None:
    """The clock and the sorted scan give the rows that the simulation had, and so does a provider that forgets."""
    session = simulation.session
    assert replay(session, ModeledProvider()).rows == scan(session, ModeledProvider()).rows == rows_of(simulation)
    with patch("agentsim.cache.modeled_provider.ForgettingStore", partial(ForgettingStore, least_changes=2)):
        assert scan(session, ModeledProvider(forgets=True)).rows == rows_of(simulation)


def check_ttl(session: Session) -> None:
    """A longer lifetime lowers no read; a lifetime of nothing is no cache."""
    reads = {ttl: [row.usage.read or 0 for row in scan(with_ttl(session, ttl), ModeledProvider()).rows] for ttl in TTLS}
    for shorter, longer in pairwise(TTLS):
        assert all(a <= b for a, b in zip(reads[shorter], reads[longer], strict=True))
    assert not any(reads[0])


TTLS = (0, 60, 300, 900, 3_600)


def with_ttl(session: Session, ttl: int) -> Session:
    """The session with all breakpoints at one lifetime."""
    requests = []
    for request in session.requests:
        assert request.prompt is not None
        markers = [Breakpoint(marker.position, ttl) for marker in request.prompt.breakpoints]
        requests.append(msgspec.structs.replace(request, prompt=request.prompt.with_breakpoints(markers)))
    return msgspec.structs.replace(session, requests=tuple(requests))


TestDays = Days.TestCase
TestDays.settings = settings(
    max_examples=40, stateful_step_count=8, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

PRICES = st.builds(
    RateCard,
    fresh=st.integers(1, 10**8),
    output=st.integers(0, 10**8),
    read=st.integers(0, 10**8),
    write_short=st.integers(0, 10**8),
    write_long=st.integers(0, 10**8),
)


def day() -> Plan:
    return plan(ask(), tool_round(), answer(), ask(pause=400), tool_round(), answer())


@given(PRICES, PRICES, st.integers(0, 1_000))
def test_cost_is_linear_in_prices(one: RateCard, other: RateCard, factor: int):
    usages = [row.usage for row in rows_of(simulate(day()))]

    def bill(card: RateCard) -> int:
        costs = [cost(card, usage) for usage in usages]
        return sum(known for known in costs if known is not None)

    def combined(card: RateCard) -> RateCard:
        names = [name for name in RateCard.__struct_fields__ if name != "storage"]  # these usages store nothing
        return RateCard(**{name: getattr(one, name) + factor * getattr(card, name) for name in names})

    assert bill(combined(other)) == bill(one) + factor * bill(other)


def test_a_lifetime_of_nothing_is_no_cache():
    simulation = simulate(msgspec.structs.replace(day(), marks=Marks(ttl=0, subagent_ttl=0)))
    assert all(not row.usage.read and not row.usage.write for row in rows_of(simulation))


def test_these_checks_can_fail():
    session = simulate(day()).session
    reads = {
        ttl: sum(row.usage.read or 0 for row in scan(with_ttl(session, ttl), ModeledProvider()).rows) for ttl in TTLS
    }
    assert 0 == reads[0] < reads[300] < reads[900]  # a pause of 400 s is survived by 900 s only
