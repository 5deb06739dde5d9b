"""Verdicts by bodies under OpenAI's contract with breakpoints: the cause is the rule that restores the read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agentsim.core.prompt import Block, Breakpoint, Prompt
from agentsim.core.session import Request, Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose.relax import judge_bodies
from tests.agentsim.prompts import block, request, session

MODEL = "gpt-5.6-sol"
HALF_HOUR, HALF_DAY = 30 * 60, 12 * 3600
SYSTEM = block("be brief", 3_000, "system", role="developer", message=0)
EXPLICIT = '"explicit"'


def body(*blocks: Block, marks: tuple[int, ...] = ()) -> Prompt:
    numbered = [msgspec.structs.replace(one, message=number, part=0) for number, one in enumerate(blocks)]
    return Prompt.of(numbered, [Breakpoint(mark, HALF_HOUR) for mark in marks])


def sent(name: str, at: int, prompt: Prompt, *, usage: Usage | None = None, **settings: Any) -> Request:
    made = request(name, at, prompt, model=MODEL, usage=usage, settings={"prompt_cache_key": '"chat"', **settings})
    return msgspec.structs.replace(made, provider="openai")


def judged(*requests: Request) -> tuple[Verdict, ...]:
    return judge_bodies(session(requests))


def said(name: str, tokens: int) -> Block:
    return block(name, tokens, role="assistant")


TURNS = (SYSTEM, block("q1", 679))
GROWN = (*TURNS, said("a1", 5), block("q2", 16))


def test_i14_is_a_row_of_hits() -> None:
    first = Usage(fresh=2, read=0, write_short=3_679, output=5)
    second = Usage(fresh=2, read=3_679, write_short=21, output=6)
    verdicts = judged(sent("1", 0, body(*TURNS), usage=first), sent("2", 20, body(*GROWN), usage=second))
    assert [verdict.kind for verdict in verdicts] == ["first", "hit"]
    assert (verdicts[1].predicted, verdicts[1].prediction) == (3_679, "exact")


def test_an_edited_system_text_is_named_with_its_place() -> None:
    other = (block("be long", 3_000, "system", role="developer"), *GROWN[1:])
    verdict = judged(sent("1", 0, body(*TURNS)), sent("2", 20, body(*other)))[1]
    assert (verdict.kind, verdict.cause, verdict.evidence) == ("miss", "AS110", "proved")
    assert verdict.place is not None
    assert verdict.place.address == "system[0]"
    assert verdict.lost == 679  # what stands behind the edited block; that block itself is another one


@pytest.mark.parametrize(
    ("settings", "gap"), [({}, HALF_HOUR), ({"prompt_cache_ttl": '"12h"'}, HALF_DAY)], ids=["30m", "12h"]
)
def test_an_expired_entry_is_told_with_its_lifetime(settings: dict[str, Any], gap: int) -> None:
    in_time = judged(sent("1", 0, body(*TURNS), **settings), sent("2", gap, body(*GROWN), **settings))[1]
    assert in_time.kind == "hit"
    late = judged(sent("1", 0, body(*TURNS), **settings), sent("2", gap + 1, body(*GROWN), **settings))[1]
    assert (late.kind, late.cause, late.evidence, late.lost) == ("miss", "AS206", "proved", 3_679)
    assert f"lives {gap} s" in late.established[0]


def test_a_dropped_lifetime_is_told_apart() -> None:
    long: dict[str, Any] = {"prompt_cache_ttl": '"12h"'}
    grown_more = (*GROWN, said("a2", 6), block("q3", 16))
    requests = (
        sent("1", 0, body(*TURNS), **long),
        sent("2", 60, body(*GROWN)),
        sent("3", 60 + HALF_HOUR + 60, body(*grown_more)),
    )
    # The first entry of 3,679 tokens lives for half a day; the second, behind it, for half an hour.
    assert [(one.kind, one.cause, one.lost) for one in judged(*requests)][2] == ("miss", "AS203", 21)


def test_the_provider_may_keep_it_longer_than_it_promises() -> None:
    second = Usage(fresh=2, read=3_679, write_short=21, output=6)
    late = judged(sent("1", 0, body(*TURNS)), sent("2", 2 * HALF_HOUR, body(*GROWN), usage=second))[1]
    assert (late.kind, late.prediction) == ("hit", "exact")


@pytest.mark.parametrize(
    ("setting", "cause"),
    [("effort", "AS403"), ("verbosity", "AS407"), ("prompt_cache_key", "AS503"), ("service_tier", "AS407")],
)
def test_a_setting_in_the_key(setting: str, cause: str) -> None:
    other: dict[str, Any] = {setting: '"other"'}
    verdict = judged(sent("1", 0, body(*TURNS)), sent("2", 20, body(*GROWN), **other))[1]
    assert (verdict.kind, verdict.cause, verdict.evidence, verdict.lost) == ("miss", cause, "proved", 3_679)


def test_a_breakpoint_that_moved_leaves_what_it_kept_unread() -> None:
    # One marker, always on the newest message: the entry at q1 has no marker in the second request.
    one = sent("1", 0, body(*TURNS, marks=(1,)), prompt_cache_mode=EXPLICIT)
    two = sent("2", 20, body(*GROWN, marks=(3,)), prompt_cache_mode=EXPLICIT)
    verdict = judged(one, two)[1]
    assert (verdict.kind, verdict.cause, verdict.lost) == ("miss", "AS302", 3_679)
    assert "carries no breakpoint on messages[1].content[0]" in verdict.established[0]
    kept = sent("2", 20, body(*GROWN, marks=(1, 3)), prompt_cache_mode=EXPLICIT)
    assert judged(one, kept)[1].kind == "hit", "what the fix promises"


def test_more_breakpoints_than_are_looked_up() -> None:
    # Written at q1; in the next request 80 markers stand behind it.
    many = [block(f"m{number}", 10) for number in range(80)]
    one = sent("1", 0, body(*TURNS, marks=(1,)), prompt_cache_mode=EXPLICIT)
    two = sent("2", 20, body(*TURNS, *many, marks=tuple(range(1, 82))), prompt_cache_mode=EXPLICIT)
    verdict = judged(one, two)[1]
    assert (verdict.kind, verdict.cause, verdict.lost) == ("miss", "AS301", 3_679)
    fewer = sent("2", 20, body(*TURNS, *many, marks=tuple(range(1, 81))), prompt_cache_mode=EXPLICIT)
    assert judged(one, fewer)[1].kind == "hit"


def test_explicit_mode_without_a_breakpoint_is_caching_switched_off() -> None:
    verdict = judged(sent("1", 0, body(*TURNS), prompt_cache_mode=EXPLICIT))[0]
    assert (verdict.kind, verdict.cause) == ("uncached", "AS305")


def test_one_question_after_the_other_is_a_breakpoint_on_what_changes() -> None:
    # The provider's own breakpoint stands on the question each time: 3,000 tokens of system text are never read.
    requests = [sent(str(number), 20 * number, body(SYSTEM, block(f"q{number}", 100))) for number in range(2)]
    verdict = judged(*requests)[1]
    assert (verdict.kind, verdict.cause, verdict.lost) == ("miss", "AS306", 3_000)


def test_a_loss_without_a_reason_stays_unexplained_unless_it_came_too_soon() -> None:
    nothing = Usage(fresh=2, read=0, write_short=3_700, output=6)
    soon = judged(sent("1", 0, body(*TURNS)), sent("2", 20, body(*GROWN), usage=nothing))[1]
    assert (soon.cause, soon.evidence) == ("AS501", "likely"), "written entries became readable after up to 30 s"
    later = judged(sent("1", 0, body(*TURNS)), sent("2", 40, body(*GROWN), usage=nothing))[1]
    assert (later.cause, later.evidence, later.alternatives) == ("AS902", "unexplained", ("AS503",))


@pytest.mark.parametrize(("read", "marks", "open_"), [(3_000, (), True), (3_000, (0,), False), (0, (), False)])
def test_a_read_pinned_to_the_system_text_leaves_the_disputed_lookup_open(
    read: int, marks: tuple[int, ...], open_: bool
) -> None:
    usages = [Usage(fresh=2, read=0, write_short=3_679, output=5), Usage(fresh=2, read=read, write_short=700, output=6)]
    prompts = (body(*TURNS, marks=marks), body(*GROWN, marks=marks))
    verdict = judged(*(sent(str(at), 90 * at, prompts[at], usage=usages[at]) for at in (0, 1)))[1]
    assert verdict.kind == "miss"
    assert ("AS302" in verdict.alternatives) is open_
    assert ("own breakpoints are looked up" in " ".join(verdict.established)) is open_
