"""Judge rows of automatic caches: those that find the longest prefix by themselves, and report reads only.

There are no breakpoints and no lifetimes to choose. Whatever was sent may be read next time, in steps: a read ends up
to one step short of the common part. How large a step is shows in the reads of a lane. No fixed time is published for
which such a cache remembers, and which machine answers is chance. A loss after a pause of minutes is put down to the
pause, with chance as the alternative; one without a pause stays unexplained; what the log rules out is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import gcd

from agentsim.core.verdict import Verdict
from agentsim.diagnose.elimination import Elimination, LifetimeClock, expiry, expiry_code, lead_sentence, leads
from agentsim.diagnose.host_change import moved_hosts
from agentsim.diagnose.row_facts import FIVE_MINUTES, LaneMemory, RowFacts
from agentsim.rules.providers import rules_for

USUAL_STEP = 128
"""Tokens; providers that say anything say this. Used where a lane has too few reads to show its own."""

LARGEST_STEP = 2048
ENOUGH_READS = 4

TURN = 128
"""What a provider adds around the last message, or drops with it, may shift an end by so many tokens."""

MINIMUM = 1024
"""Tokens; the shortest prefix that OpenAI's and Google's documentation promise to look for."""

PAUSE = FIVE_MINUTES
"""Seconds; the shortest time without use after which a provider of such a cache says that it may drop a prefix. In
public logs of Codex and OpenCode 14 of 23 rows after longer pauses lost much of it, and 25 of 259 within a minute."""

DOUBT = 60
"""Seconds; after longer pauses than this losses are seen more often, though nobody documents it."""

TAIL = 2048
"""When a person begins a new turn, the thinking and reminders of the last one may be left out: so much at most."""


def steps_of(rows: Iterable[RowFacts]) -> int:
    """The step between reads of one lane and model, in tokens: the largest that all differences are multiples of."""
    reads = sorted({row.read for row in rows if row.read})
    if len(reads) < ENOUGH_READS:
        return USUAL_STEP
    step = gcd(*(later - earlier for earlier, later in pairwise(reads)))
    return step if step <= LARGEST_STEP else USUAL_STEP


def _minimum(row: RowFacts) -> int:
    """The shortest prefix that the row's cache keeps, as far as anybody says: the usual one, or what its rules know."""
    try:
        return max(MINIMUM, rules_for(row.provider, row.model, row.start).minimum)
    except ValueError:
        return MINIMUM


def _begins_at(minimum: int) -> str:
    return f"most caches begin at {MINIMUM:,}" if minimum == MINIMUM else f"this one begins at {minimum:,} or so"


