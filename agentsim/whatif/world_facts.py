"""What a log shows of the world around its requests, as values: see :mod:`agentsim.whatif.recorded_world`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

FactKind = Literal["outside", "kept", "lost"]
"""What a row shows of the world (see the module)."""

_SHORT = 300


class Fact(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thing that a row shows. ``length`` and ``digest`` name the front of its prompt that was read, of ``tokens``.

    ``source`` is the request of the session that had written it, ``lifetime`` what that one asked for (seconds).
    ``expired``: what was lost had not been used for its lifetime, counted from the start of a request.
    """

    request: str
    kind: FactKind
    length: int
    tokens: int
    digest: bytes
    predicted: int
    source: str | None = None
    lifetime: int = _SHORT
    expired: bool = False


class Sighting(msgspec.Struct, frozen=True, gc=False):
    """Whether a front that others share was there, at a time."""

    time: int
    there: bool


class RecordedWorld(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a session by request, and for each shared front (model and digest) when it was seen or missed.

    ``survived`` are the requests that read their conversation: what they read was not dropped before.
    """

    facts: Mapping[str, tuple[Fact, ...]] = {}
    survived: frozenset[str] = frozenset()
    shared: Mapping[tuple[str, bytes], tuple[Sighting, ...]] = {}
    lengths: Mapping[tuple[str, bytes], int] = {}
