"""Comparing policies: calibration first, then savings, alone and together."""

from __future__ import annotations

import csv
import io
import time
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

import agentsim
from agentsim.core.prompt import Breakpoint
from agentsim.core.session import Request, Session, Usage
from agentsim.traces.samples.make_atlas import atlas_session
from agentsim.traces.samples.make_claude_code import session as claude_code_sample
from agentsim.whatif.comparison import compare
from agentsim.whatif.policies import Policy, PolicyError, every_policy, parse
from agentsim.whatif.policies.session_rewriting import each
from tests.agentsim.whatif.policies.small import HEAD, MINUTE, block, request, session

SAMPLE = Path(__file__).resolve().parents[3] / "traces" / "samples" / "atlas-14.jsonl"


def paused(name: str = "small", minutes: float = 10) -> Session:
    """20,000 tokens, lost in a pause."""
    blocks = [*HEAD, block("task", 17_000)]
    given = session(request("r1", 0, blocks), request("r2", minutes * MINUTE, blocks))
    return msgspec.structs.replace(given, id=name)


def misreported(given: Session, read: int) -> Session:
    """The session, whose second request reported to have read so many of its 20,000 tokens."""
    first, second = given.requests
    usage = Usage(fresh=0, write_short=20_000 - read, write_long=0, read=read, output=0)
    return msgspec.structs.replace(given, requests=(first, msgspec.structs.replace(second, usage=usage)))


def test_calibration_counts_rows_and_tokens() -> None:
    foretold = compare(paused()).calibration
    assert (foretold.rows, foretold.exact, foretold.tokens, foretold.explained) == (2, 2, 40_000, 40_000)
    # The log says that the second read 1,000 after all: those are in the wrong place.
    off = compare(misreported(paused(), 1_000))
    told = off.calibration
    assert (told.rows, told.exact, told.tokens, told.explained) == (2, 1, 40_000, 39_000)
    assert off.withheld is None


@pytest.mark.parametrize(("read", "withheld"), [(4_000, False), (4_001, True)])
def test_below_nine_tenths_no_money_is_named(read: int, withheld: bool) -> None:
    # 36,000 of 40,000 tokens are 90 %.
    comparison = compare(misreported(paused(), read), ["ttl-1h"], combine=True)
    assert (comparison.withheld is not None) == withheld
    (outcome,) = comparison.outcomes
    assert (outcome.saving is None) == (outcome.saving_equivalents is None) == withheld
    # Tokens are told all the same.
    assert outcome.sums.read == 20_000
    record = comparison.records()[1]
    assert (record["cost"] is None) == (record["saving"] is None) == withheld
    if withheld:
        assert comparison.withheld == "the rules foretell 89.9 % of the reported tokens, less than 90 %"


def test_sessions_that_fit_are_compared_without_those_that_do_not() -> None:
    comparison = compare([paused("good"), misreported(paused("bad"), 20_000)], ["ttl-1h"])
    assert comparison.sessions == 1
    assert comparison.withheld is None
    assert [left.name for left in comparison.left_out] == ["bad"]
    assert comparison.left_out[0].reason.startswith("the rules foretell 50.0 % of the reported tokens")


def test_sums_are_over_all_sessions() -> None:
    one, two = compare([paused("a")], ["ttl-1h"]), compare([paused("a"), paused("b", 1)], ["ttl-1h"])
    assert two.sessions == 2
    assert two.recorded.requests == 4
    assert two.outcomes[0].changed == 2
    # The second session needs no hour: it pays 0.75 · 20,000 more.
    assert two.outcomes[0].saving_equivalents == (one.outcomes[0].saving_equivalents or 0) - 15_000 * 10**6


