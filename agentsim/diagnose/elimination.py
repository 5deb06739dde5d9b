"""Why a prefix was lost: every hypothesis speaks for itself, and they are weighed here.

One that bodies show and whose predicted read is the one that was reported is *proved*. One that is sufficient is
*implied* where all others are excluded by name, and else *likely*. One that the rows point to is *likely*, and what
else nothing speaks against stays beside it. Where none is either, the loss is *unexplained*, with what stays possible,
the likeliest first. The provider's own word names the cause, unless the log shows a finer one that fits it, or a change
of which the word does not speak: it never erases what the log itself shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from agentsim.core.verdict import Divergence, Evidence
from agentsim.diagnose.hypotheses import BY_BODIES, FAMILIES
from agentsim.diagnose.hypothesis import SHOWN, Hypothesis, codes_but, settled_by, unproved
from agentsim.diagnose.lifetime_clock import DOCUMENTED_CLOCK, OBSERVED_CLOCK, LifetimeClock
from agentsim.diagnose.row_case import RowCase

if TYPE_CHECKING:
    from agentsim.diagnose.body_case import BodyCase

__all__ = [
    "DOCUMENTED_CLOCK",
    "OBSERVED_CLOCK",
    "Elimination",
    "LifetimeClock",
    "find_cause",
    "find_cause_by_bodies",
    "hypotheses_on",
]

ALL_LOST, BODY_LOST = "AS902", "AS901"
"""What a loss is called that nothing explains."""


class Elimination(NamedTuple):
    """The outcome: a cause code, what it rests on, what else it may be, and sentences for people."""

    cause: str
    evidence: Evidence
    alternatives: tuple[str, ...]
    established: list[str]
    to_check: list[str]
    place: Divergence | None = None
    fix: str | None = None


def hypotheses_on(case: RowCase) -> list[Hypothesis]:
    """What all hypotheses say on a loss, the heaviest first."""
    found = [said for family in FAMILIES for said in family(case)]
    return sorted(found, key=lambda said: -said.weight)


def find_cause_by_bodies(case: BodyCase) -> Elimination:
    """The cause of a loss that bodies are there of."""
    found = [said for family in BY_BODIES for said in family(case)]
    standing = _standing(sorted(found, key=lambda said: -said.weight))
    pointed = [one for one in standing if one.standing in ("sufficient", "likely")]
    for one in pointed:
        if one.standing == "sufficient" and one.foretells(case.read, case.near):
            return _by_bodies(one, "proved", ())
    if pointed:
        others = codes_but(pointed[0].code, standing)
        return _by_bodies(pointed[0], unproved(others), others)
    lost = next(one for one in standing if one.code in (ALL_LOST, BODY_LOST))
    return _by_bodies(lost, "unexplained", codes_but(lost.code, standing))


def _by_bodies(one: Hypothesis, evidence: Evidence, others: tuple[str, ...]) -> Elimination:
    told = [] if one.sentence is None else [one.sentence]
    return Elimination(one.code, evidence, others, told, [], one.place, one.fix)


def _standing(said: Sequence[Hypothesis]) -> list[Hypothesis]:
    return [one for one in said if one.standing != "excluded"]


def find_cause(case: RowCase) -> Elimination:
    """The cause of a loss."""
    said = hypotheses_on(case)
    standing = _standing(said)
    sufficient = [one for one in standing if one.standing == "sufficient"]
    likely = [one for one in standing if one.standing == "likely"]
    established = _introduction(case)
    to_check = list(case.reach.to_check)
    reason = case.reason
    if reason is not None:
        found = _by_the_provider(case, reason, sufficient, standing, established, to_check)
        if found is not None:
            return found
    if case.equal:
        established.append(f"The {case.row.diagnosis.by} compared the two requests and found no difference.")
    if sufficient:
        first = sufficient[0]
        _tell(first, established, to_check)
        others = codes_but(first.code, _standing(settled_by(first, standing)))
        return Elimination(first.code, unproved(others), others, established, to_check)
    unexplained = ALL_LOST if case.reach.place == "nothing" else BODY_LOST
    if likely:
        first = likely[0]
        for one in standing:
            if one is first or one.weight > first.weight:
                _tell(one, established, to_check)
            elif one.check and one.standing == "open":
                to_check.append(one.check)
        return Elimination(first.code, "likely", codes_but(first.code, standing), established, to_check)
    return _unexplained(case, unexplained, standing, established, to_check)


def _introduction(case: RowCase) -> list[str]:
    sentences = [] if case.clock_sentence is None else [case.clock_sentence]
    growth = _growth(case)
    if growth:
        sentences.append(growth)
    return [*sentences, *case.reach.sentences]


def _growth(case: RowCase) -> str | None:
    usual = None if case.conversation or case.row.automatic else case.memory.usual_growth()
    growth = case.row.total - case.parent.total
    if usual is None or not growth > usual > 0:
        return None
    return (
        f"The prompt grew by {growth:,} tokens; requests here mostly grow by {usual:,}. "
        f"The other {growth - usual:,} are a lead."
    )


def _tell(one: Hypothesis, established: list[str], to_check: list[str]) -> None:
    if one.sentence:
        established.append(one.sentence)
    if one.check:
        to_check.append(one.check)


def _unexplained(
    case: RowCase, code: str, standing: list[Hypothesis], established: list[str], to_check: list[str]
) -> Elimination:
    if case.equal:
        to_check.append("Whether the entry was evicted early or the request reached another cache.")
    elif case.conversation and not case.row.automatic:
        established.append("The log shows the same conversation, longer; nothing in it accounts for the loss.")
    for one in standing:
        _tell(one, established, to_check)
    # "Somewhere in the prefix" is no answer beside the sections by name.
    rest = [one for one in standing if one.code != "AS190"]
    return Elimination(code, "unexplained", codes_but(code, rest), established, to_check)


def _by_the_provider(
    case: RowCase,
    reason: str,
    sufficient: list[Hypothesis],
    standing: list[Hypothesis],
    established: list[str],
    to_check: list[str],
) -> Elimination | None:
    """The verdict where the provider said why; ``None`` where its word is not known."""
    from agentsim.diagnose.provider_words import answer_to, fitting

    fits = fitting(reason)
    if reason == "previous_message_not_found":
        return _forgotten(case, fits, standing, established, to_check)
    answer = answer_to(reason)
    if answer is None:
        established.append("The provider gives a reason that this version does not know.")
        return None
    by = case.row.diagnosis.by
    established.append(f"The {by} compared the two requests and says: {reason.replace('_', ' ')}.")
    shown = [one for one in standing if one.standing == "sufficient" or one.weight >= SHOWN]
    finer = next((one for one in shown if one.code in fits), None)
    code = answer
    evidence: Evidence = by
    if finer is not None:
        _tell(finer, established, to_check)
        code = finer.code
        if code != answer:
            evidence = unproved(codes_but(code, shown)) if finer.standing == "sufficient" else "likely"
    missed = case.row.diagnosis.missed_tokens
    if missed is not None:
        what = "follow the first difference" if by == "provider" else "were written again"
        established.append(f"By its estimate {missed:,} tokens {what}.")
    to_check.append("Which block it was: the log does not hold that part of the request; record full bodies to see it.")
    for one in sufficient:
        if one.code != code and one.sentence:
            established.append(one.sentence)
    return Elimination(code, evidence, codes_but(code, shown), established, to_check)


def _forgotten(
    case: RowCase, fits: frozenset[str], standing: list[Hypothesis], established: list[str], to_check: list[str]
) -> Elimination:
    """Where the provider no longer knew the previous request: an expiry, unless the log shows something else."""
    established.append("The provider no longer knew the previous request.")
    shown = [one for one in standing if one.standing == "sufficient"]
    expired = next((one for one in standing if one.code in fits), None)
    if expired is not None and (expired.standing != "open" or not shown):
        return Elimination(expired.code, "provider", codes_but(expired.code, shown), established, to_check)
    if shown:
        _tell(shown[0], established, to_check)
        also = [*shown, expired] if expired is not None else shown
        others = codes_but(shown[0].code, also)
        return Elimination(shown[0].code, unproved(others), others, established, to_check)
    to_check.append("Why the provider lost its record within the entry's lifetime.")
    code = ALL_LOST if case.reach.place == "nothing" else BODY_LOST
    return Elimination(code, "provider", ("AS503",), established, to_check)
