"""Automatic caches judged by bodies: the same content that was not found, or other content and where it differs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agentsim.core.dates import SECOND
from agentsim.core.prompt import Block, Prompt, Section
from agentsim.core.session import Event, Lane, Request, Session, Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose.relax import judge_bodies


def prompt(*names: str) -> Prompt:
    """Blocks of 1,000 tokens; a name says where it stands: ``t`` a tool, ``s`` system, anything else a message."""
    sections: dict[str, Section] = {"t": "tools", "s": "system"}
    return Prompt.of(
        Block(
            section=sections.get(name[0], "messages"),
            kind="tool" if name[0] == "t" else "text",
            role=None if name[0] in sections else "user",
            digest=name.encode().ljust(16, b"."),
            tokens=1000,
            name=name[:2] if name[0] == "t" else None,
            message=at,
            text=name,
        )
        for at, name in enumerate(names)
    )


BEGAN = 1_790_000_000
"""September 2026, in seconds."""


def session(*asked: tuple[float, Prompt, int | None], events: tuple[Event, ...] = (), **more: Any) -> Session:
    """Requests of one lane: seconds, prompt, tokens read (``None``: not reported)."""
    requests = tuple(
        Request(
            id=f"r{number}",
            lane="main",
            model="gpt-5.1",
            provider="openai",
            start=BEGAN * SECOND + round(at * SECOND),
            first_token=BEGAN * SECOND + round(at * SECOND) + SECOND,
            prompt=one,
            usage=None if read is None else Usage(fresh=one.tokens - read, read=read, output=1),
            parent=None if number == 0 else f"r{number - 1}",
        )
        for number, (at, one, read) in enumerate(asked)
    )
    lanes = (Lane(id="main", title="main"),)
    made = Session(id="s", format="agentsim", completeness="full", lanes=lanes, requests=requests, events=events)
    return msgspec.structs.replace(made, **more)


def last(found: Session) -> Verdict:
    return judge_bodies(found)[-1]


HEAD = ("t1", "t2", "sand", "a")
"""4,000 tokens: 31 steps of 128 are 3,968."""


def test_growing_prompts_are_hits_within_a_step() -> None:
    kinds = [
        (verdict.kind, verdict.prediction)
        for verdict in judge_bodies(
            session((0, prompt(*HEAD), 0), (5, prompt(*HEAD, "b"), 3968), (9, prompt(*HEAD, "b", "c"), 4992))
        )
    ]
    assert kinds == [("first", "exact"), ("hit", "exact"), ("hit", "exact")]
    assert last(session((0, prompt(*HEAD), 0), (5, prompt(*HEAD, "b"), 3840))).kind == "hit", "one step short"
    assert last(session((0, prompt(*HEAD), 0), (5, prompt(*HEAD, "b"), 3584))).kind == "miss", "three steps short"


@pytest.mark.parametrize(("read", "kind"), [(4_000 - 256, "hit"), (4_000 - 257, "miss")])
def test_a_step_and_what_stands_around_the_last_message_may_be_missing(read: int, kind: str) -> None:
    verdict = last(session((0, prompt(*HEAD), 0), (5, prompt(*HEAD, "b"), read)))
    assert (verdict.kind, verdict.lost) == (kind, 0 if kind == "hit" else 3_968 - read)


@pytest.mark.parametrize(("tokens", "kind"), [(1_023, "uncached"), (1_024, "first")])
def test_the_minimum_itself_is_kept(tokens: int, kind: str) -> None:
    one = session((0, prompt("a"), 0))
    (asked,) = one.requests
    told = msgspec.structs.replace(asked, usage=Usage(fresh=tokens, read=0, output=1))
    assert last(msgspec.structs.replace(one, requests=(told,))).kind == kind


@pytest.mark.parametrize(
    ("names", "read", "cause", "address", "lost"),
    [
        (("t1", "t2, edited", "sand", "a"), 0, "AS104", "tools[1]", 3968),
        (("t2", "t1", "sand", "a"), 0, "AS103", "tools[0]", 3968),
        (("t1", "t2", "stone", "a"), 1920, "AS110", "system[2]", 1048),
    ],
)
def test_a_change_is_named_with_its_place(
    names: tuple[str, ...], read: int, cause: str, address: str, lost: int
) -> None:
    verdict = last(session((0, prompt(*HEAD), 0), (5, prompt(*names, "b"), read)))
    assert (verdict.kind, verdict.cause, verdict.evidence) == ("miss", cause, "proved")
    assert verdict.place is not None
    assert verdict.place.address == address
    assert verdict.lost == lost, "the text that an edited block still has was cached"
    assert "summary" not in " ".join(verdict.established)
    assert verdict.compared_with == "r0"


def test_settings_and_models_have_caches_of_their_own() -> None:
    base = session((0, prompt(*HEAD), 0), (5, prompt(*HEAD, "b"), 0))
    first, second = base.requests
    for more, cause in (
        ({"model": "gpt-5.2"}, "AS404"),
        ({"settings": (("effort", '"low"'),)}, "AS403"),
        ({"settings": (("verbosity", '"low"'),)}, "AS407"),
        ({"settings": (("prompt_cache_key", '"k"'),)}, "AS503"),
    ):
        changed = msgspec.structs.replace(base, requests=(first, msgspec.structs.replace(second, **more)))
        assert (last(changed).cause, last(changed).evidence) == (cause, "proved")


def test_content_that_was_there_and_was_not_found() -> None:
    def verdict(seconds: float) -> Verdict:
        return last(session((0, prompt(*HEAD), 0), (seconds, prompt(*HEAD, "b"), 0)))

    assert verdict(0.5).cause == "AS501", "the first answer begins after a second"
    assert (verdict(5).cause, verdict(5).evidence) == ("AS902", "unexplained")
    assert verdict(31).alternatives == ("AS501", "AS503"), "half a minute after the answer, as somebody measured"
    assert verdict(32).alternatives == ("AS503",)
    assert (verdict(61).cause, verdict(61).alternatives) == ("AS902", ("AS503", "AS205"))
    assert verdict(60).alternatives == ("AS503",)
    assert (verdict(300).cause, verdict(300).evidence) == ("AS902", "unexplained")
    assert (verdict(301).cause, verdict(301).evidence) == ("AS205", "likely")
    assert (verdict(1).cause, verdict(1).evidence) == ("AS501", "likely"), "the answer began just then"
    assert (verdict(3).cause, verdict(3.001).cause) == ("AS501", "AS902"), "two seconds after the answer"
    assert verdict(3_000).alternatives == ("AS503", "AS902")
    partly = last(session((0, prompt(*HEAD), 0), (5, prompt(*HEAD, "b"), 1024)))
    assert (partly.cause, partly.lost) == ("AS901", 3968 - 1024)


def test_a_read_of_what_was_there_before_the_last_request() -> None:
    def third(at: float, read: int) -> Verdict:
        grown = prompt(*HEAD, "b", "c")
        return last(session((0, prompt(*HEAD), 0), (50, grown, 3968), (at, prompt(*HEAD, "b", "c", "d"), read)))

    assert (third(60, 3968).cause, third(60, 3968).evidence) == ("AS501", "likely")
    assert third(60, 3968 + 256).cause == third(60, 3968 - 256).cause == "AS501", "a step, and what stands around"
    assert third(60, 3968 - 257).cause == "AS901"
    assert third(60, 3968 + 257).cause == "AS901", "that is more than was there before"
    assert third(81, 3968).cause == "AS501", "the answer had ended half a minute before"
    assert third(81.001, 3968).cause == "AS901"
    assert third(82, 3968).cause == "AS901", "after half a minute nobody saw it"
    floor = [(20 * n, prompt(*HEAD, *(f"m{k}" for k in range(n))), 2048 if n else 0) for n in range(4)]
    assert [one.cause for one in judge_bodies(session(*floor))[1:]] == ["AS901"] * 3, "older entries were there by then"


def test_a_change_is_likely_where_most_of_what_was_lost_stood_behind_it() -> None:
    def changed(read: int) -> Verdict:
        old = prompt(*HEAD, "b", "c", "d", "e")  # 8,000 tokens; 4,992 of 5,000 stand in front of the change
        return last(session((0, old, 0), (5, prompt(*HEAD, "b", "C", "d", "e", "f"), read)))

    assert (changed(4_992).evidence, changed(4_992).cause) == ("proved", "AS120")
    likely = changed(3_584)  # 1,408 in front were not found, 3,008 behind could not be
    assert (likely.evidence, likely.cause) == ("likely", "AS120")
    assert likely.alternatives[0] == "AS901"
    # Of 4,992 tokens in front 1,503 and of what was cached 3,008 behind: less than half as many.
    assert [changed(read).evidence for read in (3_489, 3_488)] == ["likely", "unexplained"]
    assert (changed(3_456).evidence, changed(3_456).cause) == ("unexplained", "AS901"), "1,536 in front of 3,008"
    assert [changed(read).evidence for read in (4_736, 4_735, 5_248, 5_249)] == ["proved", "likely"] * 2
    known = ["as far as sizes are known" in " ".join(changed(read).established) for read in (4_368, 4_367)]
    assert known == [True, False], "an eighth of 4,992"
    assert changed(0).cause == "AS902", "nothing was read: the change alone does not explain that"
    salted = session((0, prompt(*HEAD), 0), (12, prompt(*HEAD, "b"), 0))
    rows = [msgspec.structs.replace(one, settings=(("user", f'"{one.id}"'),)) for one in salted.requests]
    found = last(msgspec.structs.replace(salted, requests=tuple(rows)))
    assert found.alternatives[0] == "AS503"
    assert "user changed" in found.established[0]


def test_other_rows() -> None:
    assert last(session((0, prompt("a"), 0))).kind == "uncached", "1,000 tokens are below the minimum"
    assert last(session((0, prompt(*HEAD), 0), (5, prompt(*HEAD[:3]), 2944))).kind == "shorter"
    compacted = Event(kind="compaction", time=5 * SECOND, lane="main", before="r1")
    summary = session((0, prompt(*HEAD), 0), (5, prompt(*HEAD[:3], "sum"), 2944), events=(compacted,))
    assert (last(summary).kind, last(summary).cause) == ("compaction", "AS140")
    silent = session((0, prompt(*HEAD), 0), (5, prompt(*HEAD, "b"), 0))
    rows = (silent.requests[0], msgspec.structs.replace(silent.requests[1], usage=Usage(fresh=5000)))
    assert last(msgspec.structs.replace(silent, requests=rows)).kind == "unreported"
    modeled = session((0, prompt(*HEAD), None), (5, prompt(*HEAD, "b"), None))
    assert [verdict.kind for verdict in judge_bodies(modeled)] == ["first", "hit"]


def test_a_server_of_no_known_kind_is_judged_by_the_reads_that_it_reports() -> None:
    base = session((0, prompt(*HEAD), 0), (5, prompt("t1", "t2 edited", "sand", "a", "b"), 1000))
    unknown = [msgspec.structs.replace(one, provider="nobody") for one in base.requests]
    verdict = last(msgspec.structs.replace(base, requests=tuple(unknown)))
    assert (verdict.kind, verdict.cause, verdict.evidence) == ("miss", "AS104", "proved")
    silent = [msgspec.structs.replace(one, usage=None) for one in unknown]
    assert last(msgspec.structs.replace(base, requests=tuple(silent))).kind == "unreported"


def beginnings(*asked: tuple[float, Prompt, int]) -> tuple[Verdict, ...]:
    """The verdicts on requests each of which begins a conversation of its own."""
    base = session(*asked)
    lanes = tuple(Lane(id=f"l{at}", title="") for at in range(len(asked)))
    requests = tuple(msgspec.structs.replace(one, lane=f"l{at}", parent=None) for at, one in enumerate(base.requests))
    return judge_bodies(msgspec.structs.replace(base, lanes=lanes, requests=requests))


def test_a_front_that_another_conversation_sent_a_moment_before_can_be_read() -> None:
    def second(at: float, read: int) -> Verdict:
        return beginnings((0, prompt(*HEAD), 0), (at, prompt(*HEAD[:3], "z"), read))[1]

    lost = second(5, 0)
    assert (lost.kind, lost.cause, lost.evidence, lost.lost) == ("miss", "AS902", "unexplained", 2944)
    assert lost.compared_with == "r0"
    assert second(60, 0).kind == "miss"
    assert second(61, 0).kind == "first", "nobody promises to keep it longer for somebody else"
    assert second(5, 2944).kind == "first"
    assert second(5, 2944 - 1024).kind == "first", "a loss as small as the shortest prefix that is kept"
    assert second(5, 2944 - 1025).kind == "miss"


def test_a_head_with_a_clock_is_lost_by_each_conversation_anew() -> None:
    def heads(one: str, two: str) -> tuple[Verdict, ...]:
        return beginnings((0, prompt("t1", one, "s end", "a"), 0), (9, prompt("t1", two, "s end", "b"), 0))

    first, lost = heads("s at 10:00:01", "s at 10:00:10")
    assert first.kind == "first"
    assert (lost.kind, lost.cause, lost.evidence, lost.lost) == ("miss", "AS111", "proved", 2944)
    assert lost.place is not None
    assert lost.place.address == "system[1]"
    assert heads("s for the planner", "s for the tester")[1].kind == "first", "another agent on purpose"
    assert heads("s at 10:00:01", "s at 10:00:01")[1].cause == "AS902", "the very same head"


def test_a_conversation_that_lost_an_equal_front_has_a_head_for_the_next() -> None:
    def clock(text: str, ask: str) -> Prompt:
        return prompt("t1", text, "s end", ask)

    same = "s at 10:00:01"
    verdicts = beginnings((0, clock(same, "a"), 0), (50, clock(same, "b"), 0), (320, clock("s at 10:05:21", "c"), 0))
    assert [verdict.cause for verdict in verdicts] == [None, "AS902", "AS111"], "the first is out of reach after 300 s"
    assert verdicts[2].compared_with == "r1"


def long_text(minute: int) -> Prompt:
    """A tool of 1,000 tokens, and a system text of 8,000 with a clock in its middle."""
    words = "the rules of the house are old " * 200
    tool, system, ask = prompt("t1", "s", "a")
    clock = msgspec.structs.replace(
        system, text=f"{words}10:0{minute}{words}", tokens=8_000, digest=f"clock {minute}".encode().ljust(16, b".")
    )
    return Prompt.of((tool, clock, ask))


def fan_out(at: float, read: int, same: int) -> Verdict:
    """The verdict on a conversation that begins like one which was sent at 0 s and answered from 1 s on."""
    return beginnings((0, prompt(*HEAD), 0), (at, prompt(*HEAD[:same], "z"), read))[1]


def test_what_is_sent_side_by_side_is_lost_from_the_minimum_on() -> None:
    lost = fan_out(0.5, 0, 3)
    assert (lost.cause, lost.evidence, lost.lost) == ("AS501", "proved", 2_944)
    assert fan_out(1, 0, 3).evidence == "likely", "the answer began just then"
    assert fan_out(0.5, 2_944 - 1_024, 3).kind == "first", "nothing to be read was foretold, and more was"
    assert fan_out(0.5, 256, 3).cause == "AS501"
    assert fan_out(0.5, 257, 3).cause != "AS501"
    assert fan_out(0.5, 0, 1).kind == "first", "1,000 tokens in front are fewer than any that are kept"


@pytest.mark.parametrize(("read", "kind"), [(0, "miss"), (128, "miss"), (129, "first")])
def test_side_by_side_no_less_than_the_minimum_is_lost(read: int, kind: str) -> None:
    (tool,) = prompt("t1")
    front = msgspec.structs.replace(tool, tokens=1_152)  # nine steps of 128
    one, edited = (Prompt.of((front, *prompt(system, "a"))) for system in ("s", "s edited"))
    assert beginnings((0, one, 0), (0.5, edited, read))[1].kind == kind


@pytest.mark.parametrize(("read", "evidence"), [(4_864, "proved"), (5_120, "proved"), (5_504, "likely")])
def test_text_in_front_of_an_edit_is_read_within_its_block(read: int, evidence: str) -> None:
    verdict = last(session((0, long_text(1), 0), (5, long_text(2), read)))
    assert (verdict.kind, verdict.cause, verdict.evidence) == ("miss", "AS111", evidence)
    assert verdict.lost <= 10_000 - read


def test_a_read_far_behind_the_edit_is_not_explained_by_it() -> None:
    verdict = last(session((0, long_text(1), 0), (5, long_text(2), 6_400)))
    assert (verdict.kind, verdict.evidence) == ("miss", "unexplained")


@pytest.mark.parametrize(
    ("model", "read", "kind", "codes"),
    [
        # The prompt before has 4,000 tokens; a step of the back end is 1,024 from gpt-5.6 on, and 512 before.
        ("gpt-5.6-sol", 4000 - 1024 - 128, "hit", ()),
        ("gpt-5.6-sol", 4000 - 1024 - 129, "miss", ("AS901", "AS503")),
        ("gpt-5.5", 4000 - 512 - 128, "hit", ()),
        ("gpt-5.5", 4000 - 512 - 129, "miss", ("AS901", "AS503")),
        # An entry there is readable at once, so that a lost one was not too young.
        ("gpt-5.6-sol", 0, "miss", ("AS902", "AS503")),
    ],
)
def test_the_back_end_of_codex_has_rules_of_its_own(model: str, read: int, kind: str, codes: tuple[str, ...]) -> None:
    found = session((0, prompt(*HEAD), 0), (9, prompt(*HEAD, "b"), read))
    moved = [msgspec.structs.replace(request, provider="codex", model=model) for request in found.requests]
    verdict = last(msgspec.structs.replace(found, requests=tuple(moved)))
    assert verdict.kind == kind
    assert codes == (() if kind == "hit" else (verdict.cause, *verdict.alternatives))


@pytest.mark.parametrize(
    ("read", "evidence", "told"),
    [
        (4992, "proved", True),  # what r1 had sent: 5,000 tokens
        (4992 - 256, "proved", True),
        (4992 - 257, None, False),
    ],
)
def test_a_change_that_is_taken_back_reads_what_was_kept_before_it(read: int, evidence: str | None, told: bool) -> None:
    flipped = ("t2", "t1", "sand", "a")
    verdict = last(
        session(
            (0, prompt(*HEAD), 0),
            (5, prompt(*HEAD, "b"), 3968),
            (9, prompt(*flipped, "b", "c"), 0),
            (14, prompt(*HEAD, "b", "c", "d"), read),
        )
    )
    assert (verdict.kind, verdict.cause) == ("miss", "AS103") if told else verdict.evidence != "proved"
    assert ("again what it was before" in " ".join(verdict.established)) is told
    assert evidence is None or verdict.evidence == evidence
    assert verdict.lost <= 6000 - read
