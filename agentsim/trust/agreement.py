"""How well blind verdicts agree with the reasons that the provider itself recorded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from agentsim.core.session import Session
from agentsim.core.verdict import Verdict
from agentsim.diagnose.cause_registry import CAUSES
from agentsim.diagnose.diagnosis import judge_rows
from agentsim.diagnose.provider_words import fitting, known_words

Grade = Literal["exact", "compatible", "contradicted"]
"""``exact``: the verdict's cause is the provider's reason. ``compatible``: the reason is among the causes the verdict
leaves open, or there was no loss to explain. ``contradicted``: the verdict rules the reason out."""

REASON_CAUSES: dict[str, frozenset[str]] = {word: fitting(word) for word in known_words()}
"""The causes that say the same as a provider's reason."""

_DIFFERENCE = ("AS1", "AS4")
"""Groups of causes that say how the two requests differ."""

UNEXPLAINED = frozenset(one.code for one in CAUSES.values() if one.placeless and one.within is None)
"""Causes that name nothing, not even a section of the prompt."""


class AgreedRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One request with a recorded reason, of the provider or the harness, beside the blind verdict on it."""

    session: str
    request: str
    reason: str
    kind: str
    cause: str | None
    grade: Grade
    lost: int
    by: Literal["provider", "harness"] = "provider"


class ForeseenReads(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How many reads were known before looking at them, of the requests after the first of their lane.

    ``logged``: to the token: what the logged requests before had left; with the reply before, where the turn before
    had read its own; or what an expiry or an overrun lookback leaves. ``unlogged``: exactly that and the
    reply before, which a call that no log shows had added, though the turn before had not read its own. ``losses``: an
    expiry or an overrun lookback was certain, or a compaction made, and the read fell, to another number than was
    foreseen (``edge`` cases, where a lifetime was just over, among them). ``others`` are the rest.
    """

    requests: int = 0
    logged: int = 0
    unlogged: int = 0
    losses: int = 0
    others: int = 0


class LabelAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """The confusion matrix of (reason, cause or kind, grade, count), its rows, and how many reads were foreseen.

    A loss where the provider recorded that it found no difference has the reason ``no difference found``; only a
    verdict of a changed prefix contradicts that.
    """

    labelled: int
    matrix: tuple[tuple[str, str, Grade, int], ...]
    rows: tuple[AgreedRow, ...]
    exact: int
    compatible: int
    contradicted: int
    foreseen: ForeseenReads = ForeseenReads()


def agree(sessions: Iterable[Session]) -> LabelAgreement:
    """Judge each session blind and compare with what the provider recorded. Every request counts once."""
    rows: list[AgreedRow] = []
    seen: dict[str, int] = {"logged": 0, "unlogged": 0, "losses": 0, "others": 0}
    for session in sessions:
        blind = judge_rows(session, use_provider_diagnosis=False)
        for request, verdict in zip(session.requests, blind, strict=True):
            if not request.counted:
                continue
            if verdict.prediction != "none":
                seen[_foreseen(verdict)] += 1
            diagnosis = request.diagnosis
            if not diagnosis.reported:
                continue
            if diagnosis.reason is None and verdict.kind != "miss":
                continue
            reason = diagnosis.reason or "no difference found"
            rows.append(
                AgreedRow(
                    session=session.id,
                    request=request.id,
                    reason=reason,
                    kind=verdict.kind,
                    cause=verdict.cause,
                    grade=_grade(diagnosis.reason, verdict),
                    lost=verdict.lost,
                    by=diagnosis.by,
                )
            )
    counts: dict[tuple[str, str, Grade], int] = {}
    for row in rows:
        key = (row.reason, row.cause or row.kind, row.grade)
        counts[key] = counts.get(key, 0) + 1
    grades = [row.grade for row in rows]
    return LabelAgreement(
        labelled=len(rows),
        matrix=tuple((*key, count) for key, count in sorted(counts.items())),
        rows=tuple(rows),
        exact=grades.count("exact"),
        compatible=grades.count("compatible"),
        contradicted=grades.count("contradicted"),
        foreseen=ForeseenReads(requests=sum(seen.values()), **seen),
    )


def _foreseen(verdict: Verdict) -> str:
    if verdict.prediction == "wrong":
        return "others"
    if verdict.prediction == "exact":
        return "logged"
    return "unlogged" if verdict.kind == "extended" else "losses"


def _grade(reason: str | None, verdict: Verdict) -> Grade:
    if verdict.kind != "miss":
        # The provider compares requests, not hits: a difference behind an entry that was read costs nothing.
        return "compatible"
    possible = {verdict.cause, *verdict.alternatives}
    if reason is None:
        # Compared and equal, and yet lost: an expiry, the lookback or the provider's side. A changed prefix is not.
        changed = verdict.cause not in UNEXPLAINED and (verdict.cause or "").startswith(_DIFFERENCE)
        if not changed:
            return "compatible" if verdict.cause in UNEXPLAINED else "exact"
        return (
            "compatible" if any(not code.startswith(_DIFFERENCE) for code in verdict.alternatives) else "contradicted"
        )
    same = REASON_CAUSES.get(reason)
    if same is None:
        return "compatible"
    if verdict.cause in same:
        return "exact"
    return "compatible" if possible & same else "contradicted"
