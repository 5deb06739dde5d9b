"""The clock: recorded requests arrive at their times at a backend, which answers them one after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from agentsim.cache import CacheBackend, Served
from agentsim.core.garbage_collection import without_collection
from agentsim.core.session import Ledger, Request, Row, Session, Usage

if TYPE_CHECKING:
    import simpy

    from agentsim.rules.prices import PriceBook

Price = Callable[[Request, Usage, int], tuple[int | None, int | None, int | None]]
"""Picodollars of a request for its tokens, its input in micro-tokens of ordinary input, and picodollars for what it
keeps stored (token-seconds); ``None`` where unknown."""


def replay(session: Session, backend: CacheBackend, *, price: bool = True) -> Ledger:
    """Replay a session at its recorded times on a SimPy clock, and price each row.

    Requests that start at the same instant keep their order; one whose start is not known follows the one before it at
    once. Rows are in order of their start. A request that the backend rejects has a row that consumed nothing.
    """
    import simpy

    arrivals = arrivals_of(session.requests)
    pricing = pricing_of(price)
    rows: list[Row] = []
    if arrivals:
        environment = simpy.Environment(initial_time=arrivals[0][0])
        environment.process(_arrive(environment, arrivals, backend, pricing, rows))
        with without_collection():
            environment.run()
    return Ledger(session=session, rows=tuple(rows))


def scan(session: Session, backend: CacheBackend, *, price: bool = True) -> Ledger:
    """The rows of :func:`replay` without a clock: recorded requests need none, they are only put in order.

    ``backend`` answers the requests of ``session``, and must not have served anything yet; without ``price`` no row has
    a cost.
    """
    pricing = pricing_of(price)
    arrivals = arrivals_of(session.requests)
    with without_collection():
        rows = tuple([row_of(request, backend.serve(request, now), pricing) for now, request in arrivals])
    return Ledger(session=session, rows=rows)


def arrivals_of(requests: Sequence[Request]) -> list[tuple[int, Request]]:
    """Requests with the times at which they arrive, in order; ties keep the order in which they were given."""
    arrivals: list[tuple[int, Request]] = []
    last = next((request.start for request in requests if request.start is not None), 0)
    for request in requests:
        if request.start is not None:
            last = request.start
        arrivals.append((last, request))
    arrivals.sort(key=_time)
    return arrivals


def _arrive(
    environment: simpy.Environment,
    arrivals: Sequence[tuple[int, Request]],
    backend: CacheBackend,
    pricing: Price,
    rows: list[Row],
) -> Generator[simpy.Event, Any, None]:
    now = arrivals[0][0]
    for start, request in arrivals:
        if start > now:
            # Waiting for no time at all would only let the queue reorder what arrives together.
            yield environment.timeout(start - now)
            now = start
        rows.append(row_of(request, backend.serve(request, now), pricing))


def _time(arrival: tuple[int, Request]) -> int:
    return arrival[0]


def pricing_of(price: bool) -> Price:
    """What prices rows: the default book, or nothing."""
    if not price:
        return _unpriced
    from agentsim.rules.prices import cost, default_book, equivalents, storage_cost

    book: PriceBook = default_book()

    def priced(request: Request, usage: Usage, stored: int) -> tuple[int | None, int | None, int | None]:
        card = book.card_for(request, usage)
        if card is None:
            return None, None, None if stored else 0
        return cost(card, usage), equivalents(card, usage), storage_cost(card, stored) if stored else 0

    return priced


def _unpriced(_request: Request, _usage: Usage, stored: int) -> tuple[int | None, int | None, int | None]:
    return None, None, None if stored else 0


def row_of(request: Request, served: Served, pricing: Price) -> Row:
    """The row of a request that was ``served``, with its cost by ``pricing``."""
    usage = served.usage
    paid, equal, kept = pricing(request, usage, served.stored)
    return Row(
        request=request,
        usage=usage,
        start=request.start,
        first_token=request.first_token if served.first_token is None else served.first_token,
        end=request.end if served.end is None else served.end,
        cost=None if paid is None or kept is None else paid + kept,
        equivalents=equal,
        stored=served.stored,
        storage_cost=kept,
        host=served.host,
    )