def test_what_is_answered_fast_is_compared_at_the_fast_price() -> None:
    """Six times the list price, with and without the policy."""

    def records(speed: str | None) -> list[dict[str, Any]]:
        made = tuple(msgspec.structs.replace(one, model="claude-opus-4-7", speed=speed) for one in paused().requests)
        return list(compare(session(*made), ["no-caching"]).records())

    plain, fast = records(None), records("fast")
    assert records("standard") == plain
    for name, at in (("cost", 0), ("cost", 1), ("saving", 1)):
        assert Decimal(fast[at][name]) == 6 * Decimal(plain[at][name]) != 0


def test_a_policy_that_one_session_has_no_use_for_leaves_it_as_recorded() -> None:
    hour = session(request("r1", 0, [*HEAD, block("task", 17_000)], ttl=3_600))
    comparison = compare([paused("a"), msgspec.structs.replace(hour, id="b")], ["ttl-1h"])
    assert comparison.outcomes[0].changed == 1


@pytest.mark.parametrize("given", [[], [session()], [msgspec.structs.replace(paused(), requests=())]])
def test_nothing_to_simulate(given: list[Session]) -> None:
    with pytest.raises(ValueError, match=r"no requests|no sessions"):
        compare(given)


def test_a_provider_whose_rules_are_not_known() -> None:
    first = msgspec.structs.replace(paused().requests[0], provider="nobody", model="nobody-1")
    with pytest.raises(ValueError, match="nobody"):
        compare(msgspec.structs.replace(paused(), requests=(first,)))


def test_a_model_without_a_price_has_tokens_and_no_money() -> None:
    requests = tuple(msgspec.structs.replace(r, model="claude-nobody-knows") for r in paused().requests)
    comparison = compare(msgspec.structs.replace(paused(), requests=requests), ["ttl-1h", "no-caching"], combine=True)
    assert comparison.recorded.unpriced == 2
    assert [outcome.saving for outcome in comparison.outcomes] == [None, None]
    # Ordered by tokens at the usual ratios: 20,000 · 2.1 against 40,000 · 1.
    assert [outcome.policy.name for outcome in comparison.outcomes] == ["no-caching", "ttl-1h"]


def test_policies_that_leave_the_input_as_it_is() -> None:
    comparison = compare(atlas_session(), same_input=True)
    assert all(outcome.policy.changes is None for outcome in comparison.outcomes)
    assert {left.name for left in comparison.not_tried} & {"deferred-tools", "combine-blocks"} == set()


def test_each_policy_is_tried_or_said_why_not() -> None:
    comparison = compare(atlas_session())
    tried = [outcome.policy.name for outcome in comparison.outcomes] + [left.name for left in comparison.not_tried]
    assert sorted(tried) == sorted(policy.name for policy in every_policy())
    assert all(left.reason for left in comparison.not_tried)


def test_outcomes_are_ordered_by_what_they_save() -> None:
    outcomes = compare(atlas_session()).outcomes
    order = [(outcome.policy.changes is not None, -(outcome.saving or 0)) for outcome in outcomes]
    assert order == sorted(order)
    assert {shown_else for shown_else, _ in order} == {False, True}


def test_what_shows_the_model_something_else_is_combined_only_by_name() -> None:
    combined = compare(atlas_session(), combine=True).combined
    assert combined is not None
    assert combined.steps
    assert not [step for step in combined.steps if step.policy.changes]
    named = compare(atlas_session(), ["deferred-tools"], also=every_policy(), combine=True).combined
    assert named is not None
    assert {step.policy.name for step in named.steps if step.policy.changes} == {"deferred-tools"}


def test_progress_is_told_step_by_step() -> None:
    told: list[tuple[int, int]] = []
    compare(
        [paused("a"), paused("b")], ["ttl-1h", "no-caching"], progress=lambda done, total: told.append((done, total))
    )
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_what_excludes_each_other_is_not_combined() -> None:
    combined = compare(paused(), ["ttl-1h", "keep-alive", "keep-alive-three", "no-caching"], combine=True).combined
    assert combined is not None
    names = [step.policy.name for step in combined.steps]
    # A refresh (0.1 at 270 s and at 540 s) saves 1.15 - 0.2 of 20,000, an hour 1.15 - 0.75, no caching 0.5.
    assert names == ["keep-alive"] or names == ["keep-alive-three"]
    assert combined.saving_equivalents == pytest.approx(20_000 * 0.95 * 10**6)


