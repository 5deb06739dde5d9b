"""Errors injected on purpose, so that a harness's retries can be watched."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from agentsim.gateway.refusal import Refusal

_SPEC = re.compile(r"(429|500|502|503|529)(?:@([1-9][0-9]{0,8})(?:x([1-9][0-9]{0,5}))?|/([1-9][0-9]{0,8}))")

_REASONS = {
    429: "rate limit reached (injected)",
    500: "internal error (injected)",
    502: "bad gateway (injected)",
    503: "unavailable (injected)",
    529: "overloaded (injected)",
}


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
            if fault.strikes(number):
                wait = self.retry_after if fault.status in (429, 503, 529) else None
                raise Refusal(fault.status, _REASONS[fault.status], retry_after=wait)


def parse_faults(specs: Iterable[str]) -> tuple[Fault, ...]:
    """Faults as a command line writes them: ``529@3`` (the third request), ``529@3x2`` (third and fourth), ``429/5``
    (every fifth). Raises ValueError naming the one that cannot be understood."""
    found = []
    for spec in specs:
        match = _SPEC.fullmatch(spec)
        if match is None:
            raise ValueError(f"{spec!r} is no fault: write 529@3, 529@3x2 or 429/5")
        status, first, count, every = match.groups()
        if every is not None:
            found.append(Fault(int(status), every=int(every)))
        else:
            found.append(Fault(int(status), first=int(first), last=int(first) + int(count or 1) - 1))
    return tuple(found)
