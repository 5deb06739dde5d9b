"""Figures as people read them. What is unknown is a dash, never a zero."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal

from agentsim.core import counts
from agentsim.core.dates import EARLIEST, SECOND, has_date
from agentsim.core.money import format_dollars

UNKNOWN = "–"
plural = counts.plural  # what lies below the reports counts in the same words
_CENT_MATTERS = 10**12


def count(number: int | None) -> str:
    """A count with thousands separators: ``280,420``."""
    return UNKNOWN if number is None else f"{number:,}"


def per_cent(part: int | None, whole: int | None, places: int = 2) -> str:
    """A share in per cent without its sign, ``52.65``, rounded half to even; 0 of nothing is 0."""
    if part is None or whole is None:
        return UNKNOWN
    if whole == 0:
        return f"{Decimal(0):.{places}f}"
    return f"{(Decimal(part) * 100 / Decimal(whole)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN)}"


def money(pico: int | None, places: int | None = None) -> str:
    """A sum of money: cents from a dollar up, hundredths of a cent below, or the decimal places given."""
    if pico is None:
        return "not priced"
    return format_dollars(pico, places_for([pico]) if places is None else places)


def places_for(amounts: Iterable[int | None]) -> int:
    """The decimal places that suit a column of amounts: those of its largest."""
    largest = max((abs(pico) for pico in amounts if pico is not None), default=0)
    return 2 if largest >= _CENT_MATTERS or largest == 0 else 4


def row_money(pico: int | None) -> str:
    """The price of one request, to a hundredth of a cent."""
    return UNKNOWN if pico is None else format_dollars(pico, 4)


def equivalents(micro: int | None) -> str:
    """Input equivalents, exact: ``381,701`` or ``158,018.5``. ``micro`` is in millionths of a token."""
    if micro is None:
        return UNKNOWN
    sign = "-" if micro < 0 else ""
    whole, fraction = divmod(abs(micro), 10**6)
    tail = f"{fraction:06d}".rstrip("0")
    return f"{sign}{whole:,}" + (f".{tail}" if tail else "")


def span(nanoseconds: int | None) -> str:
    """A length of time in at most two units: ``0.4 s``, ``35 s``, ``5m 35s``, ``1h 02m``, ``3d 04h``."""
    if nanoseconds is None:
        return UNKNOWN
    if nanoseconds < 0:
        return "-" + span(-nanoseconds)
    if nanoseconds < 10 * SECOND:
        tenths = (nanoseconds + SECOND // 20) * 10 // SECOND
        return f"{tenths // 10} s" if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10} s"
    seconds = (nanoseconds + SECOND // 2) // SECOND
    if seconds < 120:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60}m {seconds % 60:02d}s"
    if seconds < 86400:
        return f"{seconds // 3600}h {seconds % 3600 // 60:02d}m"
    return f"{seconds // 86400}d {seconds % 86400 // 3600:02d}h"


def clock(nanoseconds: int | None) -> str:
    """A time of day in the local zone, ``09:40:00``.

    Where a trace counts from its own beginning it is the time since then: ``+0:05:35``.
    """
    if nanoseconds is not None and abs(nanoseconds) < EARLIEST:
        seconds = abs(nanoseconds) // SECOND
        sign = "-" if nanoseconds < 0 else "+"
        return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    local = _local(nanoseconds)
    return UNKNOWN if local is None else f"{local:%H:%M:%S}"


def day(nanoseconds: int | None) -> str:
    """A date in the local zone, ``2026-01-31``; unknown where a trace counts from its own beginning."""
    local = _local(nanoseconds)
    return UNKNOWN if local is None else f"{local:%Y-%m-%d}"


def moment(nanoseconds: int | None) -> str:
    """A date with its time of day, ``2026-01-31 09:40:00``, or the time since the beginning: ``+0:05:35``."""
    date, time = day(nanoseconds), clock(nanoseconds)
    return time if date == UNKNOWN else f"{date} {time}"


def utc(nanoseconds: int | None) -> str | None:
    """A time for programs: UTC, ISO 8601, with all nine digits; ``None`` where it is unknown or beyond a calendar."""
    if nanoseconds is None:
        return None
    seconds, rest = divmod(nanoseconds, SECOND)
    try:
        found = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return f"{found:%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def exact(amount: int | None, digits: int) -> str | None:
    """An integer of 10**-digits units, as decimal text for programs: ``exact(2385631250000, 12) == "2.38563125"``."""
    if amount is None:
        return None
    text = f"{Decimal(amount).scaleb(-digits):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _local(nanoseconds: int | None) -> datetime | None:
    if nanoseconds is None or not has_date(nanoseconds):
        return None
    try:
        return datetime.fromtimestamp(nanoseconds // SECOND, UTC).astimezone()
    except (OverflowError, ValueError, OSError):
        return None


def short(number: float) -> str:
    """A number in few letters."""
    if number == 0:
        return "0"
    size = abs(number)
    if size >= 1e6 or size < 1e-3:
        text = f"{number:.1e}"
        mantissa, exponent = text.split("e")
        return f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    if size >= 100 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.3g}"


def more(old: int | None, new: int | None) -> int | None:
    """How much more the new one is; ``None`` where one of them is not known."""
    return None if old is None or new is None else new - old
