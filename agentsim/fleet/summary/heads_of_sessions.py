"""Heads that conversations of several sessions would share, were it not for text in them that changes by itself.

Within a session the judge finds such a head. Between sessions no row looks wrong: each is the first of its session.
What is told here is in no sum of losses, as nobody knows whether another program stood between them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Usage
from agentsim.core.verdict import LEAST_LOSS
from agentsim.diagnose import Diagnosis
from agentsim.diagnose.diagnosis_totals import price_of_loss
from agentsim.diagnose.prompt_diff import cause_of
from agentsim.diagnose.shared_heads import SharedHeads, head_end
from agentsim.fleet.summary.summary_shape import SharedHead
from agentsim.rules.prices import RateCard, default_book
from agentsim.rules.providers import rules_for


class Beginning(msgspec.Struct, frozen=True, gc=False):
    """How a conversation began: its tools and system text, when they were used, and what its first request read."""

    session: str
    start: int
    request: str
    key: tuple[str, str]
    head: Prompt
    lifetime: int
    uses: tuple[int, ...]
    usage: Usage
    card: RateCard | None


def beginnings(diagnosis: Diagnosis) -> Iterable[Beginning]:
    """The conversations of a session that began with tools and system text of their own, as far as bodies show them."""
    if not diagnosis.by_bodies:
        return
    uses: dict[str, list[int]] = {}
    for request in diagnosis.session.requests:
        if request.start is not None:
            uses.setdefault(request.lane, []).append(request.start)
    for request, verdict in zip(diagnosis.session.requests, diagnosis.verdicts, strict=True):
        prompt, usage = request.prompt, request.usage
        if verdict.kind != "first" or not request.counted or prompt is None or usage is None or request.start is None:
            continue
        end = head_end(prompt)
        lifetime = _lifetime(request, prompt, end)
        if not end or not lifetime:
            continue
        yield Beginning(
            session=diagnosis.session.id,
            start=request.start,
            request=request.id,
            key=(request.provider, request.model),
            head=Prompt.of([prompt[at] for at in range(end)]),  # so that the rest of the conversation is let go
            lifetime=lifetime * SECOND,
            uses=tuple(sorted(uses[request.lane])),
            usage=usage,
            card=default_book().card_for(request),
        )


def _lifetime(request: Request, prompt: Prompt, end: int) -> int:
    """For how many seconds the head is kept after its last use; 0 where no entry ends within it."""
    rules = rules_for(request.provider, request.model, request.start)
    if rules.matching != "breakpoint":
        return rules.pause
    return max((marker.ttl for marker in prompt.breakpoints if marker.position < end), default=0)


def shared_heads(found: Iterable[Beginning]) -> tuple[SharedHead, ...]:
    """What was sent again because of text that changes by itself, by the place of that text, the most first."""
    known = SharedHeads()
    by_name: dict[str, Beginning] = {}
    sums: dict[tuple[str, str], list[int | None]] = {}
    for number, one in enumerate(sorted(found, key=lambda one: (one.start, one.session, one.request))):
        name = str(number)
        head = known.find(one.key, one.head)
        known.remember(name, one.key, one.head)
        by_name[name] = one
        other = None if head is None else by_name[head.request]
        if head is None or other is None or other.session == one.session or not _is_alive(other, one.start):
            continue
        read = one.usage.read or 0
        front = one.head.tokens_until(other.head.common_length(one.head))
        sent = (one.usage.write or 0) + (one.usage.fresh or 0)
        lost = min(min(other.head.tokens, one.head.tokens) - read, sent)
        if lost < LEAST_LOSS or read > front + front // 10:
            continue
        cost = None if one.card is None else price_of_loss(lost, one.usage, one.card)
        place = head.place.address or head.place.section or ""
        group = sums.setdefault((cause_of(head.place, other.head, one.head), place), [0, 0, None])
        group[0] = (group[0] or 0) + 1
        group[1] = (group[1] or 0) + lost
        group[2] = group[2] if cost is None else (group[2] or 0) + cost
    heads = [
        SharedHead(cause=cause, place=place, conversations=count or 0, tokens=tokens or 0, cost=cost)
        for (cause, place), (count, tokens, cost) in sums.items()
    ]
    return tuple(sorted(heads, key=lambda one: (-(one.cost or 0), -one.tokens, one.cause, one.place)))


def _is_alive(one: Beginning, now: int) -> bool:
    """Whether the head of a conversation lay in the cache: it was used no longer ago than its lifetime."""
    before = bisect_right(one.uses, now)
    return before > 0 and now - one.uses[before - 1] <= one.lifetime
