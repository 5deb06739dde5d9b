"""Replaying recorded sessions: the clock, ties, prices, and the way without a clock."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agentsim.cache import CacheBackend, CacheLookup, Served
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.simulate import replay, scan
from agentsim.core.prompt import Breakpoint, Prompt
from agentsim.core.session import Request, Usage
from tests.agentsim.prompts import MODEL, block, prompt, request, session, texts

HEAD = [block("s", 2_000, "system", role=None)]


class Recorder(CacheBackend):
    """A backend that writes down who arrived when."""

    def __init__(self) -> None:
        self.arrivals: list[tuple[str, int]] = []

    def look_up(self, request: Request, now: int, *, keep: int | None = None) -> CacheLookup:
        return CacheLookup(request=request, now=now, read=len(self.arrivals) + 1, keep=keep)

    def commit(self, lookup: CacheLookup, *, first_token: int | None = None, end: int | None = None) -> Served:
        self.arrivals.append((lookup.request.id, lookup.now))
        return Served(usage=Usage(read=lookup.read), first_token=lookup.now + 1, end=lookup.now + 2)

    def evict(self, request: Request, keep: int, now: int) -> None:
        raise AssertionError("nobody asks for this")


def test_requests_arrive_at_their_times_in_order_and_ties_keep_theirs():
    requests = [request(name, at, None) for name, at in (("c", 40), ("a", 0), ("b1", 20), ("b2", 20), ("b0", 20))]
    backend = Recorder()
    ledger = replay(session(requests), backend, price=False)
    assert [name for name, _ in backend.arrivals] == ["a", "b1", "b2", "b0", "c"]
    assert [now for _, now in backend.arrivals] == [one.start for one in (row.request for row in ledger.rows)]
    assert [row.usage.read for row in ledger.rows] == [1, 2, 3, 4, 5]


def test_a_backend_that_decides_times_decides_those_of_the_row():
    (row,) = replay(session([request("a", 5, None)]), Recorder(), price=False).rows
    assert row.start is not None
    assert (row.first_token, row.end) == (row.start + 1, row.start + 2)


def test_a_request_without_a_time_follows_the_one_before_it():
    lost = msgspec.structs.replace(request("b", 0, None), start=None, first_token=None, end=None)
    backend = Recorder()
    replay(session([request("a", 7, None), lost, request("c", 9, None)]), backend, price=False)
    assert [name for name, _ in backend.arrivals] == ["a", "b", "c"]
    assert backend.arrivals[0][1] == backend.arrivals[1][1]


def test_without_any_times_only_the_order_counts():
    bodies = [prompt(HEAD + texts(n, 500), n) for n in (1, 2, 3)]
    requests = [
        msgspec.structs.replace(request(str(n), 0, body), start=None, first_token=None, end=None)
        for n, body in enumerate(bodies)
    ]
    assert [row.usage.read for row in replay(session(requests), ModeledProvider()).rows] == [0, 2_500, 3_000]


def test_siblings_sent_together_all_write_and_one_sent_later_reads():
    body = prompt(HEAD + texts(2, 500), 2)
    together = [request(name, 0, body, lane=name) for name in "abc"]
    ledger = replay(session([*together, request("d", 1, body, lane="d")]), ModeledProvider())
    assert [row.usage.read for row in ledger.rows] == [0, 0, 0, 3_000]
    assert [row.usage.write for row in ledger.rows] == [3_000, 3_000, 3_000, 0]


def test_rows_are_priced_at_their_own_model_and_an_unknown_one_is_not():
    body = prompt([*HEAD, *texts(1, 500)], 0)
    known = request("a", 0, body, usage=Usage(output=100))
    unknown = request("b", 1, body, model="claude-next-99")
    first, second = replay(session([known, unknown]), ModeledProvider()).rows
    # Opus 4.8 costs $5 and $25 for a million tokens: 2,000 written at $6.25, 500 fresh at $5, 100 output at $25.
    assert first.request.model == MODEL
    assert first.cost == 2_000 * 6_250_000 + 500 * 5_000_000 + 100 * 25_000_000
    assert first.equivalents == (2_000 * 125 // 100 + 500) * 10**6
    assert (second.cost, second.equivalents) == (None, None)


def test_an_empty_session_has_no_rows():
    assert replay(session([]), ModeledProvider()).rows == ()


steps = st.lists(
    st.tuples(
        st.integers(0, 1000),  # start
        st.lists(st.sampled_from("abcd"), min_size=1, max_size=6),  # blocks
        st.integers(0, 5),  # breakpoint
        st.sampled_from([None, 1, 30]),  # first token
        st.sampled_from(['{"type":"auto"}', '{"type":"any"}']),
    ),
    max_size=20,
)


@given(steps=steps)
def test_the_way_without_a_clock_gives_the_same_rows(steps):
    requests = []
    for number, (at, names, marker, first, choice) in enumerate(steps):
        body = Prompt.of([*HEAD, *(block(n, 700) for n in names)], [Breakpoint(min(marker, len(names)), 300)])
        requests.append(request(str(number), at, body, first_token=first, lasts=60, settings={"tool_choice": choice}))
    one, other = replay(session(requests), ModeledProvider()), scan(session(requests), ModeledProvider())
    assert one == other
