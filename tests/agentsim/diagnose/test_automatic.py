"""Rows of automatic caches: reads in steps, no fixed lifetime, and words that claim no more than the log shows."""

from __future__ import annotations

import pytest

from agentsim.core.dates import SECOND
from agentsim.core.session import Event, Lane, Request, Session, Usage
from agentsim.diagnose import diagnose, judge_rows
from agentsim.diagnose.read_steps import USUAL_STEP, steps_of
from agentsim.diagnose.row_facts import ReadSteps, RowFacts


def session(*rows, provider="openai", model="gpt-5.5", events=()):
    """Rows of (seconds at its start, whole input, read, other fields of the request); each takes one second."""
    requests = []
    for index, (at, total, read, *rest) in enumerate(rows):
        fields = rest[0] if rest else {}
        usage = Usage(fresh=total - read, read=read, write_other=fields.pop("write", None), output=5)
        requests.append(
            Request(
                id=f"r{index}",
                lane="main",
                model=fields.pop("model", model),
                provider=fields.pop("provider", provider),
                parent=f"r{index - 1}" if index else None,
                start=None if at is None else at * SECOND,
                end=None if at is None else (at + 1) * SECOND,
                usage=usage,
                **fields,
            )
        )
    return Session(
        id="s",
        format="codex",
        completeness="messages",
        lanes=(Lane(id="main", title="main"),),
        requests=tuple(requests),
        events=tuple(Event(kind=kind, time=None, lane="main", before=before) for kind, before in events),
    )


def last(*rows, **fields):
    return judge_rows(session(*rows, **fields))[-1]


# Reads of 384 + n * 512: four of them show a step of 512.
STEADY = ((0, 3_000, 1_408), (10, 4_000, 2_944), (20, 5_000, 3_968), (30, 6_000, 4_992))


def test_a_read_that_ends_within_a_step_is_a_hit():
    assert [verdict.kind for verdict in judge_rows(session(*STEADY))] == ["first", "hit", "hit", "hit"]
    # 5,000 tokens were there: 384 + 9 * 512 = 4,992 is the last whole step.
    verdict = judge_rows(session(*STEADY))[3]
    assert (verdict.expected, verdict.predicted, verdict.prediction) == (5_000, 4_992, "exact")


@pytest.mark.parametrize(
    ("provider", "model", "total", "kind"),
    [
        ("gemini", "gemini-4-argon", 4_095, "uncached"),
        ("gemini", "gemini-4-argon", 4_096, "miss"),
        ("vertex", "gemini-4-argon", 6_143, "uncached"),
        ("vertex", "gemini-4-argon", 6_144, "miss"),
        ("gemini", "gemini-3-flash-preview", 6_143, "uncached"),
        ("gemini", "gemini-3-flash-preview", 6_144, "miss"),
        ("openai", "gpt-5.4", 1_024, "miss"),
        ("somebody", "something", 1_024, "miss"),
    ],
)
def test_nothing_is_lost_below_the_minimum_of_the_model(provider, model, total, kind):
    verdict = last((0, total, 0), (10, total + 500, 0), provider=provider, model=model)
    assert (verdict.kind, verdict.lost) == (kind, 0 if kind == "uncached" else total)
    if kind == "uncached":
        assert verdict.cause == "AS303"
        assert verdict.evidence == ("likely" if verdict.alternatives else "implied"), "where the minimum is disputed"


@pytest.mark.parametrize(("sent", "kind"), [(6_144, "hit"), (6_145, "miss")])
def test_a_step_and_a_turns_end_may_be_missing(sent, kind):
    # Reads end at 384 + n * 512, and 5,504 is one of them: 512 + 128 tokens behind it may stay unread.
    verdict = last(*STEADY, (40, sent, 5_504), (50, 7_000, 5_504))
    assert (verdict.kind, verdict.lost) == (kind, 0 if kind == "hit" else 512)


@pytest.mark.parametrize(
    ("sent", "read", "kind"),
    [
        (30_080, 28_032, "hit"),  # 2,048 tokens of the turn before were not read
        (30_081, 28_032, "miss"),
        (6_240, 4_992, "hit"),  # and no more than a fifth
        (6_241, 4_992, "miss"),
    ],
)
def test_a_new_turn_drops_two_thousand_tokens_at_most(sent, read, kind):
    rows = (*STEADY, (40, sent, 5_504), (50, sent + 500, read))
    assert last(*rows, events=[("prompt_submitted", "r5")]).kind == kind
    assert last(*rows).kind == "miss"


