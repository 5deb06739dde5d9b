"""What a budget is judged on: the sums of a session, and how much evidence for them is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentsim.core.sums import FIELDS, Sums, known
from agentsim.core.verdict import Verdict
from agentsim.diagnose.cause_registry import finer_than
from agentsim.diagnose.diagnosis import Diagnosis
from agentsim.diagnose.never_read import never_read

Counts = tuple[tuple[str, int], ...]
"""How often each code occurs, sorted by code."""

PROOF = frozenset({"proved", "provider"})


class Measures(Sums, frozen=True, kw_only=True, gc=False):
    """Sums over the counted requests of one or more sessions.

    ``misses`` counts losses by cause. ``causes`` counts every request that a cause was found for, losses and others (a
    compaction, a prompt that is not cached), and both halves of a cause that has two. ``open_causes`` counts requests
    of which it is not settled whether the cause is that one. ``never_read`` counts requests alone in their lane that
    paid for an entry which nobody read; ``None`` where that was not looked at.

    What is missing: requests without a known price (``unpriced``), without cache counters (``unreported``), with a
    placeholder in the log instead of the final output (``provisional``: their cost is a least one), losses without a
    price (``lost_unpriced``), and lines of the log that could not be used (``skipped``).
    """

    sessions: int = 1
    lost_cost: int = 0
    misses: Counts = ()
    causes: Counts = ()
    open_causes: Counts = ()
    unreported: int = 0
    lost_unpriced: int = 0
    provisional: int = 0
    skipped: int = 0
    never_read: int | None = None

    @property
    def known_lost_cost(self) -> int | None:
        """What was lost where it has a price; ``None`` where something was lost and nothing of it has one."""
        return known(self.lost_cost, sum(count for _, count in self.misses), self.lost_unpriced)


def measure(diagnosis: Diagnosis, *, unread: bool = False) -> Measures:
    """The measures of one judged session. ``unread`` asks what was written and never read, which takes a while."""
    totals = diagnosis.totals
    misses: dict[str, int] = {}
    causes: dict[str, int] = {}
    open_causes: dict[str, int] = {}
    for request, verdict in zip(diagnosis.session.requests, diagnosis.verdicts, strict=True):
        if not request.counted:
            continue
        if verdict.kind == "miss":
            cause = verdict.code
            misses[cause] = misses.get(cause, 0) + 1
        elif verdict.kind not in ("compaction", "uncached"):
            continue
        found = certain_causes(verdict)
        for code in found:
            causes[code] = causes.get(code, 0) + 1
        for code in _open_causes(verdict, found):
            open_causes[code] = open_causes.get(code, 0) + 1
    session = diagnosis.session
    skipped = max(sum(count for _, count in session.accounting.skipped), len(session.problems))
    return Measures(
        **{name: getattr(totals, name) for name in FIELDS},
        lost_cost=totals.lost_cost,
        misses=_counts(misses),
        causes=_counts(causes),
        open_causes=_counts(open_causes),
        unreported=totals.unreported,
        lost_unpriced=sum(loss.unpriced for loss in totals.losses),
        provisional=sum(r.counted and not r.output_final for r in session.requests),
        skipped=skipped,
        never_read=_alone_in_vain(diagnosis) if unread else None,
    )


def _alone_in_vain(diagnosis: Diagnosis) -> int:
    return sum(one is not None and one.why == "alone" for one in never_read(diagnosis.rows))


def certain_causes(verdict: Verdict) -> tuple[str, ...]:
    """The causes that a verdict leaves no doubt about, and its first guess where it leaves some."""
    found: tuple[str, ...] = (verdict.cause,) if verdict.cause is not None else ()
    # A proof leaves nothing open: what it names besides is the other half of the cause.
    return (*found, *verdict.alternatives) if verdict.evidence in PROOF else found


def _open_causes(verdict: Verdict, certain: tuple[str, ...]) -> Iterator[str]:
    """The causes that may be behind a verdict for all that the log tells."""
    named = dict.fromkeys((*certain, *verdict.alternatives))
    possible = dict(named)
    for code in named:
        possible.update(dict.fromkeys(sorted(finer_than(code))))
    return (code for code in possible if code not in certain)


def together(parts: Iterable[Measures]) -> Measures:
    """The sums of several measures."""
    parts = list(parts)
    numbers = {
        name: sum(getattr(part, name) for part in parts)
        for name in Measures.__struct_fields__
        if name not in ("misses", "causes", "open_causes", "never_read")
    }
    counted = [part.never_read for part in parts if part.never_read is not None]
    return Measures(
        **numbers,
        never_read=sum(counted) if len(counted) == len(parts) else None,
        misses=_merged(part.misses for part in parts),
        causes=_merged(part.causes for part in parts),
        open_causes=_merged(part.open_causes for part in parts),
    )


def _merged(parts: Iterable[Counts]) -> Counts:
    sums: dict[str, int] = {}
    for counts in parts:
        for code, count in counts:
            sums[code] = sums.get(code, 0) + count
    return _counts(sums)


def _counts(sums: dict[str, int]) -> Counts:
    return tuple(sorted(sums.items()))
