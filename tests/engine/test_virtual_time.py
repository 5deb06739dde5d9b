"""Requests in the engine together, on a clock that is moved by what steps take."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from typing import Any

import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.cache.simulate import arrivals_of
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request
from agentsim.engine.engine_backend import EngineBackend, JoinedRequest
from agentsim.engine.inference_engine import Engine
from agentsim.engine.trace_tokens import DrawnTokens
from agentsim.engine.virtual_time import EngineProcess, VirtualClock
from tests.engine.stub import StubModel
from tests.engine.test_trace_tokens import block

STEP = 100
PAGE = 4


def together(
    arrivals: list[tuple[int, list[tuple[str, int]]]], *, step_tokens: int = 1_000, new_tokens: int = 3
) -> list[JoinedRequest]:
    """Prompts of named blocks that arrive at their times; every step takes 100 ns."""
    ticks = itertools.count(0, STEP)
    clock = VirtualClock(lambda: next(ticks))
    engine = Engine(
        StubModel(), pages=600, page_size=PAGE, keep_generated=False, step_tokens=step_tokens, step_sequences=64,
        join_at_once=True, clock=lambda: clock.now, paranoid=True,
    )  # fmt: skip
    backend = EngineBackend(engine, DrawnTokens(101), new_tokens=new_tokens, stop=False)
    environment = simpy.Environment()
    process = EngineProcess(environment, engine, clock)
    joined: list[JoinedRequest] = []
    requests = [
        Request(
            id=f"r{n}",
            lane=f"l{n}",
            model="m",
            start=at,
            prompt=Prompt.of([block(name, size) for name, size in blocks]),
        )
        for n, (at, blocks) in enumerate(arrivals)
    ]

    def arrive() -> Generator[simpy.Event, Any, None]:
        for start, request in arrivals_of(requests):
            yield environment.timeout(start - process.now)
            joined.append(backend.join(process, backend.look_up(request, process.now)))

    environment.process(arrive())
    environment.run()
    assert all(one.served is not None for one in joined)
    return joined


HEAD, OWN = ("head", 40), ("own", 8)


def reads(joined: list[JoinedRequest]) -> list[int | None]:
    return [None if one.served is None else one.served.usage.read for one in joined]


@pytest.mark.parametrize("step_tokens", [1_000, 16, 7])
def test_what_arrives_together_reads_nothing_of_each_other(step_tokens: int) -> None:
    asked = [(0, [HEAD, (f"own {n}", 8)]) for n in range(3)]
    assert reads(together(asked, step_tokens=step_tokens)) == [0, 0, 0]


def test_a_request_joins_at_the_first_step_after_its_arrival() -> None:
    first, second = together([(0, [HEAD, OWN]), (150, [HEAD, OWN])])
    # The first one takes three steps: its prompt and three tokens. The second one comes while the second step runs.
    assert (first.timed.joined, first.timed.first_token, first.timed.end) == (0, 100, 300)
    assert (second.timed.joined, second.timed.first_token, second.timed.end) == (200, 300, 500)
    assert reads([first, second]) == [0, 44]
    assert second.served is not None
    assert (second.served.first_token, second.served.end) == (300, 500)
    assert second.served.hit_owner == "r0"


@pytest.mark.parametrize(("at", "read"), [(0, 0), (1, 16), (100, 16), (101, 32), (201, 44), (999, 44)])
def test_a_block_can_be_read_once_it_is_computed(at: int, read: int) -> None:
    # 16 tokens a step: 16, 32 and 48 of them are there after 100, 200 and 300 ns.
    first, second = together([(0, [HEAD, OWN]), (at, [HEAD, OWN])], step_tokens=16)
    assert reads([first, second]) == [0, read]
    assert first.timed.computed[:12] == [100] * 4 + [200] * 4 + [first.timed.computed[8]] * 4


@settings(max_examples=40)
@given(
    arrivals=st.lists(
        st.tuples(st.integers(0, 900), st.lists(st.tuples(st.sampled_from("abc"), st.just(9)), min_size=1, max_size=6)),
        min_size=1,
        max_size=6,
    ),
    step_tokens=st.sampled_from([1_000, 16, 5]),
)
def test_nobody_reads_what_was_not_there_when_it_joined(
    arrivals: list[tuple[int, list[tuple[str, int]]]], step_tokens: int
) -> None:
    joined = together(arrivals, step_tokens=step_tokens)
    assert len(joined) == len(arrivals)
    for one in joined:
        timed = one.timed
        assert one.lookup.now <= timed.joined < timed.first_token <= timed.end
        known: dict[bytes, int] = {}
        for other in joined:
            if other is not one:
                for digest, when in zip(other.timed.sequence.chain.digests, other.timed.computed, strict=False):
                    known[digest] = min(when, known.get(digest, when))
        page = 0
        digests = timed.sequence.chain.digests[: (timed.sequence.prompt_length - 1) // PAGE]
        while page < len(digests) and known.get(digests[page], timed.joined + 1) <= timed.joined:
            page += 1
        assert timed.sequence.reused == page * PAGE
        # What is generated depends on the prompt alone.
        assert timed.sequence.generated == together([(0, arrivals_of_one(one))])[0].timed.sequence.generated


def arrivals_of_one(one: JoinedRequest) -> list[tuple[str, int]]:
    """The blocks of a request, to be sent alone."""
    from tests.engine.test_trace_tokens import block as made

    names = {made(name, 9).digest: name for name in "abc"}
    return [(names[each.digest], each.tokens or 0) for each in one.lookup.request.prompt or ()]
