"""What no log shows: how long entries really live, what is dropped early, calls that nobody wrote down, other sessions.

All of it is drawn from the seed and from what it is about, so that the same agent meets the same facts under every
setting.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from hashlib import blake2b

SECOND = 10**9
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAYS = 3
"""For so long the times of evictions and of other sessions are drawn."""


def share(*parts: object) -> float:
    """A number between 0 and 1 that follows from what it is about."""
    text = "\0".join(part.hex() if isinstance(part, bytes) else str(part) for part in parts)
    return int.from_bytes(blake2b(text.encode(), digest_size=7).digest()) / 2**56


def times(seed: object, name: str, start: int, mean: float, until: int) -> tuple[int, ...]:
    """Moments that come by chance, ``mean`` nanoseconds apart on average."""
    from math import log

    found: list[int] = []
    now, number = float(start), 0
    while now < until:
        now += -log(1 - share(seed, name, number)) * mean
        number += 1
        found.append(int(now))
    return tuple(found)


@dataclass(frozen=True)
class HiddenFacts:
    """The facts of one session. ``evictions`` are when everything behind the system text is lost, ``others`` when
    another session sends the same tools and system text, with entries of ``others_lifetime`` seconds."""

    seed: str
    jitter: bool = False
    fickle: float = 0.0
    """The share of entries of an hour that are gone before they expire once they were idle for long; of those of five
    minutes it is an eighth."""
    evictions: tuple[int, ...] = ()
    others: tuple[int, ...] = ()
    others_lifetime: int = 300
    unlogged: float = 0.0
    """How often a finished turn is followed by a call of the harness that no log shows."""
    late: float = 0.0
    """The share of entries that can be read only some seconds after the first token."""
    astray: float = 0.0
    """The share of requests to a provider that keeps every prompt which reach a machine that has none."""
    begins: int = 0
    """So many first requests are not in the log: it begins warm."""

    def linger(self, key: bytes, lifetime: int) -> int:
        """Nanoseconds for which an entry outlives its lifetime."""
        if not self.jitter:
            return 0
        most = 45 if lifetime <= 300 else 240
        return int(most * share(self.seed, "linger", key) ** 3 * SECOND)

    def patience(self, key: bytes, lifetime: int) -> int:
        """Nanoseconds of disuse after which an entry is gone although its lifetime has not ended."""
        fickle = self.fickle if lifetime > 300 else self.fickle / 8
        if share(self.seed, "fickle", key) >= fickle:
            return 10 * HOUR
        return int((0.2 + 0.8 * share(self.seed, "idle", key)) * lifetime * SECOND)

    def lateness(self, key: bytes) -> int:
        """Nanoseconds after the first token until an entry can be read."""
        if share(self.seed, "late", key) >= self.late:
            return 0
        return int(4 * share(self.seed, "how late", key) * SECOND)

    def follows(self, request: str, position: int) -> int | None:
        """How long after a reply a call that no log shows follows it (nanoseconds), if one does."""
        if share(self.seed, "unlogged", position) >= self.unlogged:
            return None
        return int((1 + 3 * share(self.seed, "when", position)) * SECOND)

    def goes_astray(self, prompt: bytes) -> bool:
        """Whether a request with this prompt reaches a machine that has nothing of it."""
        return share(self.seed, "astray", prompt) < self.astray

    def evicted(self, since: int, now: int) -> bool:
        """Whether an entry used at ``since`` was lost with all others by ``now``."""
        return bisect_right(self.evictions, now) > bisect_right(self.evictions, since)

    def other_session(self, now: int) -> int | None:
        """When another session last sent the same tools and system text."""
        place = bisect_right(self.others, now)
        return self.others[place - 1] if place else None


def nothing_hidden(seed: str) -> HiddenFacts:
    """A world in which the published rules are all there is."""
    return HiddenFacts(seed)


def drawn(seed: str, start: int) -> HiddenFacts:
    """The facts of one session. Most sessions have some of them, few have all."""
    until = start + DAYS * 24 * HOUR
    busy = share(seed, "are there others")
    others: tuple[int, ...] = ()
    if busy < 0.45:
        others = _working_hours(seed, start, until)
    return HiddenFacts(
        seed,
        jitter=share(seed, "jitter") < 0.8,
        fickle=(0.0, 0.0, 0.15, 0.35)[int(4 * share(seed, "fickle at all"))],
        evictions=times(seed, "evictions", start, 8 * HOUR, until) if share(seed, "evicts") < 0.5 else (),
        others=others,
        others_lifetime=3600 if share(seed, "others' lifetime") < 0.4 else 300,
        unlogged=0.7 if share(seed, "suggestions") < 0.4 else 0.0,
        late=0.05 if share(seed, "late at all") < 0.4 else 0.0,
        astray=0.04 if share(seed, "astray at all") < 0.4 else 0.0,
        begins=int(1 + 5 * share(seed, "where")) if share(seed, "begins warm") < 0.25 else 0,
    )


def _working_hours(seed: str, start: int, until: int) -> tuple[int, ...]:
    """Other sessions come in stretches: some hours of a request every few minutes, then none."""
    edges = times(seed, "stretches", start - 6 * HOUR, 1.5 * HOUR, until)
    moments = times(seed, "others", start - 6 * HOUR, 2.5 * MINUTE, until)
    return tuple(moment for moment in moments if bisect_right(edges, moment) % 2)