def test_from_python_with_paths_and_names() -> None:
    comparison = agentsim.compare(SAMPLE, ["keep-alive", parse("ttl-1h")])
    assert [outcome.policy.name for outcome in comparison.outcomes] == ["keep-alive", "ttl-1h"]
    assert comparison == agentsim.compare([str(SAMPLE)], ["keep-alive", "ttl-1h"])
    with pytest.raises(PolicyError, match="did you mean keep-alive"):
        agentsim.compare(SAMPLE, ["keepalive"])
    with pytest.raises(OSError, match="nothing"):
        agentsim.compare("nothing-here.jsonl")
    with pytest.raises(AttributeError):
        _ = agentsim.nothing


def test_records_and_csv_hold_exact_decimals() -> None:
    comparison = compare(atlas_session(), ["keep-alive", "deferred-tools"], combine=True)
    rows = list(csv.DictReader(io.StringIO(comparison.to_csv())))
    assert [row["policy"] for row in rows] == [
        "as recorded",
        "keep-alive",
        "deferred-tools",
        "together: keep-alive + deferred-tools",
    ]
    assert Decimal(rows[1]["saving_input_equivalents"]) == Decimal("37957.5")
    assert Decimal(rows[0]["cost"]) - Decimal(rows[1]["cost"]) == Decimal(rows[1]["saving"])
    assert rows[2]["changes"]
    assert not rows[1]["changes"]


def test_a_frame() -> None:
    pytest.importorskip("pandas")
    frame = compare(atlas_session(), ["keep-alive"]).to_pandas()
    assert list(frame["policy"]) == ["as recorded", "keep-alive"]
    assert frame["saving_input_equivalents"][1] == 37_957.5


def test_a_log_without_bodies_says_so(tmp_path: Path) -> None:
    comparison = agentsim.compare(claude_code_sample().save(tmp_path / "s.jsonl"))
    calibration = comparison.calibration
    assert calibration.rows == calibration.rebuilt == 11
    assert calibration.off == 0
    assert calibration.exact == 8  # three losses are facts about the world around it
    assert "ttl-1h" in {left.name for left in comparison.not_tried} | {o.policy.spec for o in comparison.outcomes}
    reasons = {left.name: left.reason for left in comparison.not_tried}
    assert reasons["tool-order"].startswith("needs bodies")


def test_the_same_whatever_came_before() -> None:
    first = compare(atlas_session())
    compare(paused())
    assert compare(atlas_session()) == first


@pytest.mark.parametrize(("file", "seconds"), [("atlas", 1.0), ("log", 5.0)])
def test_it_is_fast(file: str, seconds: float, shared_data: Path) -> None:
    if file == "atlas":
        given = [atlas_session()]
    else:
        from agentsim.traces.readers.claude_code import read_sessions

        given = read_sessions([str(shared_data / "claude-code" / "oh-my-posh__opus5-1h-fork-6b6f4218.part1of2.jsonl")])
        assert len(given[0].requests) > 500
    compare(paused())  # prices are loaded once for a process
    start = time.process_time()  # other processes of a busy machine are no fault of this one
    compare(given)
    assert time.process_time() - start < seconds


def test_real_logs_are_explained(shared_data: Path) -> None:
    comparison = agentsim.compare(str(shared_data / "claude-code"), ["ttl-5m", "ttl-1h", "no-caching"])
    calibration = comparison.calibration
    # To the picodollar, row by row; what was known before looking is less, and said.
    assert (calibration.off, calibration.rows) == (0, 1726)
    assert 1650 <= calibration.exact < calibration.rows
    assert 0 < calibration.lost_exact < calibration.lost
    found = {outcome.policy.name: outcome for outcome in comparison.outcomes}
    assert (found["no-caching"].saving or 0) < 0
    # Two other programs and a sum by hand say that it costs $4 to $25 more.
    assert -25 * 10**12 < (found["ttl-5m"].saving or 0) < 0
    bodies = agentsim.compare(str(shared_data / "claude-trace"), ["ttl-1h"])
    assert bodies.calibration.rebuilt == 0
    assert bodies.calibration.explained > 0.99 * bodies.calibration.tokens


