"""The five prices that apply to one request, and what its tokens cost at them."""

from __future__ import annotations

import msgspec

from agentsim.core.session import Usage

MICRO_TOKENS = 10**6
"""Micro-tokens in a token of ordinary input."""

HOUR = 3600
"""Seconds."""


class RateCard(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Prices in picodollars a token, for one model at one time, prompt size and way of processing.

    ``None`` where the provider names no such price. Reads are then billed as ordinary input, and so are writes where
    a provider has no price for any write (it charges nothing extra for them). ``storage`` is for keeping a token an
    hour, where a provider asks for that.
    """

    fresh: int
    output: int
    read: int | None = None
    write_short: int | None = None
    write_long: int | None = None
    storage: int | None = None


def input_cost(card: RateCard, usage: Usage) -> int | None:
    """Picodollars for the input of a request.

    ``None`` when no input counter was reported, or when tokens were written for an hour and only the price of a
    shorter write is known. A write whose lifetime the log does not tell is priced as a five-minute one, which is what
    a marker without a lifetime asks for. A counter that was not reported adds nothing.
    """
    fresh, read = usage.fresh, usage.read
    short, hour, other = usage.write_short, usage.write_long, usage.write_other
    if fresh is None and read is None and short is None and hour is None and other is None:
        return None
    total = (fresh or 0) * card.fresh
    if read:
        total += read * (card.fresh if card.read is None else card.read)
    if written := (short or 0) + (other or 0):
        total += written * (card.fresh if card.write_short is None else card.write_short)
    if hour:
        if card.write_long is not None:
            total += hour * card.write_long
        elif card.write_short is None:
            total += hour * card.fresh
        else:
            return None
    return total


def cost(card: RateCard, usage: Usage) -> int | None:
    """Picodollars for a request, input and output; ``None`` where its input was not reported or has no known price: a
    price of the output alone would be no bill."""
    paid = input_cost(card, usage)
    return None if paid is None else paid + (usage.output or 0) * card.output


def storage_cost(card: RateCard, token_seconds: int) -> int | None:
    """Picodollars for keeping tokens for a time, rounded half to even; ``None`` where the price is not known."""
    if not token_seconds:
        return 0
    if card.storage is None:
        return None
    whole, rest = divmod(token_seconds * card.storage, HOUR)
    return whole + (2 * rest > HOUR or (2 * rest == HOUR and whole % 2 == 1))


def equivalents(card: RateCard, usage: Usage) -> int | None:
    """The input part of the bill in micro-tokens of ordinary input (10**6 = one token), rounded half to even.

    ``None`` where :func:`input_cost` is, or where ordinary input is free of charge.
    """
    paid = input_cost(card, usage)
    if paid is None or card.fresh == 0:
        return None
    whole, rest = divmod(paid * MICRO_TOKENS, card.fresh)
    return whole + (2 * rest > card.fresh or (2 * rest == card.fresh and whole % 2 == 1))
