"""Time stamps of logs as integer nanoseconds since the Unix epoch, UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


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
