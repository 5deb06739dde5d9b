"""Where the requests of a simulation go: into the sums, and into a session when one is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from agentsim.cache import Served
from agentsim.core.session import Event, EventKind, Lane, Purpose, Request, Row, Usage
from agentsim.core.sums import add
from agentsim.harness.task_account import CompactionMeter, Meter

if TYPE_CHECKING:
    from agentsim.rules.prices import RateCard

Price = Callable[[Request, Usage], tuple[int | None, int | None]]
"""Picodollars of a request, and its input in micro-tokens of ordinary input; ``None`` where unknown."""


class Span(msgspec.Struct, frozen=True, gc=False):
    """Something that took time in a lane and is no request: a tool, a pause, waiting before a retry."""

    lane: str
    name: str
    start: int
    end: int


class Link(msgspec.Struct, frozen=True, gc=False):
    """A request read the entry that another one wrote."""

    writer: str
    reader: str


class SimulationRecorder:
    """Collects what happened. Mutable. With ``keep=False`` only the sums are kept."""

    def __init__(self, price: Price, *, keep: bool = True) -> None:
        self.price = price
        self.keep = keep
        self.meter = Meter()
        self.lanes: list[Lane] = []
        self.requests: list[Request] = []
        self.rows: list[Row] = []
        self.events: list[Event] = []
        self.spans: list[Span] = []
        self.links: list[Link] = []
        self._announced: dict[str, list[Event]] = {}
        self._count = 0

    def next_id(self) -> str:
        """The id of the next request: they are numbered in the order in which they are served."""
        self._count += 1
        return f"r{self._count}"

    def lane(self, lane: str, purpose: Purpose, parent: str | None) -> None:
        """A lane begins."""
        if self.keep:
            self.lanes.append(Lane(id=lane, title=lane, purpose=purpose, parent=parent))

    def event(self, kind: EventKind, time: int, lane: str, detail: str | None = None) -> None:
        """Something happened before the next request of a lane."""
        if self.keep:
            event = Event(kind=kind, time=time, lane=lane, detail=detail)
            self._announced.setdefault(lane, []).append(event)

    def span(self, lane: str, name: str, stage: str | None, start: int, end: int) -> None:
        """Time passed in a lane; it counts toward a stage of the account, where one is named."""
        if stage is not None:
            self.meter.stages[stage] += end - start
        if self.keep and end > start:
            self.spans.append(Span(lane, name, start, end))

    def served(
        self,
        request: Request,
        served: Served,
        first_token: int,
        end: int,
        following: CompactionMeter | None = None,
        compacting: CompactionMeter | None = None,
    ) -> int | None:
        """A request was answered. Returns its price. ``following`` and ``compacting`` are the compaction that came
        before it, and the one that it makes."""
        usage = served.usage
        cost, equivalents = self.price(request, usage)
        kept = _price_of_storage(request, served) if served.stored and cost is not None else 0
        cost = None if cost is None or kept is None else cost + kept
        meter = self.meter
        add(meter.sums_of(request.purpose), usage, cost, equivalents)
        start = request.start or 0
        stages = meter.stages
        stages["first_token"] += first_token - start
        stages["output"] += end - first_token
        if following is not None:
            add(following.following(), usage, cost, equivalents)
        if compacting is not None:
            add(compacting.summary, usage, cost, equivalents)
        if self.keep:
            self._keep(request, served, cost, equivalents, kept)
        return cost

    def inside(self, request: Request, usage: Usage, compacting: CompactionMeter) -> tuple[int | None, int | None]:
        """A call that the provider made inside a request, to compact its history, is added as a summary."""
        cost, equivalents = self.price(request, usage)
        add(self.meter.sums_of("summary"), usage, cost, equivalents)
        add(compacting.summary, usage, cost, equivalents)
        return cost, equivalents

    def enlarge_last(self, usage: Usage, cost: int | None, equivalents: int | None) -> None:
        """The last request had a call inside: its row shows the price of both."""
        if not self.keep:
            return
        request, row = self.requests[-1], self.rows[-1]
        own = request.usage or Usage()
        request = msgspec.structs.replace(request, iterations=(usage, own))
        total = None if cost is None or row.cost is None else cost + row.cost
        equal = None if equivalents is None or row.equivalents is None else equivalents + row.equivalents
        self.requests[-1] = request
        self.rows[-1] = msgspec.structs.replace(row, request=request, cost=total, equivalents=equal)

    def _keep(
        self, request: Request, served: Served, cost: int | None, equivalents: int | None, kept: int | None
    ) -> None:
        for event in self._announced.pop(request.lane, ()):
            self.events.append(msgspec.structs.replace(event, before=request.id))
        self.requests.append(request)
        self.rows.append(
            Row(
                request=request,
                usage=served.usage,
                start=request.start,
                first_token=request.first_token,
                end=request.end,
                cost=cost,
                equivalents=equivalents,
                stored=served.stored,
                storage_cost=kept,
                host=served.host,
            )
        )
        if served.hit_owner is not None and served.hit_owner != request.id:
            self.links.append(Link(served.hit_owner, request.id))

    def sort(self) -> None:
        """Bring requests that were recorded as they ended into the order in which they began."""
        order = sorted(range(len(self.requests)), key=lambda at: int(self.requests[at].id[1:]))
        self.requests = [self.requests[at] for at in order]
        self.rows = [self.rows[at] for at in order]

    def trailing(self) -> None:
        """Events after the last request of their lanes."""
        for lane in sorted(self._announced):
            self.events += self._announced[lane]
        self._announced.clear()


def _price_of_storage(request: Request, served: Served) -> int | None:
    from agentsim.rules.prices import default_book, storage_cost

    card = default_book().card_for(request, served.usage)
    return None if card is None else storage_cost(card, served.stored)


def priced() -> Price:
    """Prices of the price library, looked up once for each model, day and tier."""
    from agentsim.rules.prices import cost, default_book, equivalents

    book = default_book()

    def price(request: Request, usage: Usage) -> tuple[int | None, int | None]:
        size = (usage.fresh or 0) + (usage.read or 0) + (usage.write_short or 0) + (usage.write_long or 0)
        card: RateCard | None = book.card(
            request.provider,
            request.model,
            request.start,
            size,
            request.service_tier,
            request.speed,
            request.region,
        )
        return (None, None) if card is None else (cost(card, usage), equivalents(card, usage))

    return price


def free(_request: Request, _usage: Usage) -> tuple[int | None, int | None]:
    """No prices: costs stay unknown."""
    return None, None