def judge_automatic(row: RowFacts, memory: LaneMemory, clock: LifetimeClock) -> Verdict:
    """The verdict on one row, without its price. ``row.step`` must be set."""
    parent = row.parent
    if not row.measured:
        return Verdict(request=row.id, kind="unreported", cause="AS910", evidence="implied")
    if parent is None or not parent.measured:
        return Verdict(request=row.id, kind="first")
    expected = min(parent.total, row.total)
    predicted = _whole_steps(expected, row, parent)
    missing = expected - row.read
    if "compaction" in row.events:
        return Verdict(
            request=row.id,
            kind="compaction",
            cause="AS140",
            evidence="implied",
            expected=expected,
            predicted=predicted,
            prediction="class",
            compared_with=parent.id,
            established=("The history was replaced by a summary, on purpose.",),
        )
    if row.read == 0 and expected < (minimum := _minimum(row)):
        return Verdict(
            request=row.id,
            kind="uncached",
            cause="AS303",
            evidence="implied",
            alternatives=("AS902",),
            compared_with=parent.id,
            established=(f"Only {expected:,} tokens were there to be read; {_begins_at(minimum)}.",),
        )
    near = row.step + TURN
    replaced = "prompt_submitted" in row.events and missing <= min(TAIL, expected // 5)
    if row.read > 0 and (missing <= near or replaced):
        shorter, longer = parent.total - row.total, row.read - parent.total
        shrunk = shorter > near
        sentences: tuple[str, ...] = ()
        if shrunk:
            sentences = (f"The prompt is {shorter:,} tokens shorter; all of it that could be was read.",)
        elif missing > near:
            sentences = (
                f"The last {missing:,} tokens of the turn before were not read: a new turn drops some of them.",
            )
        elif longer > near:
            sentences = (f"{longer:,} tokens more than were sent before: replies are cached as well.",)
        return Verdict(
            request=row.id,
            kind="shorter" if shrunk else "hit",
            expected=expected,
            predicted=predicted,
            prediction="exact" if row.read == predicted else "class",
            compared_with=parent.id,
            established=sentences,
        )
    found = _cause(row, parent, memory, clock)
    return Verdict(
        request=row.id,
        kind="miss",
        cause=found.cause,
        evidence=found.evidence,
        alternatives=tuple(code for code in dict.fromkeys(found.alternatives) if code != found.cause),
        expected=expected,
        predicted=predicted,
        prediction="wrong",
        lost=missing,
        established=tuple(found.established),
        to_check=tuple(found.to_check),
        compared_with=parent.id,
    )


def _whole_steps(tokens: int, row: RowFacts, parent: RowFacts) -> int:
    """The read to be expected of a common part: as many whole steps as fit, from where this lane's steps begin."""
    offset = (parent.read or row.read) % row.step
    return max(0, (tokens - offset) // row.step * row.step + offset) if tokens >= offset else 0


def _cause(row: RowFacts, parent: RowFacts, memory: LaneMemory, clock: LifetimeClock) -> Elimination:
    established: list[str] = []
    to_check: list[str] = []
    expired, sentence = expiry(row, clock)
    if sentence:
        established.append(sentence)
    _reach(row, memory, established)
    if "clearing" in row.events:
        established.append("The log marks old tool results as cleared just before this request.")
        return Elimination("AS122", "implied", (), established, to_check)
    if row.provider != parent.provider:
        established.append(f"{row.provider} answered after {parent.provider}: each provider has a cache of its own.")
        return Elimination("AS503", "implied", (), established, to_check)
    moved = moved_hosts(row, parent)
    if moved:
        return Elimination("AS503", "implied", (), [*established, *moved], to_check)
    if row.model != parent.model:
        established.append("The model changed; each model has a cache of its own.")
        return Elimination("AS404", "implied", (), established, to_check)
    if expired == "yes":
        return Elimination(expiry_code(parent), "implied", leads(row), established, to_check)
    pointed = leads(row)
    if pointed:
        established.append(lead_sentence(row))
        to_check.append("A full recording of the request bodies would prove it.")
        return Elimination(pointed[0], "implied", (*pointed[1:], "AS503"), established, to_check)
    if parent.total - row.total > (TAIL if "prompt_submitted" in row.events else row.step + TURN):
        established.append(f"The prompt shrank by {parent.total - row.total:,} tokens with no mark in the log.")
        to_check.append("What was dropped or rewritten: compaction, pruning, or a restart that rebuilt the history.")
        return Elimination("AS131", "implied", ("AS122", "AS130", "AS112", "AS503"), established, to_check)
    if expired == "edge":
        return Elimination("AS204", "implied", ("AS503",), established, to_check)
    if row.start is None or (parent.end is None and parent.start is None):
        established.append("The time since the previous request is not known.")
    idle = _idle(row, parent)
    to_check.append("Whether another machine or upstream answered: send a stable session or cache key and compare.")
    if idle is not None and idle > PAUSE:
        established.append("Such caches keep a prefix for some minutes after its last use, and longer at quiet times.")
        return Elimination("AS205", "implied", ("AS503", "AS130"), established, to_check)
    codes = ("AS503", "AS205", "AS130") if idle is None or idle > DOUBT else ("AS503", "AS130")
    return Elimination("AS902" if row.read == 0 else "AS901", "unexplained", codes, established, to_check)


def _idle(row: RowFacts, parent: RowFacts) -> int | None:
    before = parent.end if parent.end is not None else parent.start
    return None if row.start is None or before is None else (row.start - before) // 10**9


def _reach(row: RowFacts, memory: LaneMemory, established: list[str]) -> None:
    """How far the read reached, in words."""
    if row.read == 0:
        established.append("Nothing was read.")
        return
    reached = [end for end in memory.ends if 0 <= end - row.read <= row.step + TURN]
    floors = [floor for floor in memory.floors if floor]
    if row.read in floors:
        front = ": the front of every prompt here" if row.read == min(floors) else ""
        established.append(f"The read of {row.read:,} is what an earlier loss left too{front}.")
    elif reached:
        older = memory.ends[min(reached)]
        established.append(f"The read ends within a step of where request {older} ended: an older copy was found.")
