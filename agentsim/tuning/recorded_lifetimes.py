"""Which lifetimes a session asked for, by what it wrote: those of the main conversation, and those of all others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from agentsim.core.session import Request, Session

Lifetime = Literal["5m", "1h"]


class RecordedLifetimes(msgspec.Struct, frozen=True, gc=False):
    """The lifetime that most written tokens had; ``None`` where nothing was written, or no log tells."""

    main: Lifetime | None
    children: Lifetime | None

    def agrees(self, other: RecordedLifetimes) -> bool:
        """Whether the two do not contradict each other: what one does not tell fits anything."""
        pairs = ((self.main, other.main), (self.children, other.children))
        return all(one is None or two is None or one == two for one, two in pairs)

    @property
    def policy(self) -> str:
        """The policy under which other sessions would ask for these lifetimes."""
        return f"ttl-lanes:main={self.main or 'as-is'},children={self.children or 'as-is'}"


def lifetimes_of(session: Session) -> RecordedLifetimes:
    """The lifetimes of a session."""
    mains = {request.lane for request in session.requests if request.purpose == "main"}
    return RecordedLifetimes(
        _most(request for request in session.requests if request.lane in mains),
        _most(request for request in session.requests if request.lane not in mains),
    )


def _most(requests: Iterable[Request]) -> Lifetime | None:
    short = long = 0
    for request in requests:
        if request.usage is not None and request.counted:
            short += request.usage.write_short or 0
            long += request.usage.write_long or 0
    if not short and not long:
        return None
    return "1h" if long > short else "5m"
