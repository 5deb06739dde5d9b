"""What no log tells of the world in which a policy would have been followed, and the worlds that are tried for it.

A log shows what was kept under the settings it was made with. Whether another entry would have outlived its lifetime,
been dropped early, or been kept by somebody else is not known. Each saving is worked out in several worlds, which all
bring the log about as it is, and is told as an interval.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b
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


_SURE = 0.95
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


def dropped(session: Session, survived: Collection[str], losses: int | None) -> frozenset[str]:
    """The requests that find what they would read dropped while nobody used it: as many as are to be feared of so many
    pauses, in one of twenty cases more. Those that ``survived`` in the log are not among them."""
    if losses is None:
        return frozenset()
    last: dict[str, int] = {}
    pauses: list[tuple[int, str, int]] = []
    for request in session.requests:
        if request.start is None or request.prompt is None or request.purpose == "keep_alive":
            continue  # what is refreshed in a pause may be dropped in it all the same
        percent = _early_loss(request, request.start - last.get(request.lane, request.start))
        last[request.lane] = request.start
        if percent and request.id not in survived:
            lot = int.from_bytes(blake2b(f"{losses} {request.id}".encode(), digest_size=8).digest())
            pauses.append((lot, request.id, percent))
    feared = feared_of(len(pauses), sum(percent for _, _, percent in pauses))
    return frozenset(request for _, request, _ in sorted(pauses)[:feared])


def feared_of(pauses: int, percents: int) -> int:
    """How many of so many pauses lose an entry, in one of twenty cases more; ``percents`` is the sum of their
    chances in hundredths. The upper end of the binomial distribution."""
    if not percents:
        return 0
    chance = min(percents / (100 * pauses), 0.99)
    below, exactly = 0.0, (1 - chance) ** pauses
    for count in range(pauses + 1):
        below += exactly
        if below >= _SURE:
            return count
        exactly *= (pauses - count) / (count + 1) * chance / (1 - chance)
    return pauses


def _early_loss(request: Request, idle: int) -> int:
    """The chance in hundredths that what a request would read was dropped in ``idle`` nanoseconds."""
    percent = 0
    try:
        rules = rules_for(request.provider, request.model, request.start)
    except ValueError:
        return 0
    for seconds, share in rules.early_loss:
        if idle >= seconds * SECOND:
            percent = share
    return percent
