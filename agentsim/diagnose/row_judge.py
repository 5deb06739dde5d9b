"""Judge rows without bodies: what each request could have read, what it read, and where the difference went.

The expectation is simple: a request reads all that its parent's request read and wrote. What remains are named classes:
a longer read proves a request that no log shows; a shorter one is a rewind, a compaction, the return of an older entry,
or a loss, whose cause :mod:`agentsim.diagnose.elimination` looks for.
"""

from __future__ import annotations

from agentsim.core.verdict import LEAST_LOSS, Kind, Prediction, Verdict
from agentsim.diagnose.automatic_rows import judge_automatic
from agentsim.diagnose.disputed_minimum import kept_by_another, too_short_by_another
from agentsim.diagnose.elimination import Elimination, find_cause
from agentsim.diagnose.hypothesis import unproved
from agentsim.diagnose.lifetime_clock import LifetimeClock, expiry
from agentsim.diagnose.row_case import TAIL, RowCase, rules_of
from agentsim.diagnose.row_facts import LaneMemory, RowFacts
from agentsim.diagnose.summary_rows import summary_loss

SHARE = 10
"""Of a shorter prompt, and of a turn's end, no more than one token in so many is passed over like that."""

_HELPER = "a call that no log shows replayed the conversation with that reply and extended the entry"

_LOST_BEFORE = frozenset({"first", "miss", "compaction"})


def judge_row(
    row: RowFacts, memory: LaneMemory, clock: LifetimeClock, *, use_provider: bool, has_messages: bool
) -> Verdict:
    """The verdict on one row, without its price. Learns from the row for the ones after it in its lane."""
    if row.automatic:
        verdict = judge_automatic(row, memory, clock, use_provider=use_provider, has_messages=has_messages)
    else:
        verdict = _judge(row, memory, clock, use_provider, has_messages)
    missed = verdict.kind == "miss"
    expired = missed and expiry(row, clock)[0] == "yes"
    memory.learn(row, lost=verdict.kind in _LOST_BEFORE, missed=missed, expired=expired)
    return verdict


def _judge(row: RowFacts, memory: LaneMemory, clock: LifetimeClock, use_provider: bool, has_messages: bool) -> Verdict:
    parent = row.parent
    if not row.measured:
        return Verdict(request=row.id, kind="unreported", cause="AS910", evidence="implied")
    if parent is None:
        return _without_parent(row)
    if not parent.measured or parent.warm == 0:
        return _after_uncached(row, parent, memory)
    if row.read == parent.warm:
        reply = _reply(row, parent, memory)
        if _begins_turn(row, parent):
            memory.replies = False
        unforeseen = reply or _foreseen(row, clock) in ("expiry", "lookback")
        return Verdict(
            request=row.id,
            kind="hit",
            expected=parent.warm,
            predicted=parent.warm + reply if reply else _predict(row, clock),
            prediction="wrong" if unforeseen else "exact",
            compared_with=parent.id,
        )
    if row.read > parent.warm:
        return _longer(row, parent, memory)
    return _shorter(row, parent, memory, clock, use_provider, has_messages)


def _without_parent(row: RowFacts) -> Verdict:
    if row.warm == 0:
        return _uncached(row, None)
    return Verdict(request=row.id, kind="first")


def _after_uncached(row: RowFacts, parent: RowFacts, memory: LaneMemory) -> Verdict:
    older = memory.ends.get(row.read) if row.read else None
    if older is not None:
        return Verdict(
            request=row.id,
            kind="recovered",
            compared_with=older,
            established=(f"The whole prefix of request {older} is read again: that older entry was alive.",),
        )
    if row.warm == 0:
        return _uncached(row, parent)
    return Verdict(request=row.id, kind="first", compared_with=parent.id)


