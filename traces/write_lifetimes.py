"""For how long tokens were written, where a log does not say so: a read after a pause proves it.

An entry of five minutes is gone after a pause of twelve. What was read then was written for an hour, and so was what
the same program wrote in the same lane, because a lifetime is a setting of the program and not of a request. Where
nothing was read after a pause nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.session import Request, Usage
from agentsim.core.strict_decoding import BadRow

SHORT = 300
"""Seconds that the shorter lifetime lasts at caches whose writes cost by their lifetime."""

GRACE = 60
"""Seconds by which such a lifetime may be exceeded before it is contradicted."""


def with_proved_lifetimes(requests: Sequence[Request]) -> tuple[tuple[Request, ...], list[BadRow]]:
    """The requests with the lifetimes that their reads prove, and what is to be said of it."""
    if not any(_is_open(request) for request in requests):
        return tuple(requests), []
    by_id = {request.id: request for request in requests}
    last_use: dict[str, int] = {}
    proved: set[tuple[str, str]] = set()
    for request in requests:
        parent = by_id.get(request.parent or "")
        start = request.start
        if start is not None and parent is not None and _reads_all(request, parent) and _is_open(parent):
            # Whatever was sent in the pause may have read the entry, and renewed it.
            used = last_use.get(request.model)
            if used is not None and start - used > (SHORT + GRACE) * SECOND:
                proved.add((parent.lane, parent.model))
        end = request.end if request.end is not None else start
        if end is not None:
            last_use[request.model] = max(last_use.get(request.model, end), end)
    found = []
    for request in requests:
        if not _is_open(request):
            found.append(request)
        elif (request.lane, request.model) in proved:
            assert request.usage is not None
            found.append(msgspec.structs.replace(request, usage=_for_an_hour(request.usage)))
        else:
            found.append(request)
    said = []
    if proved:
        said.append(BadRow("lifetime proved", "tokens were read after more than six minutes: written for an hour"))
    return tuple(found), said


def _is_open(request: Request) -> bool:
    usage = request.usage
    claude = request.provider == "anthropic" or "claude" in request.model.lower()
    return claude and usage is not None and bool(usage.write_other) and not usage.write_short and not usage.write_long


def _reads_all(request: Request, parent: Request) -> bool:
    if request.usage is None or parent.usage is None or request.model != parent.model:
        return False
    left = (parent.usage.read or 0) + (parent.usage.write or 0)
    return (request.usage.read or 0) >= left > 0


def _for_an_hour(usage: Usage) -> Usage:
    return msgspec.structs.replace(usage, write_short=0, write_long=usage.write_other, write_other=None)