@pytest.mark.parametrize(("sent", "kind"), [(5_360, "hit"), (5_359, "shorter")])
def test_a_prompt_that_is_shorter_by_more_than_a_step_is_told(sent, kind):
    # 6,000 tokens before, less 512 + 128; 4,992 is the last whole step of either.
    assert last(*STEADY, (40, sent, 4_992)).kind == kind


@pytest.mark.parametrize(("read", "told"), [(6_528, False), (7_040, True)])
def test_a_read_beyond_what_was_sent_is_told(read, told):
    # 5,888 tokens before, and 640 more may be what the provider puts around the last message.
    verdict = last(*STEADY, (40, 5_888, 5_504), (50, 8_000, read))
    assert (verdict.kind, bool(verdict.established)) == ("hit", told)


def test_a_prompt_that_goes_back_and_reads_nothing_is_lost():
    # It ends 500 tokens behind the end of the first one, whose 600 tokens are less than any that are kept.
    rows = ((0, 600, 0), *((at + 10, total, read) for at, total, read in STEADY))
    assert last(*rows, (60, 1_100, 0)).kind == "miss"


def test_one_step_more_is_a_loss():
    # 6,000 - 5,376 = 624 is 512 + 112; 6,000 - 4,864 = 1,136 is more than a step and its slack.
    assert last(*STEADY, (40, 7_000, 5_504)).kind == "hit"
    verdict = last(*STEADY, (40, 7_000, 4_992))
    assert (verdict.kind, verdict.lost) == ("miss", 5_504 - 4_992), "5,504 is the last whole step of 6,000"


@pytest.mark.parametrize(
    ("idle", "cause", "evidence", "pause"),
    [
        (9, "AS901", "unexplained", False),
        (60, "AS901", "unexplained", False),
        (61, "AS901", "unexplained", True),
        (300, "AS901", "unexplained", True),
        (301, "AS205", "likely", True),
        (6_157, "AS205", "likely", True),
    ],
)
def test_a_loss_after_a_pause_of_minutes_is_put_down_to_it_and_no_pause_is_called_an_expiry(
    idle, cause, evidence, pause
):
    verdict = last(*STEADY, (31 + idle, 7_000, 1_408))
    assert (verdict.kind, verdict.cause, verdict.evidence) == ("miss", cause, evidence)
    assert ("AS205" in (verdict.cause, *verdict.alternatives)) is pause
    assert {"AS503", "AS130", "AS105", "AS112"} <= set(verdict.alternatives)
    said = " ".join(verdict.established)
    assert f"No fixed lifetime is published for this provider's cache; it was idle for {idle} s." in said
    assert "five-minute" not in said


@pytest.mark.parametrize(("idle", "cause"), [(120, "AS901"), (121, "AS205")])
def test_the_back_end_of_codex_drops_a_prefix_sooner(idle, cause):
    assert last(*STEADY, (31 + idle, 7_000, 1_408), provider="codex").cause == cause


def test_without_times_it_says_so():
    rows = [(None, total, read) for _, total, read in STEADY]
    verdict = judge_rows(session(*rows, (None, 7_000, 0)))[-1]
    assert (verdict.cause, verdict.alternatives[:2]) == ("AS902", ("AS503", "AS205"))
    assert any("not known" in sentence for sentence in verdict.established)


def test_an_older_copy_is_told_by_where_it_ends():
    # 2,944 lies within a step of the 3,000 tokens of r0... and r1 read just that.
    verdict = last(*STEADY, (40, 7_000, 2_944))
    assert any("request r0 ended" in sentence for sentence in verdict.established)


def test_a_shorter_prompt_that_was_read_is_no_loss():
    verdict = last(*STEADY, (40, 3_500, 3_456))
    assert (verdict.kind, verdict.lost) == ("shorter", 0)