def _uncached(row: RowFacts, parent: RowFacts | None) -> Verdict:
    """The verdict on a row that neither read nor wrote: too short for its model, or not marked."""
    rules = rules_of(row)
    short = rules is not None and row.total < rules.minimum
    if short and rules is not None:
        sentence = f"The prompt has {row.total:,} tokens; {row.model} keeps none below {rules.minimum:,}."
    elif parent is not None:
        sentence = "Nothing was read or written, before or now: caching was never switched on here."
    else:
        sentence = "Nothing was read or written: no breakpoint reached the provider, or the prompt is too short."
    # Too short is too short, with a breakpoint or without; long enough by rules that are known, and only that is left.
    # Where sources disagree on the minimum, neither is ruled out.
    other = kept_by_another(rules, row.total) if short else too_short_by_another(rules, row.total)
    others = (("AS305",) if short else ("AS303",)) if rules is None or other else ()
    check = "Whether a breakpoint is sent, and whether the prompt reaches the model's minimum length."
    return Verdict(
        request=row.id,
        kind="uncached",
        cause="AS303" if short else "AS305",
        evidence=unproved(others),
        alternatives=others,
        compared_with=parent.id if parent is not None else None,
        established=(sentence,),
        to_check=(check,) if parent is not None and not short else (),
    )


def _foreseen(row: RowFacts, clock: LifetimeClock) -> str | None:
    """The loss that is certain before looking at the read: ``"expiry"``, ``"lookback"`` or none; ``"edge"`` where a
    lifetime is just over, so that a read and a loss are both expected."""
    expired = expiry(row, clock)[0]
    if expired == "yes":
        return "expiry"
    if expired == "edge":
        return "edge"
    if row.appended is not None and row.appended > row.lookback:
        return "lookback"
    return None


def _predict(row: RowFacts, clock: LifetimeClock) -> int | None:
    parent = row.parent
    if parent is None:
        return None
    return None if _foreseen(row, clock) in ("expiry", "lookback") else min(parent.warm, row.total)


def _begins_turn(row: RowFacts, parent: RowFacts) -> bool:
    """Whether a person's prompt follows a reply that had come to its end."""
    return "prompt_submitted" in row.events and parent.stop_reason in ("end_turn", "stop_sequence")


def _reply(row: RowFacts, parent: RowFacts, memory: LaneMemory) -> int:
    """The tokens that a row is to read beyond what the log shows to be cached: the reply before, where a new turn
    begins and the last one to begin read that of its own; 0 otherwise."""
    if memory.replies is False or parent.output is None or not _begins_turn(row, parent):
        return 0
    return parent.output


def _longer(row: RowFacts, parent: RowFacts, memory: LaneMemory) -> Verdict:
    """More was read than the parent left: something else wrote an entry further on."""
    more = row.read - parent.warm
    if row.calls > 1:
        return Verdict(
            request=row.id,
            kind="hit",
            expected=parent.warm,
            predicted=parent.warm,
            prediction="wrong",
            compared_with=parent.id,
            established=("The response ran several calls inside; reads of all of them are added up in this row.",),
        )
    known = memory.ends.get(row.read)
    if known is not None:
        return Verdict(
            request=row.id,
            kind="hit",
            expected=row.read,
            predicted=parent.warm,
            prediction="wrong",
            compared_with=known,
            established=(f"It reads the entry of request {known}, which went further than the one it grew from.",),
        )
    exact = parent.output == more and "api_error" not in row.events
    foretold = exact and _reply(row, parent, memory) == more
    if exact and _begins_turn(row, parent):
        memory.replies = True
    beyond = f"The read goes {more:,} tokens beyond all that was logged"
    if "api_error" in row.events:
        sentence = f"{beyond}: the failed attempts just before it wrote them, though the log shows only their errors."
    elif exact:
        sentence = f"{beyond}, to the token the output of the request before: {_HELPER}."
    elif parent.output is not None:
        sentence = f"{beyond}: a call that no log shows wrote them."
    else:
        sentence = f"{beyond}: most likely the reply before, whose true length this recovers, and {_HELPER}."
    return Verdict(
        request=row.id,
        kind="extended",
        expected=parent.warm,
        predicted=row.read if foretold else parent.warm,
        prediction="exact" if foretold else "class" if exact else "wrong",
        unlogged=more,
        compared_with=parent.id,
        established=(sentence,),
    )


