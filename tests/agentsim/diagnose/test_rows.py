"""Rows without bodies: cases from public bug reports, and the arithmetic of elimination."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from agentsim.core.dates import SECOND
from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Event, Lane, Request, Session, Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose import diagnose, judge_rows
from agentsim.diagnose.elimination import DOCUMENTED_CLOCK, OBSERVED_CLOCK, LifetimeClock
from agentsim.diagnose.lifetime_clock import expiry
from agentsim.diagnose.row_facts import LOOKBACK, RowFacts
from agentsim.rules.providers import rules_for
from agentsim.traces.readers.claude_code import read_sessions
from agentsim.traces.samples.claude_log import ClaudeLog, turns


def rows(*specs: Mapping[str, object], completeness: str = "usage", provider: str = "anthropic") -> Session:
    """A session of usage rows: ``t`` and ``took`` in seconds, the counters of :class:`Usage`, other fields as they
    are."""
    requests = []
    for index, spec in enumerate(specs):
        values = dict(spec)
        t, took = values.pop("t", None), values.pop("took", 5)
        start = None if t is None else int(float(t) * SECOND)  # type: ignore[arg-type]
        counters = ("fresh", "read", "write_short", "write_long", "write_other", "output")
        usage = {name: values.pop(name) for name in counters if name in values}
        fields = {
            "id": f"r{index + 1}",
            "lane": "main",
            "model": "claude-opus-4-8",
            "provider": provider,
            "parent": f"r{index}" if index else None,
            "start": start,
            "end": None if start is None else start + int(float(took) * SECOND),  # type: ignore[arg-type]
            **values,
        }
        requests.append(Request(usage=Usage(**usage), **fields))  # type: ignore[arg-type]
    return Session(
        id="s",
        format="test",
        completeness=completeness,  # type: ignore[arg-type]
        lanes=(Lane(id="main", title="main"),),
        requests=tuple(requests),
    )


def verdicts(*specs: Mapping[str, object], **options: str) -> list[Verdict]:
    return judge_rows(rows(*specs, **options))


def said(verdict: Verdict) -> str:
    return " ".join((*verdict.established, *verdict.to_check))


def test_c26_a_new_effort_misses_and_an_old_one_is_found_again() -> None:
    effort = lambda level: (("effort", f'"{level}"'),)  # noqa: E731
    found = verdicts(
        {"t": 0, "write_short": 20_000, "read": 0, "settings": effort("low")},
        {"t": 20, "write_short": 1_000, "read": 20_000, "settings": effort("low")},
        {"t": 40, "write_short": 22_000, "read": 0, "settings": effort("medium")},
        {"t": 60, "write_short": 1_000, "read": 22_000, "settings": effort("medium")},
        {"t": 80, "write_short": 24_000, "read": 0, "settings": effort("high")},
        {"t": 99, "write_short": 4_000, "read": 21_000, "settings": effort("low")},
    )
    assert [(v.kind, v.cause) for v in found] == [
        ("first", None),
        ("hit", None),
        ("miss", "AS403"),
        ("hit", None),
        ("miss", "AS403"),
        ("recovered", None),
    ]
    assert found[5].compared_with == "r2"


def test_c27_a_seven_minute_gap_is_an_expiry_worth_33_cents() -> None:
    diagnosis = diagnose(
        rows(
            {"t": 0, "read": 56_000, "write_short": 2_058, "fresh": 0, "model": "claude-opus-4-5"},
            {"t": 430, "read": 0, "write_short": 58_058, "fresh": 0, "model": "claude-opus-4-5"},
        )
    )
    verdict = diagnosis.verdicts[1]
    assert (verdict.kind, verdict.cause, verdict.lost) == ("miss", "AS201", 58_058)
    # A write at $6.25 instead of a read at $0.50 a million: 58,058 x 5.75 / 10**6 = $0.3338335
    assert verdict.lost_cost == 58_058 * 5_750_000
    assert "430 s since the previous request began" in said(verdict)


def test_c30_below_the_minimum_nothing_is_written_and_nothing_is_a_miss() -> None:
    found = verdicts(
        {"t": 0, "fresh": 2_500, "read": 0, "write_short": 0}, {"t": 20, "fresh": 2_500, "read": 0, "write_short": 0}
    )
    assert [v.kind for v in found] == ["uncached", "uncached"]
    assert all((v.cause, v.evidence, v.alternatives) == ("AS305", "implied", ()) for v in found), "2,500 are enough"


def test_c33_the_same_prompt_right_after_the_first_may_not_be_readable_yet() -> None:
    may = 1_778_500_000  # 2026-05; mended on 2026-08-05, as the rules say
    first = {"t": may, "took": 3, "read": 0, "write_short": 1_215, "fresh": 10}
    early = verdicts(first, {**first, "t": may + 3.5})[1]
    late = verdicts(first, {**first, "t": may + 5})[1]  # two seconds after the answer, by the rules of that month
    assert verdicts(first, {**first, "t": may + 4.999})[1].cause == "AS501"
    mended = verdicts({**first, "t": may + 10**7}, {**first, "t": may + 10**7 + 3.5})[1]
    assert early.cause == "AS501"
    assert late.cause != "AS501"
    assert "AS501" not in (mended.cause, *mended.alternatives)
    assert early.lost == 1_215


def test_c39_a_read_that_stays_flat_while_the_input_grows_is_a_loss_each_time() -> None:
    """A gateway that moves notes to the front: 4 thousand tokens are read, whatever was sent before."""
    specs = [
        {"t": 0, "fresh": 27_978, "read": 3_584},
        {"t": 380, "fresh": 51_681, "read": 3_712},
        {"t": 833, "fresh": 68_827, "read": 4_096},
    ]
    first, *later = judge_rows(rows(*specs, provider="openai"))
    assert first.kind == "first"
    assert [v.kind for v in later] == ["miss", "miss"]
    # What the request before had sent could have been read, but for what was.
    assert [v.lost for v in later] == [27_978 + 3_584 - 3_712, 51_681 + 3_712 - 4_096]
    assert all({"AS112", "AS130"} & {v.cause, *v.alternatives} or (v.cause or "").startswith("AS2") for v in later)


def test_c40_another_provider_has_another_cache() -> None:
    session = rows(
        {"t": 0, "fresh": 3_000, "read": 0, "provider": "deepinfra"},
        {"t": 10, "fresh": 3_500, "read": 0, "provider": "novita"},
        {"t": 20, "fresh": 500, "read": 3_500, "provider": "novita"},
    )
    first, second, third = judge_rows(session)
    assert first.kind == "uncached" or first.kind == "first"
    assert (second.kind, second.cause) == ("miss", "AS503")
    assert third.kind == "hit"


def test_c44b_a_read_refreshes_and_without_it_the_entry_expires() -> None:
    write, ping, late = (
        {"t": 0, "took": 2, "read": 0, "write_short": 5_860},
        {"t": 240, "took": 2, "read": 5_860, "write_short": 0, "purpose": "keep_alive"},
        {"t": 482, "took": 2, "read": 5_860, "write_short": 0},
    )
    assert [v.kind for v in verdicts(write, ping, late)] == ["first", "hit", "hit"]
    assert all(v.prediction == "exact" for v in verdicts(write, ping, late)[1:])
    gone = verdicts(write, {**late, "read": 0, "write_short": 5_860})[1]
    assert (gone.kind, gone.cause) == ("miss", "AS201")


def test_c45_head_kept_and_body_rewritten_is_not_an_expiry_where_the_gap_is_known() -> None:
    known = verdicts(
        {"t": 0, "took": 20, "read": 20_601, "write_long": 784_944},
        {"t": 102, "took": 20, "read": 20_601, "write_long": 899_075},
    )[1]
    assert known.kind == "miss"
    assert known.cause not in ("AS201", "AS202", "AS204")
    assert not {"AS201", "AS202"} & set(known.alternatives)
    assert "alone cannot explain" in said(known)
    # The waste is what was warm before, not all that was written.
    assert known.lost == 20_601 + 784_944 - 20_601
    unknown = verdicts({"read": 20_601, "write_long": 240_995}, {"read": 20_601, "write_long": 318_111})[1]
    assert "AS202" in unknown.alternatives
    assert "cannot be excluded" in said(unknown)


def test_one_growing_prompt_counts_no_breaks_where_reads_follow(tmp_path: Path) -> None:
    log = ClaudeLog()
    turns(log, [100, 2_000, 30, 900])
    (session,) = read_sessions([str(log.save(tmp_path / "s.jsonl"))])
    diagnosis = diagnose(session)
    assert [v.kind for v in diagnosis.verdicts] == ["first", "hit", "hit", "hit", "hit"]
    assert diagnosis.totals.misses == 0


def shorter_history(log: ClaudeLog, warm: int, read: int, write: int) -> None:
    log.user("again")
    log.now += 20
    log.call(read, write, fresh=3)


@pytest.mark.parametrize(
    ("read", "write", "kind"),
    [
        (20_500, 40, "shorter"),  # back to the end of the second request
        (20_700, 40, "shorter"),  # to a place no logged request wrote
        (9_000, 11_540, "miss"),  # the same length, but most of it was written again
    ],
)
def test_a_shorter_prompt_is_a_miss_only_if_it_was_not_read(tmp_path: Path, read: int, write: int, kind: str) -> None:
    log = ClaudeLog()
    warm = turns(log, [500, 9_000])
    shorter_history(log, warm, read, write)
    (session,) = read_sessions([str(log.save(tmp_path / "s.jsonl"))])
    verdict = diagnose(session).verdicts[-1]
    assert verdict.kind == kind
    assert verdict.lost == (0 if kind == "shorter" else 20_543 - 9_000)


def test_compaction_and_clearing_are_told_apart(tmp_path: Path) -> None:
    def after(subtype: str, **fields: object) -> Verdict:
        log = ClaudeLog(subtype)
        warm = turns(log, [50_000])
        log.add("system", subtype=subtype, **fields)
        log.user("Summary", isCompactSummary=True) if subtype == "compact_boundary" else log.results()
        log.call(9_000, warm - 40_000)
        (session,) = read_sessions([str(log.save(tmp_path / f"{subtype}.jsonl"))])
        return diagnose(session).verdicts[-1]

    compacted = after("compact_boundary")
    cleared = after("microcompact_boundary")
    assert (compacted.kind, compacted.cause, compacted.lost) == ("compaction", "AS140", 0)
    # 39,002 tokens in all, of which 9,000 were read
    assert (cleared.kind, cleared.cause, cleared.lost) == ("miss", "AS122", 9_000 + 30_000 + 2 - 9_000)


def test_an_unlogged_call_is_proved_by_a_read_beyond_all_that_was_logged(tmp_path: Path) -> None:
    log = ClaudeLog()
    log.user()
    log.call(0, 20_000, output=345, stop="end_turn", tools=0)
    log.user("next")
    log.now += 60
    log.call(20_345, 80)
    (session,) = read_sessions([str(log.save(tmp_path / "s.jsonl"))])
    diagnosis = diagnose(session)
    verdict = diagnosis.verdicts[1]
    assert (verdict.kind, verdict.unlogged, verdict.prediction) == ("extended", 345, "exact")
    # At least: 20,000 read at $0.50 and 345 written at $6.25 a million
    assert (diagnosis.totals.unlogged, diagnosis.totals.unlogged_cost) == (1, 20_000 * 500_000 + 345 * 6_250_000)


def test_a_placeholder_output_is_recovered_but_not_predicted(tmp_path: Path) -> None:
    log = ClaudeLog(version="2.0.76")
    log.user()
    log.call(0, 20_000, output=1, stop=None, tools=0)
    log.user("next")
    log.call(20_384, 15)
    (session,) = read_sessions([str(log.save(tmp_path / "s.jsonl"))])
    assert session.requests[0].output_final is False
    verdict = diagnose(session).verdicts[1]
    assert (verdict.kind, verdict.unlogged, verdict.prediction) == ("extended", 384, "wrong")
    assert "recovers" in said(verdict)


@pytest.mark.parametrize(("blocks", "cause"), [(20, "AS190"), (21, "AS301")])
def test_the_lookback_reaches_twenty_appended_blocks(tmp_path: Path, blocks: int, cause: str) -> None:
    log = ClaudeLog()
    log.user()
    log.call(9_000, 11_000, tools=10)
    log.results(blocks - 10)
    log.call(9_000, 12_000)
    (session,) = read_sessions([str(log.save(tmp_path / "s.jsonl"))])
    verdict = diagnose(session).verdicts[1]
    assert verdict.cause == cause
    assert ("AS301" in verdict.alternatives) == (blocks == 20)


@pytest.mark.parametrize(
    ("gap", "read", "kind", "cause", "prediction"),
    [
        (299, 20_000, "hit", None, "exact"),
        (315, 20_000, "hit", None, "exact"),  # either is expected just after the lifetime
        (315, 0, "miss", "AS204", "class"),
        (331, 0, "miss", "AS201", "exact"),
        (331, 20_000, "hit", None, "wrong"),
        (299, 0, "miss", "AS204", "class"),  # over five minutes from the start, under them from the end
        (280, 0, "miss", "AS902", "wrong"),
    ],
)
def test_the_edge_of_a_lifetime(
    tmp_path: Path, gap: int, read: int, kind: str, cause: str | None, prediction: str
) -> None:
    log = ClaudeLog()
    log.user()
    log.call(0, 20_000)
    log.now += gap
    log.results()
    log.call(read, 20_500 - read)
    (session,) = read_sessions([str(log.save(tmp_path / "s.jsonl"))])
    verdict = diagnose(session).verdicts[1]
    assert (verdict.kind, verdict.cause, verdict.prediction) == (kind, cause, prediction)


def test_a_tier_that_fell_from_an_hour_to_five_minutes_is_named(tmp_path: Path) -> None:
    log = ClaudeLog()
    warm = turns(log, [500], hour=True)
    log.results()
    log.call(warm, 700, hour=False)
    log.now += 420
    log.results()
    log.call(9_000, 13_000)
    (session,) = read_sessions([str(log.save(tmp_path / "s.jsonl"))])
    assert diagnose(session).verdicts[-1].cause == "AS203"


def test_the_providers_word_decides_unless_judged_blind(tmp_path: Path) -> None:
    log = ClaudeLog()
    warm = turns(log, [500], hour=True)
    log.results()
    log.label("tools_changed", 12_000).call(9_000, warm)
    (session,) = read_sessions([str(log.save(tmp_path / "s.jsonl"))])
    verdict = diagnose(session).verdicts[-1]
    assert (verdict.cause, verdict.evidence) == ("AS105", "provider")
    blind = diagnose(session, use_provider_diagnosis=False).verdicts[-1]
    assert (blind.cause, blind.evidence) == ("AS130", "likely")
    assert {"AS105", "AS901"} <= set(blind.alternatives)


def test_no_difference_found_rules_a_changed_prefix_out(tmp_path: Path) -> None:
    log = ClaudeLog()
    warm = turns(log, [500], hour=True)
    log.now += 20
    log.results()
    log.label(None).call(9_000, warm)
    (session,) = read_sessions([str(log.save(tmp_path / "s.jsonl"))])
    verdict = diagnose(session).verdicts[-1]
    assert verdict.cause == "AS901"
    assert verdict.alternatives == ("AS503",)
    assert "found no difference" in said(verdict)


@pytest.mark.parametrize(("clock", "profile"), [(DOCUMENTED_CLOCK, None), (OBSERVED_CLOCK, "session_log")])
def test_the_clocks_are_those_of_the_rules_file(clock: LifetimeClock, profile: str | None) -> None:
    """Rows are judged without loading the rules, for speed; the figures must be the same ones."""
    rules = rules_for("anthropic", "claude-opus-4-8", None, profile)
    grace = (rules.ttl_grace, rules.ttl_grace_long)
    assert clock == LifetimeClock(from_end=rules.ttl_clock == "response_end", grace=grace[0], grace_long=grace[1])
    assert rules.lookback == LOOKBACK


@pytest.mark.parametrize(("gap", "cause"), [(3_649, "AS204"), (3_651, "AS202")])
def test_the_edge_of_an_hour(tmp_path: Path, gap: int, cause: str) -> None:
    log = ClaudeLog()
    log.user()
    log.call(0, 20_000, hour=True)
    log.now += gap
    log.results()
    log.call(9_000, 11_500, hour=True)
    (session,) = read_sessions([str(log.save(tmp_path / "s.jsonl"))])
    assert diagnose(session).verdicts[1].cause == cause


@pytest.mark.parametrize(
    ("written", "idle", "cause"),
    [
        ("write_short", 400, "AS190"),  # half an hour has not passed
        ("write_short", 1_900, "AS206"),
        ("write_long", 1_900, "AS190"),  # nor has half a day
        ("write_long", 43_300, "AS206"),
    ],
)
def test_the_lifetimes_of_rows_are_those_of_their_provider(written, idle, cause):
    def row(name, at, **usage):
        return Request(
            id=name,
            lane="main",
            model="gpt-5.6-sol",
            provider="openai",
            start=at * 10**9,
            end=(at + 1) * 10**9,
            parent="a" if name == "b" else None,
            usage=Usage(**usage),
        )

    first = row("a", 0, fresh=2, read=0, output=5, **{written: 30_000})
    second = row("b", idle, fresh=2, read=0, output=5, **{written: 30_500})
    session = Session(
        id="s",
        format="test",
        completeness="usage",
        lanes=(Lane(id="main", title="main"),),
        requests=(first, second),
    )
    assert judge_rows(session)[1].cause == cause


def talk(*texts: str) -> Prompt:
    """The messages of a prompt whose tools and system text nobody logged."""
    return Prompt.of(
        Block(
            section="messages",
            kind="text",
            digest=text.encode().ljust(16, b"."),
            role="user",
            tokens=1_000,
            message=number,
            part=0,
            text=text,
        )
        for number, text in enumerate(texts)
    )


@pytest.mark.parametrize(
    ("later", "read", "cause", "evidence"),
    [
        (("one", "TWO", "three", "four"), 9_000, "AS120", "likely"),
        (("one", "TWO", "three", "four"), 0, "AS902", "unexplained"),  # it alone would leave tools and system
        (("one", "two", "three", "four"), 9_000, "AS901", "unexplained"),  # nothing of it is in the log
    ],
)
def test_messages_that_the_log_holds_are_compared(later: tuple[str, ...], read: int, cause: str, evidence: str) -> None:
    found = verdicts(
        {"t": 0, "read": 0, "write_short": 12_000, "prompt": talk("one", "two")},
        {"t": 20, "read": 12_000, "write_short": 1_000, "prompt": talk("one", "two", "three")},
        {"t": 40, "read": read, "write_short": 14_000 - read, "prompt": talk(*later)},
        completeness="messages",
    )[2]
    assert (found.kind, found.cause, found.evidence) == ("miss", cause, evidence)
    assert (found.place is not None and found.place.address == "messages[1].content[0]") is (cause == "AS120")
    if read == 0:
        assert "AS120" in found.alternatives
        assert "would leave tools and system" in said(found)


def test_a_read_after_more_than_five_minutes_proves_an_hour() -> None:
    """Where a log does not tell for how long was written: 400 s after a read at 400 s nothing had expired."""
    rows_ = [
        {"t": 0, "read": 0, "write_other": 20_000},
        {"t": 400, "read": 20_000, "write_other": 500},
        {"t": 800, "read": 0, "write_other": 21_000},
    ]
    assert "AS201" not in (verdicts(*rows_)[2].cause, *verdicts(*rows_)[2].alternatives)
    alone = verdicts(rows_[0], {**rows_[2], "t": 400})[1]
    assert (alone.cause, alone.evidence) == ("AS201", "likely")


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"write_short": 0, "read": 0, "fresh": 21_000}, "AS305"),
        ({"write_short": 0, "read": 19_400, "fresh": 900}, "AS302"),
        ({"write_short": 0, "read": 9_000, "fresh": 12_000}, "AS302"),
        ({"write_short": 21_000, "read": 0, "speed": "fast"}, "AS406"),
        ({"write_short": 21_000, "read": 0, "account": "two"}, "AS503"),
    ],
)
def test_what_a_row_itself_shows(fields: Mapping[str, object], cause: str) -> None:
    before = {"t": 0, "read": 0, "write_short": 20_000, "speed": "standard", "account": "one"}
    verdict = verdicts(before, {"t": 20, "speed": "standard", "account": "one", **fields})[1]
    assert (verdict.kind, verdict.cause) == ("miss", cause)
    assert verdict.evidence == ("likely" if verdict.alternatives else "implied")


def test_a_few_tokens_at_the_end_of_a_message_are_no_loss() -> None:
    def second(short: int) -> Verdict:
        rows = ({"t": 0, "write_short": 9_000, "read": 0}, {"t": 30, "write_short": 700, "read": 9_000 - short})
        return verdicts(*rows)[1]

    assert (second(63).kind, second(63).lost) == ("hit", 0)
    assert (second(64).kind, second(64).lost) == ("miss", 64)


def tails(*reads: int) -> list[str | None]:
    """The causes of rows of which each adds 1,000 tokens, with these reads after a first one of 20,000 written."""
    specs: list[dict[str, object]] = [{"t": 0, "read": 0, "write_short": 20_000}]
    for number, read in enumerate(reads, 1):
        specs.append({"t": 20 * number, "read": read, "write_short": 20_000 + 1_000 * number - read})
    return [verdict.cause for verdict in verdicts(*specs)][1:]


def test_an_end_that_is_written_each_time_and_never_read_is_a_marker_on_what_changes() -> None:
    assert tails(20_000, 20_000, 20_000) == [None, "AS130", "AS306"], "the same place again, first short by one request"
    assert tails(20_000, 21_000, 20_000, 20_000)[2:] == ["AS130", "AS130"], "far back: a window that slides"
    assert tails(20_000, 20_000, 20_000 + 1_000 - 300)[1:] == ["AS130", "AS306"], "all of it but a block at its end"


@pytest.mark.parametrize(
    ("detail", "cause"),
    [
        ("github (3 tools) came", "AS101"),
        ("github (3 tools) went", "AS102"),
        ("github (3 tools) came; linear went", "AS105"),
        (None, "AS105"),
    ],
)
def test_tools_that_came_or_went_by_the_log_are_named(detail: str | None, cause: str) -> None:
    base = rows(
        {"t": 0, "read": 0, "write_short": 20_000},
        {"t": 20, "read": 0, "write_short": 21_000},
        completeness="messages",
    )
    event = Event(kind="tools_delta", time=None, lane="main", before="r2", detail=detail)
    found = judge_rows(msgspec.structs.replace(base, events=(event,)))[-1]
    assert (found.cause, found.evidence) == (cause, "likely")
    assert "AS105" in (found.cause, *found.alternatives)


def _aged(
    seconds: int, *, took: int | None = 5, ttl: int | None = 300, lives: tuple[int, int] | None = None
) -> RowFacts:
    """A row so many seconds after the start of the one before."""
    parent, row = RowFacts("r1", "m", 0, 2_000, 0), RowFacts("r2", "m", 0, 3_000, 0)
    parent.start, parent.end = 0, None if took is None else took * SECOND
    parent.ttl, parent.lives = ttl, lives
    row.parent, row.start = parent, seconds * SECOND
    return row


@pytest.mark.parametrize(
    ("clock", "ttl", "seconds", "expired"),
    [
        (DOCUMENTED_CLOCK, 300, 300, "no"),
        (DOCUMENTED_CLOCK, 300, 301, "yes"),
        (DOCUMENTED_CLOCK, 3_600, 3_600, "no"),
        (DOCUMENTED_CLOCK, 3_600, 3_601, "yes"),
        (DOCUMENTED_CLOCK, None, 300, "no"),  # five minutes are the usual lifetime
        (DOCUMENTED_CLOCK, None, 301, "yes"),
        # Counted from the end, five seconds later; over by the other way to count is "edge".
        (OBSERVED_CLOCK, 300, 300, "no"),
        (OBSERVED_CLOCK, 300, 301, "edge"),
        (OBSERVED_CLOCK, 300, 305, "edge"),
        (OBSERVED_CLOCK, 300, 306, "edge"),
        (OBSERVED_CLOCK, 300, 335, "edge"),
        (OBSERVED_CLOCK, 300, 336, "yes"),
        (OBSERVED_CLOCK, 3_600, 3_600, "no"),
        (OBSERVED_CLOCK, 3_600, 3_655, "edge"),
        (OBSERVED_CLOCK, 3_600, 3_656, "yes"),
    ],
)
def test_an_entry_lives_to_the_last_second_of_its_lifetime(
    clock: LifetimeClock, ttl: int | None, seconds: int, expired: str
) -> None:
    assert expiry(_aged(seconds, ttl=ttl), clock)[0] == expired


@pytest.mark.parametrize(
    ("seconds", "expired"), [(300, "no"), (301, "unknown"), (3_600, "unknown"), (3_601, "yes"), (0, "no")]
)
def test_between_the_least_and_the_most_nothing_is_known(seconds: int, expired: str) -> None:
    assert expiry(_aged(seconds, ttl=None, lives=(300, 3_600)), DOCUMENTED_CLOCK)[0] == expired


def test_without_an_end_a_lifetime_counts_from_the_start_and_without_times_not_at_all() -> None:
    assert expiry(_aged(330, took=None), OBSERVED_CLOCK)[0] == "edge"
    assert expiry(_aged(331, took=None), OBSERVED_CLOCK)[0] == "yes"
    row = _aged(301)
    assert row.parent is not None
    row.parent.start = None
    assert expiry(row, DOCUMENTED_CLOCK)[0] == "no"  # 296 s since the response ended
    row.parent.end = None
    assert expiry(row, DOCUMENTED_CLOCK) == ("unknown", None)


def test_what_an_expiry_rests_on_is_told() -> None:
    def sentence(seconds: int, took: int, ttl: int | None) -> str:
        return expiry(_aged(seconds, took=took, ttl=ttl), DOCUMENTED_CLOCK)[1] or ""

    assert "counted from the start" in sentence(301, 1, 300)  # 300 s since the response ended
    assert "counted from the start" not in sentence(302, 1, 300)
    assert "which the log does not tell" in sentence(302, 1, None)
    assert [name in sentence(9, 1, ttl) for ttl, name in ((300, "five-minute"), (3_600, "one-hour"), (60, "60 s"))] == [
        True
    ] * 3


@pytest.mark.parametrize(
    ("total", "read", "kind"),
    [
        (30_000, 27_952, "shorter"),  # 2,048 tokens of new end
        (30_000, 27_951, "miss"),
        (15_000, 13_500, "shorter"),  # a tenth of it
        (15_000, 13_499, "miss"),
    ],
)
def test_a_shorter_prompt_has_a_small_new_end(total: int, read: int, kind: str) -> None:
    found = verdicts(
        {"t": 0, "write_short": 10_000, "read": 0},
        {"t": 20, "write_short": 30_000, "read": 10_000},
        {"t": 40, "write_short": total - read, "read": read},
    )
    assert found[-1].kind == kind


@pytest.mark.parametrize(
    ("total", "read", "kind"),
    [
        (41_000, 38_952, "extended"),
        (41_000, 38_951, "miss"),
        (15_000, 13_500, "extended"),
        (15_000, 13_499, "miss"),
    ],
)
def test_a_new_turn_replaces_a_small_end(total: int, read: int, kind: str) -> None:
    before = 40_000 if total > 40_000 else 14_500
    made = rows(
        {"t": 0, "write_short": 10_000, "read": 0},
        {"t": 20, "write_short": before - 10_000, "read": 10_000},
        {"t": 40, "write_short": total - read, "read": read},
    )
    events = (Event(kind="prompt_submitted", time=None, lane="main", before="r3"),)
    assert judge_rows(msgspec.structs.replace(made, events=events))[-1].kind == kind
    assert judge_rows(made)[-1].kind == "miss"


@pytest.mark.parametrize(("read", "kind"), [(19_937, "hit"), (19_936, "miss")])
def test_a_loss_begins_at_64_tokens(read: int, kind: str) -> None:
    found = verdicts({"t": 0, "write_short": 20_000, "read": 0}, {"t": 20, "write_short": 21_000 - read, "read": read})
    assert found[-1].kind == kind


@pytest.mark.parametrize(("seconds", "is_early"), [(0, True), (4, True), (5, False)])
def test_what_is_sent_before_an_answer_begins_cannot_be_read(seconds: int, is_early: bool) -> None:
    day = 1_790_000_000  # no rule doubts any more that an entry can be read from then on
    first = {"t": day, "took": 9, "write_short": 20_000, "read": 0, "first_token": (day + 5) * SECOND}
    found = verdicts(first, {"t": day + seconds, "write_short": 21_000, "read": 0})[1]
    assert ("AS501" in (found.cause, *found.alternatives)) == is_early


@pytest.mark.parametrize(("fresh", "cause"), [(1_023, "AS303"), (1_024, "AS305")])
def test_the_minimum_itself_is_kept(fresh: int, cause: str) -> None:
    # The model keeps prefixes of 1,024 tokens and more, by its documentation.
    assert verdicts({"t": 1_790_000_000, "fresh": fresh, "read": 0, "write_short": 0})[0].cause == cause


@pytest.mark.parametrize(
    ("before", "now", "cause"), [("fast", "fast", None), ("standard", "fast", "AS406"), (None, "fast", None)]
)
def test_a_change_of_speed_takes_two_speeds(before: str | None, now: str, cause: str | None) -> None:
    one = {"t": 0, "write_short": 20_000, "read": 0, "speed": before}
    found = verdicts(one, {"t": 20, "write_short": 21_000, "read": 0, "speed": now})[1]
    assert (found.cause == "AS406") == (cause == "AS406")
    assert ("AS406" in found.alternatives) == (before is None)
    partly = verdicts(
        one,
        {"t": 20, "write_short": 1_000, "read": 20_000},
        {**one, "t": 40, "read": 20_000, "write_short": 9, "speed": now},
    )
    assert partly[2].cause != "AS406"