def test_a_shrunken_prompt_that_was_lost_is_told():
    verdict = last(*STEADY, (40, 4_000, 1_408))
    assert (verdict.kind, verdict.cause, verdict.evidence) == ("miss", "AS130", "likely")
    assert "AS131" in verdict.alternatives
    replaced = last(*STEADY, (40, 3_400, 1_408))
    assert (replaced.kind, replaced.cause, replaced.evidence) == ("miss", "AS131", "likely")
    turn = last(*STEADY, (40, 5_000, 1_408), events=[("prompt_submitted", "r4")])
    assert turn.cause == "AS901"  # a new turn drops a little by itself


@pytest.mark.parametrize(
    ("fields", "events", "cause", "evidence"),
    [
        ({"model": "gpt-5.4"}, (), "AS404", "implied"),
        ({"provider": "azure"}, (), "AS503", "implied"),
        ({"account": "two"}, (), "AS503", "implied"),
        ({}, [("clearing", "r4")], "AS122", "implied"),
        ({}, [("tools_delta", "r4")], "AS112", "likely"),
    ],
)
def test_what_the_log_shows_comes_before_chance(fields, events, cause, evidence):
    rows = [(*row, {"account": "one"}) for row in STEADY]
    verdict = last(*rows, (40, 7_000, 384, fields), events=events)
    assert (verdict.kind, verdict.cause, verdict.evidence) == ("miss", cause, evidence)


def test_a_compaction_is_no_loss():
    assert last(*STEADY, (40, 2_000, 384), events=[("compaction", "r4")]).kind == "compaction"


def test_replies_may_be_read_too():
    verdict = last(*STEADY, (40, 9_000, 7_040))
    assert verdict.kind == "hit"
    assert "replies are cached as well" in verdict.established[0]


def test_nothing_read_at_first_is_a_beginning_and_no_missing_breakpoint():
    assert judge_rows(session((0, 3_000, 0)))[0].kind == "first"


def test_a_prompt_below_the_minimum_loses_nothing():
    verdict = last((0, 900, 0), (10, 950, 0))
    assert (verdict.kind, verdict.cause, verdict.lost) == ("uncached", "AS303", 0)
    assert last((0, 1_100, 0), (10, 1_200, 0)).kind == "miss"


def test_a_new_turn_does_not_excuse_the_loss_of_most_of_it():
    events = [("prompt_submitted", "r1")]
    assert last((0, 1_500, 100), (10, 2_000, 50), events=events).kind == "miss"
    assert last((0, 15_000, 100), (10, 16_000, 13_000), events=events).kind == "hit"


def test_claude_behind_a_gateway_keeps_its_published_lifetime():
    rows = ((0, 30_000, 0), (10, 31_000, 29_998), (20, 32_000, 30_998))
    short = last(*rows, (200, 33_000, 0), provider="cline", model="anthropic/claude-opus-4.8")
    late = last(*rows, (420, 33_000, 0), provider="cline", model="anthropic/claude-opus-4.8")
    assert (short.kind, short.cause) == ("miss", "AS902")
    assert (late.kind, late.cause, late.evidence) == ("miss", "AS201", "likely")  # if five minutes were asked for


def test_where_writes_are_reported_no_five_minutes_are_claimed_either():
    rows = session(
        (0, 3_000, 0, {"write": 2_900}), (10, 4_000, 2_900, {"write": 900}), (900, 5_000, 0, {"write": 4_900})
    )
    assert judge_rows(rows)[2].cause != "AS201"
    assert "five-minute" not in " ".join(judge_rows(rows)[2].established)


@pytest.mark.parametrize(
    ("provider", "model", "automatic"),
    [
        ("openai", "gpt-5.1-codex", True),
        ("openai", "gpt-5.6-sol", False),  # writes at breakpoints: a zero says that none was there
        ("a name of my own", "gpt-5.1-codex", True),  # nobody's rules, and nothing was ever written
        ("a name of my own", "claude-opus-4-8", False),
        ("anthropic", "claude-opus-4-8", False),
    ],
)
def test_writes_of_nothing_in_every_row_are_no_writes(provider, model, automatic):
    """Codex logs a counter of writes for every model, which is zero where the cache has none to report."""

    def kinds(*writes):
        sizes = ((0, 8_584, 0), (10, 17_727, 8_576), (20, 20_000, 8_576))
        rows = [(*size, {"write": write}) for size, write in zip(sizes, writes, strict=False)]
        return [verdict.kind for verdict in judge_rows(session(*rows, provider=provider, model=model))][:2]

    assert (kinds(0, 0) == ["first", "hit"]) is automatic
    assert kinds(0, 0, 500) != ["first", "hit"], "one that writes once could have written before"


