"""Turns the price library and our additions to it into the compiled table. Slow (0.3 s): see :mod:`.store`."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec

from agentsim.core.dates import DAY, SECOND, start_of
from agentsim.core.money import picodollars
from agentsim.rules.prices.price_table import (
    Clause,
    Modifier,
    Period,
    PricedModel,
    PricedProvider,
    Prices,
    PriceTable,
    Steps,
    Variant,
    When,
)

PER = 1_000_000
"""Published prices are for this many tokens."""

KEYS = {
    "fresh": ("input_mtok",),
    "output": ("output_mtok",),
    "read": ("cache_read_mtok",),
    "write_short": ("cache_write_5m_mtok", "cache_write_mtok"),  # the library's general write price is the short one
    "write_long": ("cache_write_1h_mtok",),
}

UNSEEN = ("requests_kcount", "output_reasoning_mtok", "output_citation_mtok")
"""Prices of things that our usage does not tell apart. A model that has one is not priced: better than wrongly."""


class UnusablePriceError(ValueError):
    """A price that cannot be kept exactly, or a rule of the library that this version does not know."""


def compile_table(toml: str) -> PriceTable:
    """Read the library and our additions to it (``prices.toml``).

    Raises ImportError without the library; KeyError or ValueError for an addition that is not as it should be.
    """
    from genai_prices.data import providers

    additions = tomllib.loads(toml)
    return PriceTable(
        providers=tuple(_provider(provider, additions) for provider in providers),
        modifiers=tuple(_modifier(entry) for entry in additions.get("modifier", ())),
        aliases={name: entry["provider"] for entry in additions.get("alias", ()) for name in entry["names"]},
        read_until=start_of(additions["read_until"]),
    )


def _provider(provider: Any, additions: Mapping[str, Any]) -> PricedProvider:
    models = [ours for model in provider.models if (ours := _model(model))]
    known = {model.id for model in models}
    for entry in additions.get("model", ()):
        if entry["provider"] == provider.id and entry["id"] not in known:  # the library's own price wins
            models.append(_added_model(entry))
    for entry in additions.get("period", ()):
        if entry["provider"] == provider.id:
            models = [_with_period(model, entry) for model in models]
    for entry in additions.get("hour_write", ()):
        if provider.id in entry["providers"]:
            models = [_with_hour_write(model, entry) for model in models]
    for entry in additions.get("peak", ()):
        if entry["provider"] == provider.id:
            models = [_with_peak(model, entry) for model in models]
    for entry in additions.get("successor", ()):
        if entry["provider"] == provider.id:
            models = _with_successor(models, entry)
    for entry in additions.get("storage", ()):
        if entry["provider"] == provider.id:
            models = [_with_storage(model, entry) for model in models]
    return PricedProvider(
        id=provider.id,
        match=_optional_clause(provider.provider_match),
        model_match=_optional_clause(provider.model_match),
        fallbacks=tuple(provider.fallback_model_providers or ()),
        models=msgspec.Raw(msgspec.msgpack.encode(models)),
    )


def _model(model: Any) -> PricedModel | None:
    """A model of the library, without periods when its prices cannot be kept; ``None`` when its names cannot."""
    match = _optional_clause(model.match)
    if match is None:
        return None
    listed = model.prices if isinstance(model.prices, list) else [model.prices]
    try:
        periods = tuple(
            Period(_prices(entry.prices), _when(entry.constraint))
            if hasattr(entry, "constraint")
            else Period(_prices(entry))
            for entry in listed
        )
        variants = tuple(
            Variant(tuple(sorted(variant.when.items())), _prices(variant.prices), _when(variant.constraint))
            for variant in model.price_variants or ()
        )
    except UnusablePriceError:
        return PricedModel(model.id, match)
    if any(period.prices.fresh is None or period.prices.output is None for period in periods):
        return PricedModel(model.id, match)
    return PricedModel(model.id, match, periods, variants)


def _prices(prices: Any) -> Prices:
    values = {key: value for key, value in prices.__dict__.items() if value is not None}
    if any(key in values for key in UNSEEN):
        raise UnusablePriceError("priced by something other than tokens of a kind we count")
    found: dict[str, Steps] = {}
    for name, keys in KEYS.items():
        value = next((values[key] for key in keys if key in values), None)
        if value is None:
            continue
        if isinstance(value, Decimal):
            found[name] = ((-1, _per_token(value)),)
        else:
            found[name] = ((-1, _per_token(value.base)), *((t.start, _per_token(t.price)) for t in value.tiers))
    return Prices(**found)


def _per_token(per_million: Decimal) -> int:
    """Picodollars a token. Raises UnusablePriceError when that is no whole number."""
    try:
        whole, rest = divmod(picodollars(per_million), PER)
    except ValueError as error:
        raise UnusablePriceError(str(error)) from None
    if rest:
        raise UnusablePriceError(f"${per_million} for a million tokens is finer than a picodollar a token")
    return whole


def _when(constraint: Any) -> When:
    if constraint is None:
        return When()
    match type(constraint).__name__:
        case "StartDateConstraint":
            return When(since=start_of(constraint.start_date))
        case "TimeOfDateConstraint":
            return When(from_time=_clock(constraint.start_time), until_time=_clock(constraint.end_time))
    raise UnusablePriceError(f"a price under a condition of an unknown kind: {type(constraint).__name__}")


def _clock(time: datetime.time) -> int:
    """Nanoseconds of the day in UTC; a time without a zone is UTC."""
    offset = time.utcoffset() or datetime.timedelta()
    passed = datetime.timedelta(hours=time.hour, minutes=time.minute, seconds=time.second) - offset
    return int(passed.total_seconds()) % 86_400 * SECOND


CLAUSES = {
    "ClauseEquals": ("equals", "equals"),
    "ClauseStartsWith": ("starts", "starts_with"),
    "ClauseEndsWith": ("ends", "ends_with"),
    "ClauseContains": ("contains", "contains"),
}


def _clause(clause: Any) -> Clause:
    """A test of the library as ours. Texts are compared in lower case there, so they are lowered once here."""
    kind = type(clause).__name__
    if kind in CLAUSES:
        op, field = CLAUSES[kind]
        return Clause(op, getattr(clause, field).lower())
    if kind == "ClauseRegex":
        return Clause("regex", clause.regex)
    if kind == "ClauseOr":
        return Clause("or", parts=tuple(_clause(part) for part in clause.or_))
    if kind == "ClauseAnd":
        return Clause("and", parts=tuple(_clause(part) for part in clause.and_))
    raise UnusablePriceError(f"a test of names of an unknown kind: {kind}")


def _optional_clause(clause: Any) -> Clause | None:
    try:
        return None if clause is None else _clause(clause)
    except UnusablePriceError:
        return None


def _added_model(entry: Mapping[str, Any]) -> PricedModel:
    names = [Clause("equals", entry["id"]), Clause("regex", rf"^{entry['id']}-\d{{8}}$")]
    tiers = entry.get("above", ())
    steps = {
        name: ((-1, _per_token(Decimal(entry[name]))), *((t["tokens"], _per_token(Decimal(t[name]))) for t in tiers))
        for name in KEYS
        if name in entry
    }
    return PricedModel(entry["id"], Clause("or", parts=tuple(names)), (Period(Prices(**steps)),))


def _with_period(model: PricedModel, entry: Mapping[str, Any]) -> PricedModel:
    if model.id != entry["model"]:
        return model
    changed = Prices(**{name: ((-1, _per_token(Decimal(entry[name]))),) for name in KEYS if name in entry})
    variant = Variant((), changed, _dates(entry))
    return msgspec.structs.replace(model, variants=(*model.variants, variant))


def _with_hour_write(model: PricedModel, entry: Mapping[str, Any]) -> PricedModel:
    if entry["contains"] not in model.id:
        return model
    factor = Fraction(entry["factor"])
    periods = tuple(
        msgspec.structs.replace(period, prices=_hour_write(period.prices, factor)) for period in model.periods
    )
    variants = tuple(
        msgspec.structs.replace(variant, prices=_hour_write(variant.prices, factor)) for variant in model.variants
    )
    return msgspec.structs.replace(model, periods=periods, variants=variants)


def _hour_write(prices: Prices, factor: Fraction) -> Prices:
    if prices.write_long is not None or prices.write_short is None or prices.fresh is None:
        return prices
    steps = tuple((start, price * factor) for start, price in prices.fresh)
    if any(price.denominator != 1 for _, price in steps):
        return prices
    return msgspec.structs.replace(prices, write_long=tuple((start, int(price)) for start, price in steps))


def _with_peak(model: PricedModel, entry: Mapping[str, Any]) -> PricedModel:
    """The model, each price of which is dearer at the peak hours, in place of the library's own prices of some hours.

    The library keeps days only: what begins there on the first whole day after the change began with the change.
    """
    if model.id not in entry["models"]:
        return model
    began = int(entry["since"].timestamp()) * SECOND
    first_whole_day = -(-began // DAY) * DAY
    factor, days = Fraction(entry["factor"]), tuple(entry["weekdays"])
    periods: list[Period] = []
    for period in model.periods:
        if period.when.from_time is not None:
            continue
        since = began if period.when.since == first_whole_day else period.when.since
        periods.append(Period(period.prices, msgspec.structs.replace(period.when, since=since)))
        dearer = _times(period.prices, factor)
        for start, end in entry["hours"]:
            when = When(max(began, since or began), period.when.until, _clock(start), _clock(end), days)
            periods.append(Period(dearer, when))
    return msgspec.structs.replace(model, periods=tuple(periods))


def _times(prices: Prices, factor: Fraction) -> Prices:
    fields = {name: steps for name in Prices.__struct_fields__ if (steps := getattr(prices, name)) is not None}
    raised = {name: tuple((start, price * factor) for start, price in steps) for name, steps in fields.items()}
    if any(price.denominator != 1 for steps in raised.values() for _, price in steps):
        raise UnusablePriceError("a price at peak hours is finer than a picodollar a token")
    return Prices(**{name: tuple((start, int(price)) for start, price in steps) for name, steps in raised.items()})


def _with_successor(models: list[PricedModel], entry: Mapping[str, Any]) -> list[PricedModel]:
    """The models, some of which cost what another one does from a day on."""
    since = start_of(entry["since"])
    later = tuple(
        msgspec.structs.replace(
            period, when=msgspec.structs.replace(period.when, since=max(since, period.when.since or since))
        )
        for model in models
        if model.id == entry["like"]
        for period in model.periods
    )
    return [
        msgspec.structs.replace(model, periods=(*model.periods, *later)) if model.id in entry["models"] else model
        for model in models
    ]


def _with_storage(model: PricedModel, entry: Mapping[str, Any]) -> PricedModel:
    if not re.search(entry["models"], model.id):
        return model
    return msgspec.structs.replace(model, storage=_per_token(Decimal(entry["hour"])))


def _modifier(entry: Mapping[str, Any]) -> Modifier:
    factor = Fraction(entry["factor"])
    pairs: Iterable[tuple[str, str]] = entry["context"].items()
    (context,) = pairs
    return Modifier(
        provider=entry["provider"],
        context=context,
        numerator=factor.numerator,
        denominator=factor.denominator,
        models=tuple(entry.get("models", ())),
        except_models=tuple(entry.get("except", ())),
        when=_dates(entry),
    )


def _dates(entry: Mapping[str, Any]) -> When:
    since, until = entry.get("since"), entry.get("until")
    return When(
        since=start_of(since) if since else None,
        until=start_of(until) if until else None,
    )
