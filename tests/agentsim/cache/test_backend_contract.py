"""What :class:`agentsim.cache.CacheBackend` promises, held to every backend there is."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentsim.cache import CacheLookup, CannotEvict, Served
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Breakpoint, Prompt
from agentsim.core.session import Request, Usage
from tests.agentsim.cache.backend_cases import CASES, BackendCase
from tests.agentsim.prompts import DAY, block

ROOT = Path(__file__).resolve().parents[3]
EACH = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
EVICTING = pytest.mark.parametrize(
    "case", [case for case in CASES.values() if case.evicts], ids=[name for name, case in CASES.items() if case.evicts]
)
REQUESTS = st.lists(
    st.tuples(
        st.sampled_from((0, 1, 2, 9, 9, 9)),  # how many messages of the request before in its lane it begins with
        st.sampled_from(("u", "v", "ax", "by", "wx", "awx", "awwby")),  # messages that it goes on with
        st.sampled_from((0, 1, 3, 70, 400, 4_000)),  # seconds since the request before
        st.sampled_from(("main", "other")),
        st.sampled_from((None, 300, 3_600)),  # the lifetime that its breakpoints ask for
    ),
    min_size=1,
    max_size=7,
)


def test_every_backend_is_held_to_it():
    """Whatever class of the program is a backend, directly or by another one, has a case; abstract ones have not."""
    parents: dict[str, set[str]] = {}
    abstract: set[str] = set()
    for folder in ("agentsim", "engine", "kernels", "traces", "scenarios", "tui"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    parents[node.name] = {base.id for base in node.bases if isinstance(base, ast.Name)}
                    if any("abstractmethod" in ast.dump(one) for one in node.body):
                        abstract.add(node.name)
    backends = {"CacheBackend"}
    while more := {name for name, bases in parents.items() if bases & backends} - backends:
        backends |= more
    assert {"ModeledProvider", "EngineBackend"} < backends
    assert {name.partition(",")[0] for name in CASES} == backends - abstract


def asked(case: BackendCase, drawn: list[Any]) -> list[Request]:
    """Requests of a provider, with the texts that a live endpoint wants."""
    found: list[Request] = []
    last: dict[str, tuple[str | None, str]] = {}
    now = DAY
    for number, (same, more, gap, lane, ttl) in enumerate(drawn):
        now += gap
        parent, names = last.get(lane, (None, ""))
        names = (names[:same] + more)[:8]
        last[lane] = f"r{number}", names
        blocks = [block("t", 40, "tools", text='{"name": "t"}'), block("s", 30, "system", role=None, text="s")]
        for at, name in enumerate(names):
            # The assistant says a and b, and has searched the web with w.
            role, kind = "assistant" if name in "abw" else "user", "web_search_tool_result" if name == "w" else "text"
            size = 24 + 7 * ord(name) % 17
            blocks.append(block(f"{at} {name}", size, kind=kind, role=role, message=at, text=name))
        markers = [] if ttl is None else [Breakpoint(1, ttl), Breakpoint(len(blocks) - 1, ttl)]
        found.append(
            Request(
                id=f"r{number}",
                lane=lane,
                parent=parent,
                model=case.model,
                provider=case.provider,
                start=now * SECOND,
                first_token=(now + 1) * SECOND,
                end=(now + 2) * SECOND,
                prompt=Prompt.of(blocks, markers),
            )
        )
    return found


def start(request: Request) -> int:
    assert request.start is not None
    return request.start


def said(lookup: CacheLookup) -> tuple[Any, ...]:
    """What a look-up says."""
    return lookup.read, lookup.hit, lookup.hit_owner, lookup.host, lookup.rejected


@EACH
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=REQUESTS, data=st.data())
def test_looking_up_changes_nothing_and_says_what_is_served(case: BackendCase, drawn: list[Any], data: Any) -> None:
    requests = asked(case, drawn)
    watched, plain = case.make(), case.make()
    for one in requests:
        for other in data.draw(st.lists(st.sampled_from(requests), max_size=3)):
            later = start(one) + data.draw(st.sampled_from((0, SECOND, 500 * SECOND)))
            keep = data.draw(st.none() | st.integers(0, 8)) if case.evicts else None
            assert said(watched.look_up(other, later, keep=keep)) == said(watched.look_up(other, later, keep=keep))
        lookup = watched.look_up(one, start(one))
        served = watched.commit(lookup, first_token=one.first_token, end=one.end)
        if case.knows:
            assert (served.usage.read, served.hit, served.hit_owner, served.host, served.rejected) == said(lookup)
        assert untimed(served) == untimed(plain.serve(one, start(one)))
        assert case.provider == "openai" or served.usage.total_input == (one.prompt and one.prompt.tokens)


def untimed(served: Served) -> Served:
    """What was served, without the times that looking at a clock more often changes."""
    return msgspec.structs.replace(served, first_token=None, end=None)


@EACH
def test_requests_are_committed_in_the_order_of_their_start_and_once(case: BackendCase) -> None:
    one, two, three = asked(case, [(0, "u", 0, "main", 300), (9, "ax", 70, "main", 300), (9, "by", 70, "main", 300)])
    backend = case.make()
    first, second = (backend.look_up(each, start(each)) for each in (one, two))
    backend.commit(first)
    with pytest.raises(ValueError, match="changed"):
        backend.commit(second)
    with pytest.raises(ValueError, match="changed"):
        backend.commit(first)
    backend.serve(three, start(three))
    with pytest.raises(ValueError, match="order"):
        backend.serve(two, start(two))


@EVICTING
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=REQUESTS, keep=st.integers(0, 8), which=st.integers(0, 6))
def test_what_is_evicted_is_not_read(case: BackendCase, drawn: list[Any], keep: int, which: int) -> None:
    requests = asked(case, drawn)
    backend, other = case.make(), case.make()
    for one in requests:
        backend.serve(one, start(one))
        other.serve(one, start(one))
    last, victim = start(requests[-1]) + 3 * SECOND, requests[which % len(requests)]
    foreseen = backend.look_up(victim, last, keep=keep)
    assert foreseen.hit <= keep
    assert (foreseen.read or 0) <= (backend.look_up(victim, last).read or 0)
    backend.evict(victim, keep, last)
    assert said(backend.look_up(victim, last)) == said(foreseen)
    backend.evict(victim, keep, last)
    assert said(backend.look_up(victim, last)) == said(foreseen)
    # A look-up that says what was left, committed, is as if that had been evicted before.
    served = other.commit(other.look_up(victim, last, keep=keep))
    assert untimed(served) == untimed(backend.commit(backend.look_up(victim, last)))
    for one in requests:
        assert said(backend.look_up(one, last + SECOND)) == said(other.look_up(one, last + SECOND))


@EVICTING
def test_evicting_one_prompt_leaves_another_alone(case: BackendCase) -> None:
    one, two = asked(case, [(0, "uax", 0, "main", 300), (0, "vby", 0, "other", 300)])
    backend = case.make()
    for each in (one, two):
        backend.serve(each, start(each))
    later = start(two) + 3 * SECOND
    before = said(backend.look_up(two, later))
    backend.evict(one, 2, later)
    assert said(backend.look_up(two, later)) == before
    backend.evict(one, 0, later)
    assert backend.look_up(one, later).read == 0


@pytest.mark.parametrize("case", [case for case in CASES.values() if not case.evicts])
def test_a_cache_that_is_not_ours_says_so(case: BackendCase) -> None:
    (one,) = asked(case, [(0, "u", 0, "main", None)])
    with pytest.raises(CannotEvict):
        case.make().evict(one, 0, start(one))
    with pytest.raises(CannotEvict):
        case.make().look_up(one, start(one), keep=0)


@EACH
@pytest.mark.parametrize("usage", [None, Usage(fresh=5, read=7, output=1)])
def test_a_prompt_that_is_not_known_changes_nothing(case: BackendCase, usage: Usage | None) -> None:
    one, two = asked(case, [(0, "u", 0, "main", 300), (9, "ax", 70, "main", 300)])
    bare = msgspec.structs.replace(one, id="bare", prompt=None, usage=usage)
    backend, plain = case.make(), case.make()
    backend.serve(one, start(one))
    plain.serve(one, start(one))
    lookup = backend.look_up(bare, start(two) + 1)
    assert lookup.read == (None if usage is None else usage.read)
    assert backend.commit(lookup).usage == (usage or Usage())
    if case.evicts:
        backend.evict(bare, 0, start(two) + 1)
    assert untimed(backend.serve(two, start(two))) == untimed(plain.serve(two, start(two)))
