"""What the losses of a session have in common: joins each with what stands between the two requests in the log.

A lead says where to look, and proves nothing: what happens at the same time may be another effect of the same cause.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.session import Event, Request, Session
from agentsim.core.shares import by_chance, wilson
from agentsim.core.verdict import Verdict

LEAST_LOSSES = 3
"""Losses; fewer have nothing in common that chance would not give them."""

MOST_CHANCE = 0.01
"""Of all that was looked at together: above it, what they have in common may be chance."""

LEAST_LIFT = 2
"""A loss is at least so many times as frequent there as elsewhere."""

PAUSES = (
    (3600, "a pause of more than an hour"),
    (300, "a pause of more than 5 min"),
    (60, "a pause of more than 1 min"),
)

EXPECTED = frozenset({"hit", "extended", "miss", "recovered", "shorter", "compaction"})
"""Rows of which a read was expected."""

PROMPT = "a prompt"

_EVENTS = {
    "clearing": "a clearing of old results",
    "model_change": "a change of the model",
    "effort_change": "a change of the effort",
    "version_change": "an upgrade of the harness",
    "resume": "a resume",
    "rewind": "a rewind",
    "tools_delta": "tools that came or went",
    "instructions_delta": "instructions that came or went",
    "api_error": "an API error",
    "interrupted": "an interrupted reply",
    "limit": "a usage limit",
    "compaction": "a compaction",
}


class Lead(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something that stands in front of losses more often than chance would have it: ``lost`` of the ``present``
    requests behind it lost something, and ``lost_else`` of the ``absent`` others. ``chance``: how likely that is by
    chance alone, all that was looked at taken into account."""

    what: str
    lost: int
    present: int
    lost_else: int
    absent: int
    chance: float

    @property
    def lift(self) -> float | None:
        """How many times as frequent a loss is there as elsewhere; ``None`` where there is none elsewhere."""
        return self.lost * self.absent / (self.present * self.lost_else) if self.lost_else else None

    @property
    def sentence(self) -> str:
        """The lead in words."""
        all_lost = self.lost + self.lost_else
        share = f"{self.lost} of {all_lost}" if self.lost_else else f"All {all_lost}"
        others = "after tool results" if self.what == PROMPT else "of the other requests"
        low, high = wilson(self.lost, self.present)
        low_else, high_else = wilson(self.lost_else, self.absent)
        return (
            f"{share} losses fall on the first request after {self.what} ({self.present} of them), {self.lost_else} of "
            f"{self.absent} {others}: a loss in {_per_cent(low)} to {_per_cent(high)} % there, in "
            f"{_per_cent(low_else)} to {_per_cent(high_else)} % elsewhere"
            + ("." if self.lift is None else f", {self.lift:.0f} times as often.")
        )


class RowMarks(msgspec.Struct, frozen=True):
    """A request of which a read was expected, and what stands in front of it."""

    request: str
    marks: frozenset[str]


def marked_rows(session: Session, verdicts: Iterable[Verdict]) -> list[RowMarks]:
    """The requests of which a read was expected, each with what stands between it and the one before in its lane."""
    events: dict[str, list[Event]] = {}
    for event in session.events:
        if event.before is not None:
            events.setdefault(event.before, []).append(event)
    prompts = any(event.kind == "prompt_submitted" for event in session.events)
    before: dict[str, Request] = {}
    rows = []
    for request, verdict in zip(session.requests, verdicts, strict=True):
        parent = before.get(request.lane)
        before[request.lane] = request
        if parent is None or verdict.kind not in EXPECTED or not request.counted:
            continue
        marks = {*_of_events(events.get(request.id, ())), *_of_pause(parent, request)}
        marks |= {*_of_content(parent, request, prompts), *_of_settings(parent, request)}
        rows.append(RowMarks(request.id, frozenset(marks)))
    return rows


def find_lead(rows: Sequence[RowMarks], lost: Collection[str]) -> Lead | None:
    """What these losses have in common that others have not; ``None`` where nothing stands out."""
    losses = [row for row in rows if row.request in lost]
    if len(losses) < LEAST_LOSSES:
        return None
    present: dict[str, int] = {}
    hit: dict[str, int] = {}
    for row in rows:
        for mark in row.marks:
            present[mark] = present.get(mark, 0) + 1
            hit[mark] = hit.get(mark, 0) + (row.request in lost)
    best: Lead | None = None
    for mark in sorted(present):
        group, found, absent = present[mark], hit[mark], len(rows) - present[mark]
        missed = len(losses) - found
        if found < LEAST_LOSSES or not absent or found * absent < LEAST_LIFT * missed * group:
            continue
        chance = min(1.0, by_chance(found, group, len(losses), len(rows)) * len(present))
        if chance <= MOST_CHANCE and (best is None or chance < best.chance):
            best = Lead(what=mark, lost=found, present=group, lost_else=missed, absent=absent, chance=chance)
    return best


def _of_events(events: Iterable[Event]) -> Iterable[str]:
    for event in events:
        if event.kind == "prompt_submitted":
            yield PROMPT
            continue
        name = _EVENTS.get(event.kind)
        if name is not None:
            yield name
            if event.detail and event.kind in ("tools_delta", "instructions_delta"):
                yield f"{name} ({event.detail})"


def _of_pause(parent: Request, request: Request) -> Iterable[str]:
    last = parent.end if parent.end is not None else parent.start
    if last is None or request.start is None:
        return
    for seconds, words in PAUSES:
        if request.start - last > seconds * SECOND:
            yield words


def _of_content(parent: Request, request: Request, prompts: bool) -> Iterable[str]:
    """What the newest content of a prompt is: words of a person, or results of tools, and of which."""
    old, new = parent.prompt, request.prompt
    if new is None or old is None or not len(new):
        return
    last = new[len(new) - 1]
    at = len(new) - 1
    results = called = 0
    person = False
    while at >= 0 and new[at].section == "messages" and new[at].message == last.message:
        results += new[at].kind.endswith("_result")
        person = person or (new[at].kind == "text" and new[at].role == "user")
        at -= 1
    if person and not results and not prompts:
        yield PROMPT
    names = set()
    while at >= 0 and new[at].section == "messages" and new[at].role == "assistant":
        if new[at].kind == "tool_use":
            called += 1
            names.add(new[at].name)
        at -= 1
    if results or called:
        if called > 1:
            yield "several calls of tools at once"
        for name in names:
            if name is not None:
                yield f"a call of {name}"


def _of_settings(parent: Request, request: Request) -> Iterable[str]:
    if parent.settings is not request.settings:
        for name, _ in sorted({*parent.settings} ^ {*request.settings}):
            yield f"a change of {name}"
    if parent.host is not None and request.host is not None and parent.host != request.host:
        yield "an answer of another host"


def _per_cent(share: float) -> str:
    return f"{share * 100:.0f}"
