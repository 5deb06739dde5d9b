"""Judge a session: a verdict and a price for each row, and the sums."""

from __future__ import annotations

import msgspec

from agentsim.core.session import Row, Session, Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose.diagnosis_totals import (
    Totals,
    add_up,
    in_equivalents,
    price_of_loss,
    price_of_unlogged,
    unlogged_base,
)
from agentsim.diagnose.facts_from_session import facts_of
from agentsim.diagnose.lifetime_clock import DOCUMENTED_CLOCK, OBSERVED_CLOCK
from agentsim.diagnose.row_facts import LaneMemory, RowFacts
from agentsim.diagnose.row_judge import judge_row
from agentsim.rules.prices import default_book, storage_cost

__all__ = ["Diagnosis", "Totals", "diagnose", "judge_rows"]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """A session with a row and a verdict for each of its requests, in the session's order, and the sums."""

    session: Session
    rows: tuple[Row, ...]
    verdicts: tuple[Verdict, ...]
    totals: Totals
    by_bodies: bool


def diagnose(
    session: Session, *, use_bodies: bool = True, use_provider_diagnosis: bool = True, show_content: bool = False
) -> Diagnosis:
    """Judge every request of a session.

    With bodies the provider's rules are relaxed one by one until the read is restored; without them, or with
    ``use_bodies=False``, causes are eliminated by arithmetic. ``use_provider_diagnosis=False`` judges blind, as if the
    log held no word of the provider. ``show_content`` puts excerpts around the first difference into each
    :class:`agentsim.core.verdict.Divergence`. Where a request with a prompt has no reported usage, its row holds what
    the modeled provider says.
    """
    by_bodies = use_bodies and session.completeness == "full" and any(r.prompt is not None for r in session.requests)
    if by_bodies:
        from agentsim.diagnose.relax import judge_bodies

        verdicts = list(judge_bodies(session))
        if show_content:
            verdicts = _with_content(session, verdicts)
    else:
        verdicts = judge_rows(session, use_provider_diagnosis=use_provider_diagnosis)
    return _priced(session, verdicts, by_bodies)


def judge_rows(session: Session, *, use_provider_diagnosis: bool = True) -> list[Verdict]:
    """Verdicts by elimination, one per request in the session's order, without prices."""
    clock = OBSERVED_CLOCK if session.completeness == "messages" else DOCUMENTED_CLOCK
    has_messages = session.completeness == "messages"
    memories: dict[str, LaneMemory] = {}
    facts = facts_of(session)
    verdicts: list[Verdict] = []
    for request, row in zip(session.requests, facts, strict=True):
        memory = memories.setdefault(request.lane, LaneMemory())
        verdicts.append(judge_row(row, memory, clock, use_provider=use_provider_diagnosis, has_messages=has_messages))
    return verdicts if has_messages else _with_later_reads(facts, verdicts)


def _with_later_reads(facts: list[RowFacts], verdicts: list[Verdict]) -> list[Verdict]:
    """Say of a loss when the rows after it read its whole prefix: what it wrote was sound, so the change came
    before."""
    readers: dict[str, int] = {}
    for row in facts:
        if row.parent is not None and row.measured and row.read == row.parent.warm:
            readers[row.parent.id] = readers.get(row.parent.id, 0) + 1
    result = []
    for verdict in verdicts:
        count = readers.get(verdict.request, 0)
        if verdict.kind == "miss" and count:
            what = "the next request reads" if count == 1 else f"the next {count} requests read"
            sentence = f"Its own entry was sound: {what} this row's whole prefix."
            verdict = msgspec.structs.replace(verdict, established=(*verdict.established, sentence))
        result.append(verdict)
    return result


def _with_content(session: Session, verdicts: list[Verdict]) -> list[Verdict]:
    """The verdicts with excerpts of the two texts around the place where they part."""
    from agentsim.diagnose.prompt_diff import first_difference

    prompts = {request.id: request.prompt for request in session.requests}
    result = []
    for request, verdict in zip(session.requests, verdicts, strict=True):
        old, new = prompts.get(verdict.compared_with or ""), request.prompt
        if verdict.place is not None and old is not None and new is not None:
            shown = first_difference(old, new, show=True)
            if shown is not None and shown.block == verdict.place.block:
                place = msgspec.structs.replace(verdict.place, before=shown.before, after=shown.after)
                verdict = msgspec.structs.replace(verdict, place=place)
        result.append(verdict)
    return result


def _modeled(session: Session) -> dict[str, Row]:
    """What the modeled provider makes of requests with a prompt whose usage was not reported, by id.

    Nothing where no rules are known for one of their providers.
    """
    if all(request.prompt is None or request.usage is not None for request in session.requests):
        return {}
    from agentsim.cache.routed_backend import RoutedProvider
    from agentsim.cache.simulate import scan

    try:
        rows = scan(session, RoutedProvider(), price=False).rows
    except ValueError:
        return {}
    return {row.request.id: row for row in rows if row.request.usage is None}


def _priced(session: Session, verdicts: list[Verdict], by_bodies: bool) -> Diagnosis:
    book = default_book()
    modeled = _modeled(session) if by_bodies else {}
    rows: list[Row] = []
    priced: list[Verdict] = []
    unlogged_cost = 0
    for request, verdict in zip(session.requests, verdicts, strict=True):
        row = modeled.get(request.id)
        usage = request.usage or (row.usage if row is not None else Usage())
        billed = request if request.usage is not None else msgspec.structs.replace(request, usage=usage)
        card = book.card_for(billed)
        cost, equivalents = book.price(billed)
        stored = row.stored if row is not None else 0
        kept = storage_cost(card, stored) if card is not None else None if stored else 0
        if card is not None:
            if verdict.kind == "miss" and verdict.lost_cost is None:
                lost_cost = price_of_loss(verdict.lost, usage, card)
                if lost_cost is not None:
                    verdict = msgspec.structs.replace(
                        verdict, lost_cost=lost_cost, lost_equivalents=in_equivalents(lost_cost, card)
                    )
            if verdict.unlogged is not None and request.counted:
                least = price_of_unlogged(unlogged_base(verdict, usage), verdict.unlogged, bool(usage.write_long), card)
                unlogged_cost += least or 0
        rows.append(
            Row(
                request=request,
                usage=usage,
                start=request.start,
                first_token=request.first_token,
                end=request.end,
                cost=None if cost is None or kept is None else cost + kept,
                equivalents=equivalents,
                stored=stored,
                storage_cost=kept,
                host=row.host if row is not None else None,
            )
        )
        priced.append(verdict)
    return Diagnosis(
        session=session,
        rows=tuple(rows),
        verdicts=tuple(priced),
        totals=add_up(session.requests, rows, priced, unlogged_cost),
        by_bodies=by_bodies,
    )
