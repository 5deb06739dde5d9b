"""Time stamps of logs as integer nanoseconds since the Unix epoch, UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NUMBER = re.compile(rb"[0-9]{1,20}(\.[0-9]{1,30})?([eE]\+?[0-9]{1,2})?")


def nanoseconds(stamp: str | None) -> int | None:
    """An ISO 8601 stamp in nanoseconds; ``None`` for no stamp or one that cannot be read.

    A stamp without a zone is taken as UTC. Digits beyond microseconds are kept.
    """
    if not stamp:
        return None
    extra = 0
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    dot = stamp.find(".")
    if dot >= 0:
        digits = ""
        for character in stamp[dot + 1 :]:
            if not character.isdecimal():
                break
            digits += character
        if len(digits) > 6:
            extra = int(digits[6:9].ljust(3, "0"))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND * 1000 + extra


def unix_nanoseconds(number: bytes) -> int | None:
    """A Unix time as a JSON number, in nanoseconds and without rounding; ``None`` for what is no such number.

    Seconds, milliseconds, microseconds and nanoseconds are told apart by size: a number of seconds stays below 10^11
    for another thousand years.
    """
    if not _NUMBER.fullmatch(number):
        return None
    value = Decimal(number.decode())
    if not 0 <= value < 10**20:
        return None
    power = 9
    while power and value >= 10 ** (20 - power):
        power -= 3
    return int(value.scaleb(power))
