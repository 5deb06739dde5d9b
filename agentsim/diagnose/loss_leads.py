"""What the losses of a session have in common: joins each with what stands between the two requests in the log.

A lead says where to look, and proves nothing: what happens at the same time may be another effect of the same cause.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.session import Event, EventKind, Request, Session
from agentsim.core.shares import by_chance_in_all, ratio_interval, wilson
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

_EVENTS: Mapping[EventKind, str] = {
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
    "skill_use": "a skill that was loaded",
    "skills_delta": "skills or agents that came or went",
    "mode_change": "a change of the mode",
    "folder_change": "a change of the folder",
    "instructions_edit": "a file of instructions that was loaded or edited",
    "hook_output": "a hook",
}

_NAMED = frozenset(
    {"tools_delta", "instructions_delta", "skill_use", "mode_change", "instructions_edit", "hook_output"}
)
"""Events of which the one that is named may matter, and not only its kind."""

SEVERAL = "several calls of tools at once"


class Lead(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something that stands in front of losses more often than chance would have it: ``lost`` of the ``present``
    requests behind it lost something, and ``lost_else`` of the ``absent`` others. ``chance``: how likely that is by
    chance alone, all that was looked at taken into account. ``sessions``: in how many of them it was there."""

    what: str
    lost: int
    present: int
    lost_else: int
    absent: int
    chance: float
    sessions: int = 1

    @property
    def lift(self) -> float | None:
        """How many times as frequent a loss is there as elsewhere; ``None`` where there is none elsewhere."""
        return self.lost * self.absent / (self.present * self.lost_else) if self.lost_else else None

    @property
    def lift_interval(self) -> tuple[float, float | None]:
        """Between what that lies in 95 of 100 cases; the upper end is ``None`` where there is none."""
        return ratio_interval(self.lost, self.present, self.lost_else, self.absent)

    @property
    def sentence(self) -> str:
        """The lead in words."""
        all_lost = self.lost + self.lost_else
        share = f"{self.lost:,} of {all_lost:,}" if self.lost_else else f"All {all_lost:,}"
        others = "after tool results" if self.what == PROMPT else "of the other requests"
        low, high = wilson(self.lost, self.present)
        low_else, high_else = wilson(self.lost_else, self.absent)
        return (
            f"{share} losses fall on the first request after {self.what} ({self.present:,} of them), "
            f"{self.lost_else:,} of {self.absent:,} {others}: a loss in {_per_cent(low)} to {_per_cent(high)} % there, "
            f"in {_per_cent(low_else)} to {_per_cent(high_else)} % elsewhere, {self._times()}."
        )

    def _times(self) -> str:
        least, most = self.lift_interval
        if self.lift is None or most is None:
            return f"at least {_times(least)} times as often"
        return f"{_times(self.lift)} times as often (between {_times(least)} and {_times(most)})"


class MarkCounts(msgspec.Struct, frozen=True, gc=False):
    """How often each mark stands in front of a session's ``rows`` of which a read was expected, and in front of the
    ``lost`` ones among them."""

    rows: int
    lost: int
    marks: dict[str, tuple[int, int]]


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


def count_marks(rows: Sequence[RowMarks], lost: Collection[str]) -> MarkCounts:
    """The counts for losses of a session, which are named by their requests."""
    found: dict[str, list[int]] = {}
    losses = 0
    for row in rows:
        hit = row.request in lost
        losses += hit
        for mark in row.marks:
            counts = found.setdefault(mark, [0, 0])
            counts[0] += 1
            counts[1] += hit
    return MarkCounts(len(rows), losses, {mark: (present, hits) for mark, (present, hits) in found.items()})


def find_lead(rows: Sequence[RowMarks], lost: Collection[str], questions: int = 1) -> Lead | None:
    """What these losses of one session have in common that others have not; ``None`` where nothing stands out.
    ``questions`` is how many kinds of losses are asked about."""
    return lead_among([count_marks(rows, lost)], questions)


def lead_among(sessions: Sequence[MarkCounts], questions: int = 1) -> Lead | None:
    """What losses of several sessions have in common. Each session is compared with itself alone: one that loses more
    than others, and in which something happens more, makes no lead.

    The chance of each mark is that of an exact test, times the number of all marks and ``questions``: so many times
    something was looked for (C. E. Bonferroni, 1936).
    """
    losses = sum(one.lost for one in sessions)
    if losses < LEAST_LOSSES:
        return None
    rows = sum(one.rows for one in sessions)
    names = sorted({mark for one in sessions for mark in one.marks}, key=lambda mark: (mark != PROMPT, mark))
    best: Lead | None = None
    for mark in names:
        counts = [one.marks.get(mark, (0, 0)) for one in sessions]
        present, found = sum(each[0] for each in counts), sum(each[1] for each in counts)
        absent, missed = rows - present, losses - found
        if found < LEAST_LOSSES or not absent or found * absent < LEAST_LIFT * missed * present:
            continue
        if not _is_lifted(sessions, counts):
            continue
        strata = [(each[0], one.lost, one.rows) for one, each in zip(sessions, counts, strict=True)]
        chance = min(1.0, by_chance_in_all(found, strata) * len(names) * questions)
        if chance <= MOST_CHANCE and (best is None or chance < best.chance):
            best = Lead(
                what=mark,
                lost=found,
                present=present,
                lost_else=missed,
                absent=absent,
                chance=chance,
                sessions=sum(each[0] > 0 for each in counts),
            )
    return best


def _is_lifted(sessions: Sequence[MarkCounts], counts: Sequence[tuple[int, int]]) -> bool:
    """Whether losses are so many times as frequent there within the sessions (Mantel and Haenszel's ratio)."""
    there = elsewhere = 0.0
    for one, (present, found) in zip(sessions, counts, strict=True):
        if one.rows:
            there += found * (one.rows - present) / one.rows
            elsewhere += (one.lost - found) * present / one.rows
    return there > 0 and there >= LEAST_LIFT * elsewhere


def _of_events(events: Iterable[Event]) -> Iterable[str]:
    tools: set[str] = set()
    calls = 0
    for event in events:
        if event.kind == "prompt_submitted":
            yield PROMPT
        elif event.kind == "tool_results":
            called = (event.detail or "").split(", ")
            tools.update(name for name in called if name not in ("", "…"))
            calls += len(called)
        elif (name := _EVENTS.get(event.kind)) is not None:
            yield name
            if event.detail and event.kind in _NAMED:
                yield f"{name} ({event.detail})"
    if calls > 1:
        yield SEVERAL
    for name in tools:
        yield f"a call of {name}"


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
            yield SEVERAL
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
    return f"{share * 100:.0f}" if share == 0 or share >= 0.1 else f"{share * 100:.1f}"


def _times(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"
