"""What no log tells of the world in which a policy would have been followed, and the worlds that are tried for it.

A log shows what was kept under the settings it was made with. Whether another entry would have outlived its lifetime,
been dropped early, or been kept by somebody else is not known. Each saving is worked out in several worlds, which all
bring the log about as it is, and is told as an interval.
"""

from __future__ import annotations

from hashlib import blake2b
from math import isqrt
from typing import Literal

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.session import Request, Session
from agentsim.rules.providers import rules_for

Others = Literal["nearest", "likely", "seen"]
"""What is assumed of tools and system text that other sessions may send too: there as at the nearest time that the log
shows, there unless the log shows otherwise, or only where the log shows it."""

OUTLIVES = (45, 240)
"""Seconds for which entries of five minutes and of an hour were seen to outlive their lifetime, or somewhat more."""


class Unknowns(msgspec.Struct, frozen=True, kw_only=True):
    """One way the unknown may be. ``outlives`` is for how many seconds short and long entries outlive their lifetime.
    ``losses`` draws which entries are dropped early (``None``: none). ``begun_short`` says that what was kept before
    the log began would not have been there under a shorter lifetime."""

    others: Others = "nearest"
    outlives: tuple[int, int] = (0, 0)
    losses: int | None = None
    begun_short: bool = False


PLAIN = Unknowns()
"""The world of the rules, of which a single figure is told."""

WORLDS = (
    Unknowns(others="likely", outlives=OUTLIVES),
    Unknowns(others="seen", losses=1, begun_short=True),
)
"""The worlds between whose savings the truth is expected."""


_FEAR = 16
"""Tenths of a standard deviation above the mean: in one of twenty cases more is lost."""
_LONG_PAUSE = 600 * SECOND
_UNTOUCHED = 240 * SECOND
"""After so little time of disuse every entry is there."""


def is_certain(session: Session) -> bool:
    """Whether nothing unknown bears on a session: one lane, and no pause in which an entry may end."""
    last: int | None = None
    lane: str | None = None
    for request in session.requests:
        if request.prompt is None:
            continue
        if request.start is None or (lane is not None and request.lane != lane):
            return False
        if last is not None and request.start - last > _UNTOUCHED:
            return False
        last, lane = request.start, request.lane
    return True


def is_dropped(losses: int | None, request: Request, idle: int, pauses: int) -> bool:
    """Whether what a request would read was dropped while nobody used it for ``idle`` nanoseconds: as often as is to
    be feared of so many ``pauses``, the fewer the more."""
    if losses is None or request.start is None:
        return False
    try:
        rules = rules_for(request.provider, request.model, request.start)
    except ValueError:
        return False
    percent = 0
    for seconds, share in rules.early_loss:
        if idle >= seconds * SECOND:
            percent = share
    if not percent:
        return False
    feared = percent + _FEAR * isqrt(percent * (100 - percent) // max(pauses, 1)) // 10
    lot = int.from_bytes(blake2b(f"{losses} {request.id}".encode(), digest_size=8).digest())
    return lot % 100 < feared


def pauses_of(session: Session) -> int:
    """Pauses so long that an entry may have been dropped in them."""
    last: dict[str, int] = {}
    count = 0
    for request in session.requests:
        if request.start is not None and request.prompt is not None:
            count += request.start - last.get(request.lane, request.start) >= _LONG_PAUSE
            last[request.lane] = request.start
    return count
