"""Sending a session, request by request, and comparing each with its prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies.block_parts import NoText
from agentsim.cache import CacheBackend
from agentsim.cache.endpoint_accounts import EndpointAccount
from agentsim.cache.live_endpoint import LiveBackend, body_of
from agentsim.cache.simulate import arrivals_of
from agentsim.core.session import Request, Session, Usage
from agentsim.rules.prices import RateCard, cost, rate_card
from agentsim.trust.live.live_prediction import agrees, backend_for, expected_read, quantum_of

_AROUND = 200
"""Tokens that a provider may put around a prompt."""


class CannotReplay(ValueError):
    """A session of which nothing can be sent."""


class PlannedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it will be sent. ``at`` is when it was recorded, ``size`` the bytes of its body."""

    request: Request
    at: int
    size: int
    left_out: tuple[str, ...]


class LivePlan(msgspec.Struct, frozen=True, kw_only=True):
    """All that will be sent, and the most that it can cost.

    ``tokens`` are those of the prompts as they were recorded. ``most`` is in picodollars, as if each byte were a token
    at the dearest price; ``expected`` is the modeled cost. Both are ``None`` where a price is not known. ``lasts`` is
    how long the gaps take, in nanoseconds.
    """

    requests: tuple[PlannedRequest, ...]
    skipped: int
    tokens: int
    output: int
    most: int | None
    expected: int | None
    predicted: tuple[Usage, ...]
    lasts: int

    @property
    def left_out(self) -> tuple[str, ...]:
        """What the endpoint will not see of the session."""
        return tuple(sorted({name for planned in self.requests for name in planned.left_out}))


class LiveRow(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was sent: what was predicted for it and what was reported. Times are nanoseconds, UTC.

    ``expected`` is the predicted read in the endpoint's own count of tokens.
    """

    number: int
    request: Request
    sent: int
    end: int
    predicted: Usage
    reported: Usage
    expected: int | None
    agrees: bool | None


def plan_of(
    session: Session,
    account: EndpointAccount,
    *,
    rules: str,
    model: str | None,
    output: int,
    speed: float,
    limit: int | None,
    now: int,
) -> LivePlan:
    """What would be sent, and what it would cost. Nothing is sent. Raises CannotReplay."""
    planned: list[PlannedRequest] = []
    skipped = 0
    for at, request in arrivals_of(session.requests):
        if limit is not None and len(planned) == limit:
            break
        if request.prompt is None or not len(request.prompt):
            skipped += 1
            continue
        made = msgspec.structs.replace(
            request, provider=rules, model=model or request.model, usage=None, first_token=None, end=None, start=at
        )
        try:
            body = body_of(made, account)
        except NoText as error:
            raise CannotReplay(f"request {request.id}: {error}") from None
        made = msgspec.structs.replace(made, settings=body.settings)
        size = len(msgspec.json.encode(body.fields))
        planned.append(PlannedRequest(request=made, at=at, size=size, left_out=body.left_out))
    if not planned:
        raise CannotReplay("no request in it has a prompt: bodies were not recorded")
    first = planned[0].at
    predicted = _predicted(planned, rules, first, speed, now)
    most, expected = _costs(planned, predicted, account, output)
    return LivePlan(
        requests=tuple(planned),
        skipped=skipped,
        tokens=sum(one.request.prompt.tokens for one in planned if one.request.prompt is not None),
        output=output * len(planned),
        most=most,
        expected=expected,
        predicted=predicted,
        lasts=round((planned[-1].at - first) / speed),
    )


def send(plan: LivePlan, live: LiveBackend, rules: str) -> Iterator[LiveRow]:
    """Send what was planned, a row for each answer. Raises :class:`agentsim.cache.endpoint_accounts.AskFailed` at the
    first request that fails."""
    model = plan.requests[0].request.model
    modeled = backend_for(rules, model)
    quantum = quantum_of(rules, model)
    for number, planned in enumerate(plan.requests, 1):
        answered = live.serve(planned.request, planned.at)
        sent, end = live.sent, answered.end or live.sent
        # The clock that counts is the endpoint's: lifetimes run by when things really happened.
        predicted = _serve(modeled, planned.request, sent, end)
        reported = answered.usage
        yield LiveRow(
            number=number,
            request=planned.request,
            sent=sent,
            end=end,
            predicted=predicted,
            reported=reported,
            expected=expected_read(predicted, reported),
            agrees=agrees(predicted, reported, quantum),
        )


def _predicted(planned: Sequence[PlannedRequest], rules: str, first: int, speed: float, now: int) -> tuple[Usage, ...]:
    modeled = backend_for(rules, planned[0].request.model)
    found = []
    for one in planned:
        at = now + round((one.at - first) / speed)
        found.append(_serve(modeled, one.request, at, at))
    return tuple(found)


def _serve(modeled: CacheBackend, request: Request, start: int, end: int) -> Usage:
    timed = msgspec.structs.replace(request, start=start, first_token=end, end=end)
    return modeled.serve(timed, start).usage


def _costs(
    planned: Sequence[PlannedRequest], predicted: Sequence[Usage], account: EndpointAccount, output: int
) -> tuple[int | None, int | None]:
    most = expected = 0
    for one, usage in zip(planned, predicted, strict=True):
        card = rate_card(account.api, one.request.model, None, one.size)
        if card is None:
            return None, None
        paid = cost(card, msgspec.structs.replace(usage, output=output))
        if paid is None:
            return None, None
        expected += paid
        most += (one.size + _AROUND) * _dearest(card) + output * card.output
    return most, expected


def _dearest(card: RateCard) -> int:
    return max(price for price in (card.fresh, card.read, card.write_short, card.write_long) if price is not None)
