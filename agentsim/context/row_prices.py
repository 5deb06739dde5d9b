"""What each place of a prompt cost in one request: what was read stands first, then what was written, then the rest."""

from __future__ import annotations

import msgspec

from agentsim.core.session import Usage
from agentsim.rules.prices import RateCard, input_cost


class PricedSpan(msgspec.Struct, frozen=True, gc=False):
    """Tokens from one place of a prompt to another, at one price (picodollars a token)."""

    way: str
    start: int
    end: int
    rate: int


class PricedRow(msgspec.Struct, frozen=True):
    """The input of one billed call. ``rates`` are those of a read, a write and fresh input."""

    spans: tuple[PricedSpan, ...]
    read: int
    total: int
    read_rate: int
    write_rate: int

    def between(self, low: int, high: int) -> int:
        """Picodollars for the tokens from ``low`` to ``high``."""
        return sum(
            (min(high, span.end) - max(low, span.start)) * span.rate
            for span in self.spans
            if span.start < high and low < span.end
        )


def priced_row(card: RateCard, usage: Usage) -> PricedRow | None:
    """The input of a call, place by place; ``None`` where a counter has no price. It adds up to its price exactly."""
    parts = (
        ("read", Usage(read=usage.read)),
        ("write", Usage(write_long=usage.write_long)),
        ("write", Usage(write_short=usage.write_short)),
        ("write", Usage(write_other=usage.write_other)),
        ("fresh", Usage(fresh=usage.fresh)),
    )
    spans: list[PricedSpan] = []
    place = 0
    for way, part in parts:
        tokens = part.total_input or 0
        if not tokens:
            continue
        paid = input_cost(card, part)
        if paid is None:
            return None
        spans.append(PricedSpan(way, place, place + tokens, paid // tokens))
        place += tokens
    read, write = input_cost(card, Usage(read=1)), input_cost(card, Usage(write_other=1))
    assert read is not None
    assert write is not None
    return PricedRow(tuple(spans), usage.read or 0, place, read, write)
