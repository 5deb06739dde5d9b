"""Automatic caches judged by bodies: the same content that was not found, or other content and where it differs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agentsim.core.prompt import Block, Prompt, Section
from agentsim.core.session import Event, Lane, Request, Session, Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose.relax import judge_bodies

SECOND = 10**9


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


def session(*asked: tuple[float, Prompt, int | None], events: tuple[Event, ...] = (), **more: Any) -> Session:
    """Requests of one lane: seconds, prompt, tokens read (``None``: not reported)."""
    requests = tuple(
        Request(
            id=f"r{number}",
            lane="main",
            model="gpt-5.1",
            provider="openai",
            start=round(at * SECOND),
            first_token=round(at * SECOND) + SECOND,
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


@pytest.mark.parametrize(
    ("names", "read", "cause", "address", "lost"),
    [
        (("t1", "t2 edited", "sand", "a"), 0, "AS104", "tools[1]", 2968),
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
    assert verdict.lost == lost, "the edited block itself is another one, and cannot have been read"
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
    assert verdict(5).alternatives == ("AS503",)
    assert (verdict(61).cause, verdict(61).alternatives) == ("AS902", ("AS503", "AS205"))
    assert (verdict(301).cause, verdict(301).evidence) == ("AS205", "implied")
    assert verdict(3_000).alternatives == ("AS503",)
    partly = last(session((0, prompt(*HEAD), 0), (5, prompt(*HEAD, "b"), 1024)))
    assert (partly.cause, partly.lost) == ("AS901", 3968 - 1024)


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


def test_a_provider_without_rules_is_not_judged() -> None:
    base = session((0, prompt(*HEAD), 0))
    unknown = msgspec.structs.replace(base.requests[0], provider="nobody")
    assert last(msgspec.structs.replace(base, requests=(unknown,))).kind == "unreported"
