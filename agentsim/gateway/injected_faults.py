"""Errors injected on purpose, so that a harness's retries can be watched."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from agentsim.gateway.refusal import Refusal

_SPEC = re.compile(
    r"(400|401|403|404|408|413|429|500|502|503|504|529|cut|error)"
    r"(?:@([1-9][0-9]{0,8})(?:x([1-9][0-9]{0,5}))?|/([1-9][0-9]{0,8}))"
)

_REASONS = {
    400: "invalid request (injected)",
    401: "invalid key (injected)",
    403: "not permitted (injected)",
    404: "not found (injected)",
    408: "timeout (injected)",
    413: "request too large (injected)",
    504: "gateway timeout (injected)",
    429: "rate limit reached (injected)",
    500: "internal error (injected)",
    502: "bad gateway (injected)",
    503: "unavailable (injected)",
    529: "overloaded (injected)",
}


CUT, ERROR = 0, 1
"""What stands for a status where an answer breaks off in its middle, without a word or with an error event."""

_NAMED = {"cut": CUT, "error": ERROR}


class Fault(msgspec.Struct, frozen=True):
    """A status for requests ``first`` to ``last`` (from 1), or for every ``every``-th one."""

    status: int
    first: int = 0
    last: int = 0
    every: int = 0

    def strikes(self, number: int) -> bool:
        """Whether it hits the request of this number."""
        return number % self.every == 0 if self.every else self.first <= number <= self.last


class Faults(msgspec.Struct, frozen=True):
    """All faults of an endpoint, and the seconds a client is told to wait."""

    faults: tuple[Fault, ...] = ()
    retry_after: int = 1

    def check(self, number: int) -> None:
        """Raise Refusal when a fault hits the request of this number."""
        for fault in self.faults:
            if fault.status > ERROR and fault.strikes(number):
                wait = self.retry_after if fault.status in (429, 503, 529) else None
                raise Refusal(fault.status, _REASONS[fault.status], retry_after=wait, injected=True)

    def breaks(self, number: int) -> int | None:
        """How the answer to the request of this number breaks off (``CUT`` or ``ERROR``); ``None``: not at all."""
        return next((one.status for one in self.faults if one.status <= ERROR and one.strikes(number)), None)


def parse_faults(specs: Iterable[str]) -> tuple[Fault, ...]:
    """Faults as a command line writes them: ``529@3`` (the third request), ``529@3x2`` (third and fourth), ``429/5``
    (every fifth). ``cut@3`` breaks the answer off in its middle, ``error@3`` with an error
    event. Raises ValueError naming the one that cannot be understood."""
    found = []
    for spec in specs:
        match = _SPEC.fullmatch(spec)
        if match is None:
            raise ValueError(f"{spec!r} is no fault: write 529@3, 529@3x2, 429/5, cut@3 or error@3")
        status, first, count, every = match.groups()
        code = _NAMED[status] if status in _NAMED else int(status)
        if every is not None:
            found.append(Fault(code, every=int(every)))
        else:
            found.append(Fault(code, first=int(first), last=int(first) + int(count or 1) - 1))
    return tuple(found)
