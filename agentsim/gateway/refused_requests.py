"""What was not answered as asked: refused requests, errors injected on purpose, and clients that hung up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from agentsim.core.key_shapes import without_keys
from agentsim.gateway.refusal import Refusal

RefusedKind = Literal["refused", "injected", "hung up"]

MOST_KINDS = 200
"""Different reasons that are told apart; what comes after them is counted together."""

_LONGEST = 200


class RefusedRequest(msgspec.Struct, frozen=True):
    """Requests of one kind: the status, the path and the reason, which holds nothing of a body."""

    kind: RefusedKind
    status: int
    path: str
    reason: str

    @property
    def told(self) -> str:
        """The status, the path and the reason in one line."""
        return f"HTTP {self.status} {self.path}: {self.reason}"


_OTHERS = RefusedRequest("refused", 400, "(many paths)", "many reasons")


class RefusedRequests:
    """Counts of them, in the order in which they first came. Mutable."""

    def __init__(self) -> None:
        self._counts: dict[RefusedRequest, int] = {}

    def add(self, request: RefusedRequest) -> None:
        """One more."""
        if request not in self._counts and len(self._counts) >= MOST_KINDS:
            request = msgspec.structs.replace(_OTHERS, kind=request.kind)
        self._counts[request] = self._counts.get(request, 0) + 1

    def count(self, kind: RefusedKind) -> int:
        """How many of a kind."""
        return sum(count for request, count in self._counts.items() if request.kind == kind)

    def __iter__(self) -> Iterator[tuple[RefusedRequest, int]]:
        return iter(self._counts.items())

    def __len__(self) -> int:
        return sum(self._counts.values())


def refused_of(path: str, refusal: Refusal) -> RefusedRequest:
    """A refusal at a path, whose query may hold a key and is left out."""
    kind: RefusedKind = "injected" if refusal.injected else "refused"
    plain = without_keys(path.partition("?")[0].encode("utf-8", "replace")).decode()
    return RefusedRequest(kind, refusal.status, plain[:_LONGEST], refusal.message)