def test_the_loss_is_priced():
    verdict = diagnose(session(*STEADY, (40, 7_000, 384))).verdicts[-1]
    # gpt-5.5: 5 dollars a million fresh, 0.5 read: 4.5 picodollars * 10^6 a token.
    # Of 6,000 tokens 384 + 10 * 512 = 5,504 could be read.
    assert verdict.lost_cost == (5_504 - 384) * 4_500_000


def test_steps_are_learnt_from_reads():
    def facts(*reads):
        return [RowFacts(str(index), "m", read, 0, 10) for index, read in enumerate(reads)]

    assert steps_of(facts(0, 1_408, 2_944, 3_968, 4_992)).width == 512
    assert steps_of(facts(9_984, 20_224, 21_248, 22_272)).width == 1_024
    assert steps_of(facts(1_408, 2_944)).width == USUAL_STEP  # too few to tell
    assert steps_of(facts(1_408, 2_944, 3_968)).width == USUAL_STEP
    steps = [100 + 512 * number for number in (1, 2, 4, 7, 11, 12, 15, 19, 21)]
    assert steps_of(facts(*steps, 9_001)) == ReadSteps(512, (100,))  # one read in ten may end elsewhere
    assert steps_of(facts(*steps[1:], 9_001)).width != 512
    # Three that end alike are another row of steps, and fewer end where no step does.
    two_rows = [*steps, *(512 * number + 612 for number in range(40)), 512 * 9 + 7, 512 * 12 + 7, 512 * 30 + 7]
    assert steps_of(facts(*two_rows)) == ReadSteps(512, (100, 7))
    assert steps_of(facts(*two_rows[:-1])) == ReadSteps(512, (100,))
    assert steps_of(facts(0, 100_001, 200_002, 300_003, 400_004)).width == USUAL_STEP  # no cache has such steps


def reads_of(session):
    return [request.usage.read for request in session.requests]


def test_the_losses_of_a_real_session(shared_data):
    from agentsim.traces.readers.codex import read_sessions

    path = shared_data / "codex" / "agentv__gpt55-173req-compacted.jsonl"
    (found,) = read_sessions([str(path)])
    verdicts = diagnose(found).verdicts
    large = [
        (verdict.kind, read)
        for read, verdict in zip(reads_of(found), verdicts, strict=True)
        if verdict.kind in ("miss", "compaction") and 5 * read < 4 * (verdict.expected or 0)
    ]
    # The 14 falls below 80 % that the data's own description lists, in order.
    reads = [2_432, 30_592, 20_352, 4_480, 85_376, 2_432, 2_432, 4_480, 9_600, 9_600, 37_248, 47_488, 47_488, 90_496]
    assert [read for _, read in large] == reads
    assert [kind for kind, _ in large].count("compaction") == 1
    # 13 more fell by less than a fifth, to an older copy; nearly all others are known to the token beforehand.
    assert sum(verdict.kind == "miss" for verdict in verdicts) == 13 + 13
    assert sum(verdict.prediction == "exact" for verdict in verdicts) > 140
    assert all(verdict.cause != "AS201" for verdict in verdicts)
    # Of the falls nine came after pauses of more than two minutes, seven of them of more than five.
    assert sum(verdict.cause == "AS205" for verdict in verdicts) == 9
    assert not any("five-minute" in sentence for verdict in verdicts for sentence in verdict.established)


@pytest.mark.parametrize(
    ("total", "read", "cause"), [(10_000, 9_600, None), (9_999, 9_600, "AS131"), (6_100, 5_504, None)]
)
def test_a_prompt_of_which_most_is_gone_was_replaced(total: int, read: int, cause: str | None) -> None:
    found = last(*STEADY, (40, 20_000, 5_504), (50, total, read))
    assert (found.kind, found.cause, found.lost) == ("shorter", cause, 0), "a request of 6,000 had ended there"
