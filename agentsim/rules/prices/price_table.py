"""The compiled price table: what is kept of a price library, as integers in picodollars a token."""

from __future__ import annotations

import re

import msgspec

from agentsim.core.dates import DAY
from agentsim.rules.dated import within

THURSDAY = 3
"""The weekday of the epoch."""

Steps = tuple[tuple[int, int], ...]
"""A price by prompt size: (threshold, picodollars a token), ascending. The last one whose threshold is EXCEEDED by
the whole prompt applies to all of its tokens. The first threshold is -1."""


class Clause(msgspec.Struct, frozen=True, array_like=True):
    """One test of a model's or a provider's name, which must be in lower case."""

    op: str
    text: str = ""
    parts: tuple[Clause, ...] = ()

    def matches(self, name: str) -> bool:
        """Whether the name passes. Raises ValueError for a test this version does not know."""
        match self.op:
            case "equals":
                return name == self.text
            case "starts":
                return name.startswith(self.text)
            case "ends":
                return name.endswith(self.text)
            case "contains":
                return self.text in name
            case "regex":
                return re.search(self.text, name) is not None
            case "or":
                return any(part.matches(name) for part in self.parts)
            case "and":
                return all(part.matches(name) for part in self.parts)
        raise ValueError(f"unknown test {self.op!r} in the price table")


class When(msgspec.Struct, frozen=True, array_like=True):
    """When a price applies: moments (the last one excluded) and nanoseconds of the day, all in UTC.

    ``weekdays`` are those on which its hours count (Monday is 0); empty: all.
    """

    since: int | None = None
    until: int | None = None
    from_time: int | None = None
    until_time: int | None = None
    weekdays: tuple[int, ...] = ()

    def active(self, moment: int, timed: bool) -> bool:
        """Whether it applies at a moment (nanoseconds, UTC).

        Where only the day is known (not ``timed``), a price of some hours does not.
        """
        if not within(moment, self.since, self.until):
            return False
        if self.from_time is None or self.until_time is None:
            return True
        if not timed:
            return False
        day, clock = divmod(moment, DAY)
        if self.weekdays and (day + THURSDAY) % 7 not in self.weekdays:
            return False
        if self.until_time < self.from_time:  # past midnight
            return clock >= self.from_time or clock < self.until_time
        return self.from_time <= clock < self.until_time


ALWAYS = When()


class Prices(msgspec.Struct, frozen=True, array_like=True):
    """The prices of a model; ``None`` where it has none, and in a partial set where it does not change one."""

    fresh: Steps | None = None
    output: Steps | None = None
    read: Steps | None = None
    write_short: Steps | None = None
    write_long: Steps | None = None


class Period(msgspec.Struct, frozen=True, array_like=True):
    """Prices and when they apply; the last active period of a model's list wins, or else the first."""

    prices: Prices
    when: When = ALWAYS


class Variant(msgspec.Struct, frozen=True, array_like=True):
    """Prices that replace the standard ones for requests of a kind, such as a batch; the first match wins, by price."""

    context: tuple[tuple[str, str], ...]
    prices: Prices
    when: When = ALWAYS


class PricedModel(msgspec.Struct, frozen=True, array_like=True):
    """A model of a provider. Without periods it is known and has no exact price for each token.

    ``storage`` is the price of keeping a token for an hour, in picodollars, where there is one.
    """

    id: str
    match: Clause
    periods: tuple[Period, ...] = ()
    variants: tuple[Variant, ...] = ()
    storage: int | None = None


class Modifier(msgspec.Struct, frozen=True, array_like=True):
    """A factor on all prices of some models for requests of a kind, for which the library has no prices.

    A ``context`` whose value is ``*`` concerns every value but the ordinary one.
    """

    provider: str
    context: tuple[str, str]
    numerator: int
    denominator: int
    models: tuple[str, ...] = ()
    except_models: tuple[str, ...] = ()
    when: When = ALWAYS

    def applies(self, provider: str, model: str, context: tuple[str, str], moment: int, timed: bool) -> bool:
        """Whether it concerns a request."""
        return (
            context[0] == self.context[0]
            and self.context[1] in ("*", context[1])
            and provider == self.provider
            and (not self.models or model in self.models)
            and model not in self.except_models
            and self.when.active(moment, timed)
        )


class PricedProvider(msgspec.Struct, frozen=True, array_like=True):
    """A provider; ``models`` stay encoded until the first request of it is priced."""

    id: str
    match: Clause | None
    model_match: Clause | None
    fallbacks: tuple[str, ...]
    models: msgspec.Raw


class PriceTable(msgspec.Struct, frozen=True, array_like=True):
    """All that pricing needs, in one file."""

    providers: tuple[PricedProvider, ...]
    modifiers: tuple[Modifier, ...]
    aliases: dict[str, str] = {}
    """Other names of providers, in lower case."""
    read_until: int = 0
    """The day on which its sources were read (nanoseconds): what is asked for where no time is known."""


MODELS = msgspec.msgpack.Decoder(tuple[PricedModel, ...])
"""Decodes :attr:`Provider.models`."""
