"""Looks prices up, and remembers them so that a look-up in a loop costs a dictionary access."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from agentsim.core.dates import DAY, has_date
from agentsim.core.session import Request, Usage
from agentsim.rules.prices.billing import billed_parts
from agentsim.rules.prices.own_prices import OwnPrice, own_card
from agentsim.rules.prices.price_names import LONGEST, Directory, geography
from agentsim.rules.prices.price_store import load_table
from agentsim.rules.prices.price_table import Modifier, PricedModel, Prices, PriceTable
from agentsim.rules.prices.rate_card import RateCard, cost, equivalents

NEUTRAL = frozenset({"", "standard", "default", "auto", "standard_only", "not_available", "global"})
"""Values of a request's service tier, speed and region that leave its price as it is."""

Card = RateCard | None
Tiers = tuple[tuple[int, Card], ...]
"""Cards by prompt size, largest threshold first; the first whose threshold is exceeded applies."""

Way = tuple[str | None, str | None, str | None]
"""How a request was processed: service tier, speed, region, as its log names them."""

REMEMBERED = 100_000
"""Look-ups kept: a model on a day each, so that years of logs fit."""

HOURLY = object()
"""Marks a price that changes within the day: it is looked up each time."""


class PriceBook:
    """Rate cards by provider, model, time, prompt size and way of processing.

    Deterministic: the same question has the same answer on every machine with the same price library. Not safe to
    share between threads while it is being filled.
    """

    def __init__(self, table: PriceTable | None = None, own: Mapping[str, tuple[OwnPrice, ...]] | None = None) -> None:
        """``table`` defaults to the compiled library, from its cache on disk where there is one.

        ``own`` are prices by provider that stand in front of it. They are those of an ordinary request.
        """
        self._own = dict(own or {})
        table = load_table() if table is None else table
        self._directory = Directory(table)
        self._modifiers = table.modifiers
        self._read_until = table.read_until
        self._models: dict[tuple[str, str], tuple[str, PricedModel] | None] = {}
        self._known: dict[tuple[str, str, int | None, str | None, str | None, str | None], object] = {}

    def card(
        self,
        provider: str,
        model: str,
        when: int | None,
        total_input: int,
        service_tier: str | None = None,
        speed: str | None = None,
        region: str | None = None,
    ) -> RateCard | None:
        """The prices of a request, or ``None`` when they are not known.

        ``when`` is its start (nanoseconds, UTC); at an unknown time, or one that counts from the beginning of its own
        trace, those of the day apply on which prices were read. ``total_input`` is the whole prompt in tokens, reads
        and writes included: it decides the tier, of all tokens alike.
        """
        if when is not None and not has_date(when):
            when = None
        key = (provider, model, None if when is None else when // DAY, service_tier, speed, region)
        try:
            found = self._known[key]
        except KeyError:
            if len(model) > LONGEST:  # such names are in no table, and would fill the memory from a hostile log
                return None
            if len(self._known) >= REMEMBERED:
                self._known.clear()
                self._models.clear()
            found = self._known[key] = self._look_up(provider, model, when, (service_tier, speed, region))
        if type(found) is RateCard or found is None:
            return found
        tiers = self._tiers(provider, model, when, (service_tier, speed, region)) if found is HOURLY else found
        for threshold, card in tiers:  # type: ignore[attr-defined]
            if total_input > threshold:
                return card  # type: ignore[no-any-return]
        return None

    def tiers(self, provider: str, model: str, when: int, speed: str | None = None) -> Tiers:
        """All cards of a model at a time by prompt size, those of the largest prompts first; nothing where it has no
        known price. A card applies above its threshold."""
        own = self._own.get(provider.strip().lower())
        if own is not None and not speed and (card := own_card(own, model, when)) is not None:
            return ((-1, card),)
        if len(model) > LONGEST:
            return ()
        return tuple(tier for tier in self._tiers(provider, model, when, (None, speed, None)) if tier[1] is not None)

    def card_for(self, request: Request, usage: Usage | None = None) -> RateCard | None:
        """The prices of a request, at the tier of ``usage`` (its own by default)."""
        usage = usage or request.usage
        size = (usage.total_input or 0) if usage is not None else 0
        return self.card(
            request.provider,
            request.model,
            request.start,
            size,
            request.service_tier,
            request.speed,
            request.region,
        )

    def price(self, request: Request) -> tuple[int | None, int | None]:
        """What a request cost (picodollars) and its input in micro-tokens of ordinary input; ``None`` where unknown.

        A request that the provider served by several inner calls is the sum of theirs, each at its own tier.
        """
        parts = billed_parts(request)
        if not parts:
            return None, None
        paid: int | None = 0
        equal: int | None = 0
        for part in parts:
            card = self.card_for(request, part)
            if card is None:
                return None, None
            part_cost, part_equal = cost(card, part), equivalents(card, part)
            paid = None if paid is None or part_cost is None else paid + part_cost
            equal = None if equal is None or part_equal is None else equal + part_equal
        return paid, equal

    def _look_up(self, provider: str, model: str, when: int | None, way: Way) -> object:
        """What to remember for a day: a card, ``None``, tiers, or HOURLY."""
        own = self._own.get(provider.strip().lower())
        if own is not None and (card := own_card(own, model, when)) is not None:
            return None if _context(*way) else card
        found = self._model(provider, model)
        if found is None:
            return None
        times = [*(period.when for period in found[1].periods), *(variant.when for variant in found[1].variants)]
        if when is not None and any(time.from_time is not None for time in times):
            return HOURLY
        tiers = self._tiers(provider, model, when, way)
        return tiers[0][1] if len(tiers) == 1 else tiers or None

    def _model(self, provider: str, name: str) -> tuple[str, PricedModel] | None:
        key = (provider, name)
        if key not in self._models:
            self._models[key] = self._directory.find(provider, name)
        return self._models[key]

    def _tiers(self, provider: str, name: str, when: int | None, way: Way) -> Tiers:
        found = self._model(provider, name)
        if found is None or not found[1].periods:
            return ()
        owner, model = found
        context = _context(*way)
        if place := geography(name):
            context["geography"] = place
        moment, timed = (self._read_until, False) if when is None else (when, True)
        prices, open_questions = _resolve(model, moment, timed, context)
        factor = (1, 1)
        for question in open_questions:
            modifier = self._modifier(owner, model.id, question, moment, timed)
            if modifier is not None:
                factor = (factor[0] * modifier.numerator, factor[1] * modifier.denominator)
            elif question[0] not in ("region", "geography"):  # no surcharge known for a region: none asked
                return ()
        return _cards(prices, factor, model.storage)

    def _modifier(
        self, provider: str, model: str, question: tuple[str, str], moment: int, timed: bool
    ) -> Modifier | None:
        return next((m for m in self._modifiers if m.applies(provider, model, question, moment, timed)), None)


def _context(service_tier: str | None, speed: str | None, region: str | None) -> dict[str, str]:
    """The ways in which a request is not an ordinary one, in the price library's words."""
    context: dict[str, str] = {}
    if service_tier == "batch":
        context["processing"] = "batch"
    elif service_tier and service_tier not in NEUTRAL:
        context["service_tier"] = service_tier
    if speed and speed not in NEUTRAL:
        context["speed"] = speed
    if region and region not in NEUTRAL:
        context["region"] = region
    return context


def _resolve(
    model: PricedModel, moment: int, timed: bool, context: dict[str, str]
) -> tuple[Prices, list[tuple[str, str]]]:
    """The prices at a time and for a way of processing, and those parts of the context that no price covers."""
    standard = next((p for p in reversed(model.periods) if p.when.active(moment, timed)), model.periods[0]).prices
    chosen: dict[str, object] = {}
    covered: set[str] = set()
    for variant in model.variants:
        if not variant.when.active(moment, timed) or any(context.get(name) != value for name, value in variant.context):
            continue
        covered.update(name for name, _ in variant.context)
        for name in Prices.__struct_fields__:
            if (steps := getattr(variant.prices, name)) is not None:
                chosen.setdefault(name, steps)
    fields = {name: chosen.get(name, getattr(standard, name)) for name in Prices.__struct_fields__}
    return Prices(**fields), [(n, v) for n, v in context.items() if n not in covered]  # type: ignore[arg-type]


def _cards(prices: Prices, factor: tuple[int, int], storage: int | None) -> Tiers:
    fields = {name: steps for name in Prices.__struct_fields__ if (steps := getattr(prices, name)) is not None}
    thresholds = sorted({start for steps in fields.values() for start, _ in steps}, reverse=True)
    return tuple((threshold, _card(fields, threshold, factor, storage)) for threshold in thresholds)


def _card(
    fields: dict[str, tuple[tuple[int, int], ...]], threshold: int, factor: tuple[int, int], storage: int | None
) -> Card:
    """The card of one tier; ``None`` when the factor leaves a price finer than a picodollar a token.

    What is stored costs the same whatever the tier and the way of processing.
    """
    values: dict[str, int] = {}
    for name, steps in fields.items():
        base = next(price for start, price in reversed(steps) if start <= threshold)
        values[name], rest = divmod(base * factor[0], factor[1])
        if rest:
            return None
    return RateCard(**values, storage=storage)


@cache
def default_book() -> PriceBook:
    """The book of the installed price library, made once for a process."""
    return PriceBook(own=_own)


_own: dict[str, tuple[OwnPrice, ...]] = {}


def use_own_prices(own: Mapping[str, tuple[OwnPrice, ...]]) -> None:
    """Let these prices stand in front of the library's from now on, in place of any given before."""
    if own != _own:
        _own.clear()
        _own.update(own)
        default_book.cache_clear()


def rate_card(
    provider: str,
    model: str,
    when: int | None,
    total_input: int,
    *,
    service_tier: str | None = None,
    speed: str | None = None,
    region: str | None = None,
) -> RateCard | None:
    """The prices of one request: :meth:`PriceBook.card` of the installed price library."""
    return default_book().card(provider, model, when, total_input, service_tier, speed, region)