def automatic() -> Session:
    """Two turns with a provider that keeps every prompt by itself: the second reads 20,000 tokens."""
    blocks = [*HEAD, block("task", 17_000)]
    given: dict[str, Any] = {"provider": "openai", "model": "gpt-5.4"}
    first = request("r1", 0, blocks, (), usage=Usage(fresh=20_000, read=0, output=1), **given)
    more_blocks = [*blocks, block("more", 500)]
    second = request("r2", 60, more_blocks, (), usage=Usage(fresh=532, read=19_968, output=1), **given)
    return msgspec.structs.replace(session(request("r", 0, blocks)), requests=(first, second))


def test_a_provider_that_keeps_every_prompt_has_no_use_for_markers() -> None:
    # 19,968 are 156 times 128 tokens.
    comparison = compare(automatic())
    told = comparison.calibration
    assert (told.rows, told.exact, told.explained, told.off) == (2, 2, 40_500, 0)
    reasons = {left.name: left.reason for left in comparison.not_tried}
    for name in ("ttl-1h", "marker-last", "marker-best", "keep-alive", "no-caching"):
        assert reasons[name] == "the provider keeps every prompt by itself and takes no markers"


def test_rows_of_such_a_provider_tell_too_little() -> None:
    bare = tuple(msgspec.structs.replace(r, prompt=None) for r in automatic().requests)
    with pytest.raises(ValueError, match="rows alone do not tell"):
        compare(msgspec.structs.replace(automatic(), requests=bare, completeness="usage"))


def test_copies_of_another_session_are_in_no_sum() -> None:
    first, second = paused().requests
    copied = msgspec.structs.replace(paused(), requests=(msgspec.structs.replace(first, counted=False), second))
    comparison = compare(copied, ["ttl-1h"])
    assert comparison.calibration.rows == 1
    assert (comparison.recorded.requests, comparison.recorded.written) == (1, 20_000)
    # The copy wrote for an hour at its own session's expense.
    assert comparison.outcomes[0].saving_equivalents == 20_000 * 115 * 10**4


def test_two_ways_to_hold_tools_are_not_combined() -> None:
    combined = compare(atlas_session(), ["deferred-tools", "fixed-entries", "tool-order"], combine=True).combined
    assert combined is not None
    assert [step.policy.name for step in combined.steps] == ["deferred-tools"]


class FiveMarkers(Policy, frozen=True, kw_only=True):
    """Somebody's own policy, which asks for more than a provider accepts."""

    name: ClassVar[str] = "five-markers"

    count: int = 5

    def rewrite(self, session: Session) -> Session:
        return each(session, self._marked)

    def _marked(self, request: Request) -> Request:
        assert request.prompt is not None
        markers = [Breakpoint(place, 300) for place in range(min(self.count, len(request.prompt)))]
        return msgspec.structs.replace(request, prompt=request.prompt.with_breakpoints(markers))


def test_a_policy_of_ones_own_and_requests_that_would_be_refused() -> None:
    blocks = [*HEAD, *(block(f"part {n}", 4_000) for n in range(4))]
    given = session(request("r1", 0, blocks), request("r2", 60, blocks))
    comparison = compare(given, [FiveMarkers(), FiveMarkers(count=4)], combine=True)
    assert [left.reason for left in comparison.not_tried] == ["the provider would refuse 2 requests"]
    assert [outcome.policy.spec for outcome in comparison.outcomes] == ["five-markers:count=4"]