def _shorter(
    row: RowFacts, parent: RowFacts, memory: LaneMemory, clock: LifetimeClock, use_provider: bool, has_messages: bool
) -> Verdict:
    """Less was read than the parent left. Some reasons for that are no loss."""
    foreseen = _foreseen(row, clock)
    prediction: Prediction = "class" if foreseen else "wrong"
    missing = min(parent.warm, row.total) - row.read
    logged_end = memory.ends.get(row.read)
    labelled = use_provider and row.diagnosis.reason is not None

    def quiet(kind: Kind, sentence: str, *, unlogged: int | None = None, cause: str | None = None) -> Verdict:
        return Verdict(
            request=row.id,
            kind=kind,
            cause=cause,
            evidence="implied" if cause else None,
            expected=row.read if kind != "compaction" else parent.warm,
            predicted=parent.warm if not foreseen else None,
            prediction="class" if kind == "compaction" else prediction,
            unlogged=unlogged,
            compared_with=logged_end or parent.id,
            established=(sentence,),
        )

    if "compaction" in row.events:
        behind = summary_loss(row, parent)
        if behind is not None:
            return behind
        return quiet("compaction", "The history was replaced by a summary, on purpose.", cause="AS140")
    said = memory.smallest_total is None or row.read >= memory.smallest_total
    if missing <= 0 or (row.total < parent.warm and said and row.total - row.read <= min(TAIL, row.total // SHARE)):
        gone = parent.warm - row.read
        if logged_end is not None:
            return quiet("shorter", f"A rewind to the end of request {logged_end}: all of the shorter prompt was read.")
        return quiet(
            "shorter",
            f"The prompt is {gone:,} tokens shorter and all of it but the new end was read, from an entry that a call "
            "wrote which no log shows.",
            unlogged=0,
        )
    if (
        logged_end is not None
        and parent.read < row.read
        and "prompt_submitted" in row.events
        and row.total < parent.warm
    ):
        return quiet("shorter", f"A rewind to the end of request {logged_end}.")
    replaced = logged_end is None and not labelled and said and _tail_replaced(row)
    if replaced and memory.last_loss != parent.id:
        return quiet(
            "extended",
            f"The last {parent.warm - row.read:,} tokens of the turn before are not in this prompt any more, and it "
            "read an entry that a call wrote which no log shows.",
            unlogged=0,
        )
    if (
        logged_end is not None
        and parent.parent is not None
        and parent.read < row.read
        and parent.read < parent.parent.warm
    ):
        return Verdict(
            request=row.id,
            kind="recovered",
            expected=parent.warm,
            predicted=parent.warm,
            prediction=prediction,
            lost=missing,
            compared_with=logged_end,
            established=(f"The whole prefix of request {logged_end} is read again: that older entry was alive.",),
            to_check=("Whether a parameter was changed and changed back, or the history rewritten and restored.",),
        )
    if missing < LEAST_LOSS and not labelled and row.read:
        return quiet("hit", f"All but the last {missing:,} tokens of what was cached was read.")
    found = find_cause(RowCase(row, parent, memory, clock, blind=not use_provider, messages=has_messages))
    return _miss(row, parent, memory, found, missing, foreseen, prediction)


def _tail_replaced(row: RowFacts) -> bool:
    """A new turn dropped a little of the end of the last one, yet an entry ends right there. (A prompt with so small a
    new end that is shorter than what was cached is a rewind.)"""
    most = min(TAIL, row.total // SHARE)
    return "prompt_submitted" in row.events and row.total - row.read <= most


def _miss(
    row: RowFacts,
    parent: RowFacts,
    memory: LaneMemory,
    found: Elimination,
    missing: int,
    foreseen: str | None,
    prediction: Prediction,
) -> Verdict:
    # What is left after a certain loss is the prefix that the last such loss left; before the first one, nothing tells.
    floor = memory.floors[-1] if memory.floors else 0
    if foreseen in ("expiry", "lookback") and row.read == floor:
        prediction = "exact"
    return Verdict(
        request=row.id,
        kind="miss",
        cause=found.cause,
        evidence=found.evidence,
        alternatives=tuple(code for code in dict.fromkeys(found.alternatives) if code != found.cause),
        place=row.change[1] if row.change is not None and row.change[0] == found.cause else None,
        expected=min(parent.warm, row.total),
        predicted=floor if foreseen else parent.warm,
        prediction=prediction,
        lost=missing,
        established=tuple(found.established),
        to_check=tuple(found.to_check),
        compared_with=parent.id,
    )
