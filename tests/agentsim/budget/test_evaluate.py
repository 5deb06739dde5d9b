"""Each kind of limit, held at its very boundary and broken by the least amount beyond; and what cannot be judged."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentsim.budget.budget_gate import Gate
from agentsim.budget.budget_judging import judge
from agentsim.budget.budget_limits import Limit
from agentsim.budget.recordings import Lines, Recording, read_recordings
from agentsim.budget.session_measures import Measures, measure
from agentsim.core.session import Accounting, Problem, Session, Source, Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose import Diagnosis, Totals, diagnose
from tests.agentsim.budget.recorded import (
    COST,
    COST_BEFORE,
    EQUIVALENTS,
    EQUIVALENTS_BEFORE,
    LOST,
    READ,
    WRITTEN,
    after,
    before,
    budget,
    gate,
    limit,
    rows_only,
    with_requests,
    write,
)
from tests.agentsim.hostile import claude_code_log

KEY = "rec/gate-after.jsonl#gate-after"
HIT_RATE = Fraction(READ, READ + WRITTEN)
LEAST = Fraction(1, 10**9)


def baseline(session: Session | None = None) -> dict[str, Measures | None]:
    return {KEY: measure(diagnose(session or before()))}


def judged(one: Limit, *sessions: Session, **more: Any) -> Gate:
    return gate(*(sessions or (after(),)), budgets=[budget(one)], **more)


@pytest.mark.parametrize(
    ("held", "broken"),
    [
        (limit("max-cost", COST), limit("max-cost", COST - 1)),
        (limit("max-input-equivalents", EQUIVALENTS), limit("max-input-equivalents", EQUIVALENTS - 1)),
        (limit("min-hit-rate", HIT_RATE), limit("min-hit-rate", HIT_RATE + LEAST)),
        (limit("max-misses", 1), limit("max-misses", 0)),
        (limit("max-misses", 1, cause="AS103"), limit("max-misses", 0, cause="AS103")),
        (limit("max-misses", 0, cause="AS4xx"), limit("max-misses", 0, cause="AS1xx")),
        (limit("max-lost-cost", LOST), limit("max-lost-cost", LOST - 1)),
        (limit("forbid", cause="AS104"), limit("forbid", cause="AS103")),
        (limit("forbid", cause="AS2xx"), limit("forbid", cause="AS1xx")),
        (
            limit("max-growth", COST - COST_BEFORE, metric="cost"),
            limit("max-growth", COST - COST_BEFORE - 1, metric="cost"),
        ),
        (
            limit("max-growth", Fraction(COST, COST_BEFORE) - 1, metric="cost", relative=True),
            limit("max-growth", Fraction(COST, COST_BEFORE) - 1 - LEAST, metric="cost", relative=True),
        ),
        (
            limit("max-growth", EQUIVALENTS - EQUIVALENTS_BEFORE, metric="input-equivalents"),
            limit("max-growth", EQUIVALENTS - EQUIVALENTS_BEFORE - 1, metric="input-equivalents"),
        ),
        (limit("max-growth", 1, metric="misses"), limit("max-growth", 0, metric="misses")),
        # A share of nothing is nothing.
        (limit("max-growth", 1, metric="misses"), limit("max-growth", 5, metric="misses", relative=True)),
    ],
    ids=lambda one: f"{one.kind}-{one.cause or one.metric}-{one.relative}",
)
def test_a_limit_holds_at_its_boundary_and_breaks_beyond(held: Limit, broken: Limit) -> None:
    assert judged(held, baseline=baseline()).outcome == "held"
    result = judged(broken, baseline=baseline())
    assert result.outcome == "broken"
    assert result.results[0].excess > 0


def test_nothing_grew_when_nothing_changed() -> None:
    same = {"rec/gate-before.jsonl#gate-before": measure(diagnose(before()))}
    for metric in ("cost", "input-equivalents", "misses"):
        assert judged(limit("max-growth", 0, metric=metric), before(), baseline=same).outcome == "held"


UNPRICED = with_requests(after(), model="a-model-of-nobody")
"""Three requests of a model without a price make the cost of all unknown."""


def one_request(session: Session, **changes: Any) -> Session:
    """The session with its last request changed."""
    last = msgspec.structs.replace(session.requests[-1], **changes)
    return msgspec.structs.replace(session, requests=(*session.requests[:-1], last))


@pytest.mark.parametrize(
    ("one", "session", "says"),
    [
        (limit("max-cost", 10**15), one_request(after(), model="a-model-of-nobody"), "no price is known for 1 of 12"),
        (limit("max-input-equivalents", 10**15), UNPRICED, "no price is known for 12 of 12"),
        (limit("max-cost", 10**15), one_request(after(), output_final=False), "no final output count"),
        (
            limit("min-hit-rate", 0),
            one_request(rows_only(after()), usage=Usage(fresh=12_000, output=1)),
            "no cache counters",
        ),
        (limit("max-misses", 99), one_request(rows_only(after()), usage=Usage(fresh=12_000)), "no cache counters"),
        (limit("max-lost-cost", 10**15), with_requests(rows_only(after()), model="nobody"), "no price is known for 1"),
        (limit("max-misses", 99, cause="AS103"), rows_only(after()), "AS103 is not ruled out"),
        (limit("max-cost", 10**15), after(requests=()), "no request in it"),
        (
            limit("max-cost", 10**15),
            after(accounting=Accounting(rows=13, used=12, skipped=(("broken JSON", 1),))),
            "1 line of the log could not be used; allow-skipped is 0",
        ),
        (
            limit("min-hit-rate", 1),  # far below, but the line could hold what raises it
            after(problems=(Problem(file="x", line=3, reason="cut short", remedy=""),)),
            "1 line of the log could not be used",
        ),
        (limit("max-growth", 1, metric="cost"), after(), "there is no baseline"),
    ],
)
def test_what_cannot_be_judged_is_no_pass(one: Limit, session: Session, says: str) -> None:
    result = judged(one, session)
    assert result.outcome == "unjudged"
    assert result.results[0].status == "unjudged"
    assert says in (result.results[0].reason or "")


def test_missing_evidence_does_not_mend_what_is_broken() -> None:
    # The eleven requests that have a price cost more than a cent.
    partly = one_request(after(), model="a-model-of-nobody")
    assert judged(limit("max-cost", 10**10), partly).outcome == "broken"
    assert judged(limit("max-misses", 0), rows_only(after())).outcome == "broken"


def test_equivalents_need_no_final_output() -> None:
    assert (
        judged(limit("max-input-equivalents", EQUIVALENTS), one_request(after(), output_final=False)).outcome == "held"
    )


def test_some_skipped_lines_may_be_allowed() -> None:
    session = after(accounting=Accounting(rows=14, used=12, skipped=(("broken JSON", 2),)))
    one = limit("max-cost", COST)
    assert gate(session, budgets=[budget(one, allow_skipped=2)]).outcome == "held"
    assert gate(session, budgets=[budget(one, allow_skipped=1)]).outcome == "unjudged"


def test_a_session_that_the_baseline_does_not_hold_is_named() -> None:
    result = judged(limit("max-growth", 10**15, metric="cost"), baseline={"rec/other.jsonl#x": Measures()})
    assert result.outcome == "unjudged"
    assert f"does not hold {KEY}" in (result.results[0].reason or "")


def test_a_run_recorded_again_under_a_new_id_is_compared_with_its_file() -> None:
    one = limit("max-growth", 0, metric="cost")
    again = {"rec/gate-after.jsonl#another-id": measure(diagnose(after()))}
    assert judged(one, baseline=again).outcome == "held"
    twice = {**again, "rec/gate-after.jsonl#third-id": Measures()}
    assert judged(one, baseline=twice).outcome == "unjudged", "which of two it was is not known"


def test_a_recording_under_another_name_is_known_by_its_session() -> None:
    one = limit("max-growth", 0, metric="cost")
    moved = {"old/name.jsonl#gate-after": measure(diagnose(after()))}
    assert judged(one, baseline=moved).outcome == "held"
    assert (
        judged(limit("max-growth", 0, metric="misses"), baseline={"old/name.jsonl#gate-after": Measures()}).outcome
        == "broken"
    )
    twice = {**moved, "old/other.jsonl#gate-after": Measures()}
    assert judged(one, baseline=twice).outcome == "unjudged", "which of two it was is not known"


def test_an_entry_whose_recording_is_gone_was_not_judged() -> None:
    one = limit("max-growth", 0, metric="cost")
    gone = {KEY: measure(diagnose(after())), "rec/gone.jsonl#gone": Measures()}
    result = judged(one, baseline=gone)
    assert result.outcome == "unjudged"
    assert [(item.subject, item.status) for item in result.results] == [
        ("rec/gone.jsonl#gone", "unjudged"),
        ("rec/gate-after.jsonl", "held"),
    ]
    named = judged(one, baseline=gone, all_must_match=False)
    assert named.outcome == "held", "of files that were named the others have nothing to say"
    other = gate(after(), budgets=[budget(one, traces=("rec/gate-*.jsonl",))], baseline=gone)
    assert other.outcome == "held", "the budget is not about it"
    assert judged(limit("max-misses", 1), baseline=gone).outcome == "held", "nothing is compared"


# What counts: broken before not judged before held.


def test_a_broken_budget_counts_before_one_that_cannot_be_judged() -> None:
    both = gate(after(), budgets=[budget(limit("max-misses", 0), limit("max-growth", 1, metric="cost"))])
    assert {result.status for result in both.results} == {"broken", "unjudged"}
    assert both.outcome == "broken"


def test_an_input_that_cannot_be_read_counts_before_what_holds() -> None:
    problem = Problem(file="x", line=0, reason="of no known format", remedy="")
    assert judged(limit("max-misses", 1), problems=[problem]).outcome == "unjudged"
    assert judged(limit("max-misses", 0), problems=[problem]).outcome == "broken"


def test_a_budget_that_warns_decides_nothing() -> None:
    warns = budget(limit("max-misses", 0), name="w", level="warn")
    holds = budget(limit("max-misses", 1), name="h")
    result = gate(after(), budgets=[warns, holds])
    assert (result.outcome, result.count("broken")) == ("held", 1)
    assert [finding.blame for finding in result.findings] == ["warning"]


def test_nothing_judged_is_no_pass() -> None:
    other = budget(limit("max-misses", 1), traces=("other/*.jsonl",))
    assert gate(after(), budgets=[other], all_must_match=False).outcome == "unjudged"
    result = gate(after(), budgets=[other, budget(limit("max-misses", 1), name="all")])
    assert result.outcome == "unjudged"
    assert result.results[0].reason == "no session was found for this budget"


def test_budgets_take_the_sessions_that_they_match() -> None:
    strict = budget(limit("max-misses", 0), name="strict", traces=("rec/*-before.jsonl",))
    loose = budget(limit("max-misses", 1), name="loose", traces=("rec/*-after.jsonl", "no"))
    result = gate(after(), before(), budgets=[strict, loose])
    assert result.outcome == "held"
    assert {(one.budget, one.subject) for one in result.results} == {
        ("strict", "rec/gate-before.jsonl"),
        ("loose", "rec/gate-after.jsonl"),
    }


def test_sessions_may_be_judged_together() -> None:
    both = COST + COST_BEFORE
    held, broken = limit("max-cost", both), limit("max-cost", both - 1)
    for one, outcome in ((held, "held"), (broken, "broken")):
        result = gate(after(), before(), budgets=[budget(one, judge="together")])
        assert result.outcome == outcome
        assert result.results[0].subject == "2 sessions together"


def test_the_other_half_of_a_proved_cause_counts_as_found() -> None:
    from agentsim.traces.samples.make_atlas import atlas_session

    # Rows 13 and 14 lose their caches to AS502 and AS501: neither alone explains it.
    sums = measure(diagnose(atlas_session()))
    assert dict(sums.misses)["AS502"] == 2
    assert "AS501" not in dict(sums.misses)
    assert dict(sums.causes)["AS501"] == 2
    assert gate(atlas_session(), budgets=[budget(limit("forbid", cause="AS501"))]).outcome == "broken"


def test_misses_are_blamed_by_what_they_break() -> None:
    def blames(*limits: Limit) -> list[str]:
        return [finding.blame for finding in gate(after(), budgets=[budget(*limits)]).findings]

    assert blames(limit("forbid", cause="AS103")) == ["error"]
    assert blames(limit("max-cost", 1)) == ["warning"], "it stands in a session that broke a limit"
    assert blames(limit("max-misses", 1)) == ["note"]


def test_the_worst_comes_first() -> None:
    limits = (limit("max-cost", COST), limit("max-cost", COST // 2), limit("max-cost", COST // 10))
    result = gate(after(), budgets=[budget(*limits, limit("max-growth", 1, metric="cost"))])
    assert [one.status for one in result.results] == ["broken", "broken", "unjudged", "held"]
    assert [one.limit.value for one in result.results[:2]] == [COST // 10, COST // 2]


def test_requests_of_another_session_count_nothing() -> None:
    copied = with_requests(after(), counted=False)
    assert judged(limit("max-cost", 10**15), copied).results[0].reason == "no request in it"


@pytest.mark.parametrize(
    ("metric", "entry", "says"),
    [
        ("cost", Measures(requests=3, cost=1, unpriced=1), "the baseline has no price for 1 of its requests"),
        ("misses", Measures(requests=3, unreported=2), "the baseline has no cache counters for 2 of its requests"),
    ],
)
def test_a_baseline_with_holes_is_nothing_to_measure_from(metric: str, entry: Measures, says: str) -> None:
    result = judged(limit("max-growth", 10**15, metric=metric), baseline={KEY: entry})
    assert (result.outcome, result.results[0].reason) == ("unjudged", says)


def test_of_two_sessions_in_a_file_neither_is_compared_with_the_file() -> None:
    one = limit("max-growth", 10**15, metric="cost")
    again = {"rec/run.jsonl#another-id": measure(diagnose(after()))}
    recordings = [Recording(session, ("rec/run.jsonl",)) for session in (after(), before())]
    result = judge(recordings, [budget(one)], baseline=again)
    assert [item.status for item in result.results] == ["unjudged"] * 3, "each of the two, and the entry of neither"
    assert {item.subject for item in result.results} == {
        "rec/run.jsonl#gate-after",
        "rec/run.jsonl#gate-before",
        "rec/run.jsonl#another-id",
    }


def test_a_miss_of_a_request_of_another_session_counts_nothing() -> None:
    session = after()
    requests = [msgspec.structs.replace(one, counted=one.id != "r07") for one in session.requests]
    result = judged(limit("max-misses", 0), after(requests=tuple(requests)))
    assert (result.outcome, result.findings) == ("held", ())


def test_a_compaction_can_be_forbidden_and_is_no_miss() -> None:
    verdicts = (
        Verdict(request="a", kind="compaction", cause="AS140"),
        Verdict(request="b", kind="hit", cause="AS201"),
    )
    requests = tuple(msgspec.structs.replace(one, id=id) for one, id in zip(after().requests, "ab", strict=False))
    sums = measure(
        Diagnosis(session=after(requests=requests), rows=(), verdicts=verdicts, totals=Totals(), by_bodies=False)
    )
    assert (sums.causes, sums.misses) == ((("AS140", 1),), ())


def test_an_entry_that_nobody_read_can_be_forbidden_where_a_request_stands_alone() -> None:
    """The worked example: three subagents write one prefix at once and end; the main lane has writes in vain too."""
    from agentsim.traces.samples.make_atlas import atlas_session

    forbidden = budget(limit("forbid", cause="AS307"))
    session = atlas_session()
    found = gate(session, budgets=[forbidden])
    assert found.outcome == "broken"
    assert found.results[0].actual == 3
    main = tuple(one for one in session.requests if one.lane == session.requests[0].lane)
    assert gate(msgspec.structs.replace(session, requests=main), budgets=[forbidden]).outcome == "held"
    # Its family is about how breakpoints lose what was kept.
    alone = msgspec.structs.replace(session, requests=session.requests[-1:])
    assert gate(alone, budgets=[forbidden]).outcome == "broken"
    assert gate(alone, budgets=[budget(limit("forbid", cause="AS3xx"))]).outcome == "held"


def test_whether_an_entry_was_paid_in_vain_is_not_known_without_a_price() -> None:
    free = with_requests(after(), model="claude-that-nobody-sells")
    result = gate(free, budgets=[budget(limit("forbid", cause="AS307"))]).results[0]
    assert result.status == "unjudged"
    assert "no price is known" in (result.reason or "")


def test_a_line_is_that_of_the_file_that_was_read(tmp_path: Path) -> None:
    # The trace tells where each request stood in the log it was made of; that log is not at hand.
    elsewhere = with_requests(after(), source=Source("log-of-somebody.jsonl", 99))
    path = str(write(elsewhere, tmp_path / "run.jsonl"))
    (recording,) = read_recordings([path], [])
    assert Lines(recording).place(recording.session.requests[6]) == (path, 8)
    log = str(claude_code_log(tmp_path, "log.jsonl", "word"))
    (recording,) = read_recordings([log], [])
    assert Lines(recording).place(recording.session.requests[2]) == (log, 6)
