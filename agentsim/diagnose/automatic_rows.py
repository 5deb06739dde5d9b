"""Judge rows of automatic caches: those that find the longest prefix by themselves, and report reads only.

There are no breakpoints and no lifetimes to choose. Whatever was sent may be read next time, in steps: a read ends up
to one step short of the common part. How large a step is shows in the reads of a lane. No fixed time is published for
which such a cache remembers, and which machine answers is chance: where the log shows no reason, a loss stays
unexplained, with what is possible.
"""

from __future__ import annotations

from agentsim.core.verdict import Verdict
from agentsim.diagnose.disputed_minimum import kept_by_another
from agentsim.diagnose.elimination import find_cause
from agentsim.diagnose.hypotheses.lifetime_hypotheses import DOUBT
from agentsim.diagnose.hypotheses.prefix_hypotheses import MOST
from agentsim.diagnose.hypothesis import unproved
from agentsim.diagnose.lifetime_clock import LifetimeClock
from agentsim.diagnose.row_case import RowCase, rules_of
from agentsim.diagnose.row_facts import LaneMemory, RowFacts
from agentsim.diagnose.row_reach import TURN
from agentsim.diagnose.summary_rows import summary_loss

__all__ = ["DOUBT", "MINIMUM", "TURN", "judge_automatic"]

MINIMUM = 1024
"""Tokens; the shortest prefix that OpenAI's and Google's documentation promise to look for."""

TAIL = 2048
"""When a person begins a new turn, the thinking and reminders of the last one may be left out: so much at most."""


def _minimum(row: RowFacts) -> int:
    """The shortest prefix that the row's cache keeps, as far as anybody says: the usual one, or what its rules know."""
    rules = rules_of(row)
    return MINIMUM if rules is None else max(MINIMUM, rules.minimum)


def _begins_at(minimum: int) -> str:
    return f"most caches begin at {MINIMUM:,}" if minimum == MINIMUM else f"this one begins at {minimum:,} or so"


def judge_automatic(
    row: RowFacts, memory: LaneMemory, clock: LifetimeClock, *, use_provider: bool, has_messages: bool
) -> Verdict:
    """The verdict on one row, without its price. ``row.steps`` must be set."""
    parent = row.parent
    if not row.measured:
        return Verdict(request=row.id, kind="unreported", cause="AS910", evidence="implied")
    if parent is None or not parent.measured:
        return Verdict(request=row.id, kind="first")
    expected = min(parent.warm, row.total)
    predicted = row.steps.whole(expected)
    missing = expected - row.read
    if "compaction" in row.events:
        behind = summary_loss(row, parent)
        if behind is not None:
            return behind
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
        rules = rules_of(row)
        doubt = kept_by_another(rules, expected)
        others = () if rules is not None and expected < rules.minimum and doubt is None else ("AS902",)
        return Verdict(
            request=row.id,
            kind="uncached",
            cause="AS303",
            evidence=unproved(others),
            alternatives=others,
            compared_with=parent.id,
            established=(
                f"Only {expected:,} tokens were there to be read; {_begins_at(minimum)}.",
                *([] if doubt is None else [doubt]),
            ),
        )
    near = row.step + TURN
    replaced = "prompt_submitted" in row.events and missing <= min(TAIL, expected // 5)
    back = row.total < parent.total and _went_back(row, memory, near)
    if row.read > 0 and (missing <= near or replaced or back) and (row.steps.has(row.read) or row.read >= predicted):
        return _read(
            row, parent, expected, predicted, near, replaced=not back and _is_replaced(row, parent, memory, near)
        )
    found = find_cause(RowCase(row, parent, memory, clock, blind=not use_provider, messages=has_messages))
    return Verdict(
        request=row.id,
        kind="miss",
        cause=found.cause,
        evidence=found.evidence,
        alternatives=tuple(code for code in dict.fromkeys(found.alternatives) if code != found.cause),
        place=row.change[1] if row.change is not None and row.change[0] == found.cause else None,
        expected=expected,
        predicted=predicted,
        prediction="wrong",
        lost=_lost(row, missing, predicted),
        established=tuple(found.established),
        to_check=tuple(found.to_check),
        compared_with=parent.id,
    )


def _lost(row: RowFacts, missing: int, predicted: int) -> int:
    """What could have been read and was not: what lies behind the last whole step could not, where reads show the
    steps."""
    return min(missing, predicted - row.read) if row.steps.offsets and predicted > row.read else missing


def _went_back(row: RowFacts, memory: LaneMemory, near: int) -> bool:
    """Whether a shorter prompt ends a little behind where an earlier request ended, and that much was read."""
    return any(0 <= end - row.read <= near and 0 <= row.total - end <= near for end in memory.ends)


def _is_replaced(row: RowFacts, parent: RowFacts, memory: LaneMemory, near: int) -> bool:
    """Whether most of the prompt is gone, and no earlier request ended where the read did: a rewind leaves that."""
    return row.total * MOST < parent.total and not any(0 <= end - row.read <= near for end in memory.ends)


def _read(
    row: RowFacts, parent: RowFacts, expected: int, predicted: int, near: int, *, replaced: bool = False
) -> Verdict:
    """The verdict on a row that read what there was, as far as steps and a new turn allow."""
    missing, shorter, longer = expected - row.read, parent.total - row.total, row.read - parent.total
    shrunk = shorter > near
    sentences: tuple[str, ...] = ()
    if shrunk:
        sentences = (f"The prompt is {shorter:,} tokens shorter; all of it that could be was read.",)
        if replaced:
            sentences = (
                *sentences,
                "Most of the conversation is gone, and no request before this one ended where the read did.",
            )
    elif missing > near:
        sentences = (f"The last {missing:,} tokens of the turn before were not read: a new turn drops some of them.",)
    elif longer > near:
        sentences = (f"{longer:,} tokens more than were sent before: replies are cached as well.",)
    return Verdict(
        request=row.id,
        kind="shorter" if shrunk else "hit",
        cause="AS131" if shrunk and replaced else None,
        evidence="likely" if shrunk and replaced else None,
        expected=expected,
        predicted=predicted,
        prediction="exact" if row.read == predicted else "class",
        compared_with=parent.id,
        established=sentences,
    )
