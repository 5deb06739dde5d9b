"""The recorded run, simulated, costs what its log says, row by row, and what that takes obeys policies."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.core.dates import SECOND
from agentsim.core.session import Request, Session, Usage
from agentsim.diagnose import diagnose
from agentsim.rules.prices import cost, default_book
from agentsim.traces.format_registry import read
from agentsim.traces.readers.claude_code import read_sessions
from agentsim.traces.samples.make_claude_code import session as sample
from agentsim.whatif.comparison import compare
from agentsim.whatif.policies import policy
from agentsim.whatif.policy_simulation import CannotSimulate, add_up, prepare, simulate, under
from agentsim.whatif.rebuilt_prompts import rebuild
from agentsim.whatif.unlogged_calls import UNLOGGED
from tests.agentsim.whatif.policies.small import session as small_session

SAMPLES = Path(__file__).resolve().parents[3] / "traces" / "samples"
MINUTE = 60


def differences(session: Session) -> list[str]:
    """Rows whose simulated cost is not that of the log."""
    case, book = prepare(session), default_book()
    found = []
    for row in case.rows:
        usage = row.request.usage
        if not row.request.counted or row.request.prompt is None or usage is None or usage.total_input is None:
            continue
        card = book.card_for(row.request, usage)
        if card is not None and cost(card, usage) != row.cost:
            found.append(row.request.id)
    return found


def counters(requests: list[tuple[int, int, int, int]], model: str = "claude-opus-4-8") -> Session:
    """Rows of counters alone: (seconds, read, written for five minutes, written for an hour)."""
    rows = tuple(
        Request(
            id=f"r{number}",
            lane="main",
            parent=f"r{number - 1}" if number else None,
            model=model,
            start=1_790_000_000 * SECOND + start * SECOND,
            end=1_790_000_005 * SECOND + start * SECOND,
            usage=Usage(fresh=2, read=read_, write_short=short, write_long=long, output=10),
        )
        for number, (start, read_, short, long) in enumerate(requests)
    )
    return msgspec.structs.replace(small_session(), requests=rows, completeness="usage")


def test_the_sample_is_reproduced_row_by_row(tmp_path: Path) -> None:
    (session,) = read_sessions([str(sample().save(tmp_path / "s.jsonl"))])
    assert differences(session) == []


def test_all_samples_cost_what_they_say() -> None:
    for session in read([str(SAMPLES)]):
        try:
            assert differences(session) == [], session.id
        except CannotSimulate:
            continue


@pytest.mark.parametrize("folder", ["claude-code", "pi", "claude-stream-json"])
def test_real_logs_cost_what_they_say(shared_data: Path, folder: str) -> None:
    for session in read([str(shared_data / folder)]):
        try:
            assert differences(session) == [], session.id
        except CannotSimulate:
            continue


row = st.tuples(
    st.sampled_from([2, 30, 250, 304, 700, 3_700]), st.integers(0, 40_000), st.integers(0, 9_000), st.integers(0, 9_000)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(row, min_size=1, max_size=12))
def test_any_counters_cost_what_they_say(found: list[tuple[int, int, int, int]]) -> None:
    now, rows = 0, []
    for gap, read_, short, long in found:
        now += gap
        # Below the least length that the model keeps nothing is written or read.
        rows.append((now, read_ + 5_000 if read_ > 20_000 else 0, short + 5_000, long + 5_000 if long > 4_000 else 0))
    assert differences(counters(rows)) == []


def test_an_expiry_keeps_its_prompt_so_that_a_longer_lifetime_can_save_it(tmp_path: Path) -> None:
    (session,) = read_sessions([str(sample().save(tmp_path / "s.jsonl"))])
    verdicts = diagnose(session).verdicts
    (late,) = [i for i, v in enumerate(verdicts) if v.cause == "AS202"]
    rebuilt = {request.id: request.prompt for request in rebuild(session, verdicts).requests}
    before, after = rebuilt[session.requests[late - 1].id], rebuilt[session.requests[late].id]
    assert before is not None
    assert after is not None
    # All of the earlier prompt but its uncached tail is the front of the later one.
    assert before.common_length(after) == len(before) - 1


PAUSED = [(0, 33_000, 0, 67_000), (20, 100_000, 0, 1_000), (625, 101_102, 0, 900), (645, 102_002, 0, 1_000)]
"""An hour's entries, one pause of ten minutes, and a call that no log shows: it added 102 tokens to the second."""


def test_an_unlogged_call_follows_the_policy_of_its_lane() -> None:
    case = prepare(counters(PAUSED))
    (call,) = [request for request in case.session.requests if request.id.endswith(UNLOGGED)]
    assert call.lane == "main"
    assert not call.counted
    assert call.start == case.session.requests[1].end
    session, _ = under(case, [policy("ttl-5m")])
    assert {m.ttl for r in session.requests if r.prompt is not None for m in r.prompt.breakpoints} == {300}
    third = next(row for row in simulate(case, session) if row.request.id == "r2")
    # Nothing five minutes old survives a pause of ten; the head that others had written is read.
    assert (third.usage.read, third.usage.write) == (33_000, 69_002)


def test_a_sessions_own_head_is_not_an_outside_entry() -> None:
    # The first row read nothing: the 20,000 that the third one still reads are its own, an hour old at most.
    rows = [(0, 0, 0, 20_000), (30, 20_000, 0, 30_000), (400, 20_000, 0, 60_000)]
    case = prepare(counters(rows))
    assert not any(sighting.there for seen in case.world.shared.values() for sighting in seen)
    session, _ = under(case, [policy("ttl-5m")])
    assert simulate(case, session)[-1].usage.read == 0


def test_another_model_leaves_the_first_ones_entries() -> None:
    one, two = counters([(0, 0, 100_000, 0)]), counters([(60, 0, 101_000, 0)], "claude-sonnet-4-6")
    three = counters([(480, 0, 102_000, 0)])
    requests = [
        msgspec.structs.replace(session.requests[0], id=f"r{n}", parent=f"r{n - 1}" if n else None)
        for n, session in enumerate((one, two, three))
    ]
    case = prepare(msgspec.structs.replace(one, requests=tuple(requests)))
    session, _ = under(case, [policy("ttl-1h")])
    assert simulate(case, session)[-1].usage.read == 100_000


def test_a_hit_within_grace_stays_one() -> None:
    rows = [(0, 0, 100_000, 0), (304, 100_000, 1_000, 0)]
    case = prepare(counters(rows))
    assert [fact.kind for facts in case.world.facts.values() for fact in facts] == ["kept"]
    session, _ = under(case, [policy("keep-alive")])
    # There was nothing to repair: a refresh only costs.
    assert add_up(simulate(case, session)).cost > case.sums.cost


def test_counters_without_parents_grow_from_the_request_before() -> None:
    rows = counters([(0, 0, 20_000, 0), (10, 20_000, 500, 0), (400, 0, 21_000, 0)])
    bare = msgspec.structs.replace(
        rows, requests=tuple(msgspec.structs.replace(request, parent=None) for request in rows.requests)
    )
    saving = [compare(given, ["ttl-1h"]).outcomes[0].saving for given in (rows, bare)]
    assert saving[0] == saving[1]


def test_a_combination_looks_back() -> None:
    given = counters(PAUSED)
    names = ["ttl-5m", "keep-alive", "ttl-1h", "no-caching"]
    comparison = compare(given, names, combine=True)
    assert comparison.combined is not None
    best = max((outcome.saving or 0) for outcome in comparison.outcomes)
    assert (comparison.combined.saving or 0) >= best
