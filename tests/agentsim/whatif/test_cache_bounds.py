"""Bounds for automatic caches: the truth lies between them, and they claim nothing that rows do not carry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.cache.routed_backend import RoutedProvider
from agentsim.cache.simulate import scan
from agentsim.cli import main
from agentsim.core.session import Lane, Request, Session, Usage
from agentsim.traces.format_registry import read
from agentsim.whatif.cache_bounds import CacheBound, bounds, is_automatic
from agentsim.whatif.comparison import compare
from tests.agentsim.whatif.policies.small import HEAD, block, request

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
MODEL: dict[str, Any] = {"model": "gpt-5.4", "provider": "openai"}
FRESH, READ = 2_500_000, 250_000


def bodies(turns: int, size: int, gap: float = 60) -> Session:
    """A conversation at an automatic cache, as a capture with bodies has it."""
    parts = [block(f"part {n}", size) for n in range(turns)]
    requests = tuple(request(f"r{n}", gap * n, [*HEAD, *parts[: n + 1]], (), **MODEL) for n in range(turns))
    lanes = (Lane(id="main", title="main"),)
    draft = Session(id="automatic", format="agentsim/1", completeness="full", lanes=lanes, requests=requests)
    reported = [msgspec.structs.replace(row.request, usage=row.usage) for row in scan(draft, RoutedProvider()).rows]
    return msgspec.structs.replace(draft, requests=tuple(reported))


def counters(full: Session) -> Session:
    """The same as a log of counters has it."""
    requests = []
    for number, one in enumerate(full.requests):
        assert one.usage is not None
        usage = msgspec.structs.replace(one.usage, write_short=None, write_long=None, write_other=None)
        parent = full.requests[number - 1].id if number else None
        requests.append(msgspec.structs.replace(one, prompt=None, usage=usage, parent=parent))
    return msgspec.structs.replace(full, completeness="usage", requests=tuple(requests))


def by_name(*sessions: Session) -> dict[str, CacheBound]:
    found = bounds(sessions)
    assert found is not None
    return {bound.name: bound for bound in found.bounds}


@settings(max_examples=12, deadline=None)
@given(st.integers(14, 26), st.integers(6_000, 12_000), st.sampled_from([30, 400, 5_000]))
def test_the_true_saving_of_a_compaction_lies_between(turns: int, size: int, gap: float) -> None:
    full = bodies(turns, size, gap)
    for limit in (95_000, 120_000):
        spec = f"compact-earlier:at={limit},summary_tokens=20000,reread_tokens=3000,reread_requests=1"
        (outcome,) = compare(full, [spec]).outcomes or (None,)
        bound = by_name(counters(full)).get(f"compact-{limit}")
        if outcome is None or bound is None:
            continue
        assert outcome.saving is not None
        assert bound.least is not None
        assert bound.most is not None
        assert bound.least <= outcome.saving <= bound.most


def test_no_loss_is_the_price_of_all_losses() -> None:
    found = by_name(counters(bodies(3, 4_000, gap=8_000)))
    # Kept for ten minutes to an hour: rows of 11,000 and 15,000 tokens lost what had been sent before them.
    lost = 7_000 + 11_000
    assert found["no-loss"].most_tokens == pytest.approx(lost, abs=256)
    assert found["no-loss"].most == found["no-loss"].most_tokens * (FRESH - READ)
    assert found["no-loss"].least is None
    assert found["retention"].most_tokens == found["no-loss"].most_tokens


def test_a_retention_that_is_in_force_cannot_be_asked_for() -> None:
    log = counters(bodies(3, 4_000, gap=8_000))
    day = [msgspec.structs.replace(one, model="gpt-5.5") for one in log.requests]
    found = by_name(msgspec.structs.replace(log, requests=tuple(day)))
    assert found["retention"].reason is not None
    assert (found["retention"].most_tokens, found["retention"].most) == (0, 0)


def test_another_model_is_priced_at_the_first_ones_rates() -> None:
    log = counters(bodies(4, 4_000))
    switched = list(log.requests)
    switched[2] = msgspec.structs.replace(switched[2], model="gpt-5.4-mini")
    found = by_name(msgspec.structs.replace(log, requests=tuple(switched)))["pin-model"]
    assert found.least is not None
    assert found.least < 0  # the smaller model was cheaper for that row


def test_what_writes_or_holds_prompts_is_no_automatic_cache() -> None:
    full = bodies(3, 4_000)
    assert not is_automatic(full)
    assert is_automatic(counters(full))
    log = counters(full)
    wrote = [msgspec.structs.replace(one, usage=Usage(read=5, write_short=9)) for one in log.requests]
    assert not is_automatic(msgspec.structs.replace(log, requests=tuple(wrote)))
    assert bounds([full]) is None


usages = st.builds(Usage, fresh=st.integers(0, 200_000), read=st.integers(0, 200_000), output=st.integers(0, 500))
models = st.sampled_from(["gpt-5.4", "gpt-5.5", "nobody-1"])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(usages, st.integers(0, 9_000), models), max_size=12))
def test_bounds_are_in_order_whatever_a_log_claims(given_rows: list[tuple[Usage, int, str]]) -> None:
    requests: list[Request] = []
    start = 1_790_000_000
    for number, (usage, gap, model) in enumerate(given_rows):
        start += gap
        requests.append(
            Request(
                id=f"r{number}",
                lane="main",
                model=model,
                provider="openai",
                start=start * 10**9,
                end=(start + 1) * 10**9,
                usage=usage,
                parent=f"r{number - 1}" if number else None,
            )
        )
    log = msgspec.structs.replace(counters(bodies(1, 4_000)), requests=tuple(requests))
    found = bounds([log])
    if found is None:
        return
    for bound in found.bounds:
        assert bound.most_tokens >= (bound.least_tokens or 0) >= 0
        if bound.least is not None and bound.most is not None:
            assert bound.least <= bound.most
    losses = {bound.name: bound for bound in found.bounds}
    whole = losses.pop("no-loss")
    for name, bound in losses.items():
        if not name.startswith(("compact-", "pin-")):
            assert bound.most_tokens <= whole.most_tokens


def test_codex_and_opencode_get_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    if not DATA.is_dir():
        pytest.skip("no shared data here")
    assert main(["compare", str(DATA / "codex" / "agentv__gpt55-173req-compacted.jsonl"), "--json"]) == 1
    told = {bound["name"]: bound for bound in json.loads(capsys.readouterr().out)["automatic_caches"]["bounds"]}
    assert told["no-loss"]["tokens_at_most"] == 996_352  # in whole steps of the cache
    assert told["retention"]["not_offered"]
    (opencode,) = read([str(DATA / "opencode")], [])
    found = by_name(opencode)
    assert found["no-loss"].most is None  # no price is known
    assert found["no-loss"].most_tokens == 663_808
