"""A provider whose entries stand at breakpoints: written where a marker stands, found by looking back from a marker.

Rules: one entry a marker; a look-up starts at each marker, the last first, and tests 20 positions, the marker's own
first; an entry lives from the start of the request that wrote or read it; a read refreshes what it read through; an
entry can be read once the first response began. Hidden facts change what happens and stand in no log.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from benchmarks.verdicts.documented_rules import ORDER, ModelRules, key_of_section, settings_of
from benchmarks.verdicts.wire_positions import Json, Position, positions_of


@dataclass(frozen=True)
class Sent:
    """A request as it reaches the provider. ``place`` is the account, workspace or host whose cache is asked."""

    body: Json
    start: float
    first_token: float
    end: float
    place: str = "home"
    late: float = 0.0
    """Hidden: seconds after the first token until what is written can be read."""


@dataclass(frozen=True)
class Billed:
    """What the provider reports, in tokens that do not overlap. ``kept`` is the longest prefix that is kept now."""

    total: int
    read: int
    write_short: int
    write_long: int
    fresh: int
    kept: int


@dataclass
class Entry:
    """What is kept at one position. ``born`` and ``expires`` are times."""

    tokens: int
    lifetime: int
    expires: float
    readable: float
    section: str
    born: float


@dataclass
class BreakpointWorld:
    """The provider's memory. ``linger`` is hidden: seconds for which an entry outlives its lifetime. ``closing`` tokens
    open the reply, behind the last marker: never read, never written."""

    rules: ModelRules
    linger: float = 0.0
    closing: int = 0
    entries: dict[bytes, Entry] = field(default_factory=dict)

    def answer(self, sent: Sent, rules: ModelRules | None = None) -> Billed:
        """Serve a request: read, write, bill."""
        rules = rules or self.rules
        return self.serve(positions_of(sent.body, rules.api), sent, rules)

    def serve(self, positions: list[Position], sent: Sent, rules: ModelRules) -> Billed:
        """Serve a prompt that was read already."""
        keys = _keys(sent, positions, rules)
        sizes = _sizes(positions)
        total = sizes[-1]
        markers = self._markers(positions, rules)
        hit = self._look_up(keys, markers, sent.start, rules)
        read = sizes[hit] if hit is not None else 0
        kept = [at for at in markers if sizes[at] >= rules.minimum]
        last = sizes[kept[-1]] if kept else read
        last = max(last, read)
        long = [sizes[at] for at in kept if markers[at] >= 3600 and sizes[at] > read]
        border = max(long, default=read)
        self._refresh(keys, hit, sent.start)
        for at in kept:
            self._write(keys[at], sizes[at], markers[at], positions[at].section, sent)
        fresh = total - last + self.closing
        return Billed(total + self.closing, read, last - border, border - read, fresh, last)

    def forget(self, section: str | None = None) -> None:
        """Hidden: lose every entry, or those of one section."""
        self.entries = {
            key: entry for key, entry in self.entries.items() if section is not None and entry.section != section
        }

    def _markers(self, positions: list[Position], rules: ModelRules) -> dict[int, int]:
        explicit = {at: position.lifetime for at, position in enumerate(positions) if position.lifetime is not None}
        if rules.matching == "breakpoint":
            if len(explicit) > 4:
                raise ValueError("more than four markers: the provider answers 400")
            order = [lifetime for _, lifetime in sorted(explicit.items())]
            if order != sorted(order, reverse=True):
                raise ValueError("a marker of an hour behind one of five minutes: the provider answers 400")
            return explicit
        newest = [at for at, position in enumerate(positions) if position.role in ("user", "tool")]
        latest = dict(sorted(explicit.items())[-3:])
        if newest:
            latest.setdefault(newest[-1], 1800)
        return dict(sorted(latest.items()))

    def _look_up(self, keys: list[bytes], markers: dict[int, int], now: float, rules: ModelRules) -> int | None:
        for marker in sorted(markers, reverse=True):
            lowest = max(-1, marker - rules.lookback) if rules.matching == "breakpoint" else -1
            for at in range(marker, lowest, -1):
                entry = self.entries.get(keys[at])
                if entry is not None and entry.readable <= now < entry.expires + self.linger:
                    return at
        return None

    def _refresh(self, keys: list[bytes], hit: int | None, now: float) -> None:
        for key in keys[: hit + 1] if hit is not None else ():
            entry = self.entries.get(key)
            if entry is not None and entry.readable <= now < entry.expires + self.linger:
                entry.expires = max(entry.expires, now + entry.lifetime)

    def _write(self, key: bytes, tokens: int, lifetime: int, section: str, sent: Sent) -> None:
        entry = self.entries.get(key)
        readable = sent.first_token + sent.late
        if entry is not None and sent.start < entry.expires + self.linger:
            if entry.readable > sent.start:
                entry.readable = min(entry.readable, readable)
            return
        self.entries[key] = Entry(tokens, lifetime, sent.start + lifetime, readable, section, sent.start)


def _sizes(positions: list[Position]) -> list[int]:
    sizes, total = [], 0
    for position in positions:
        total += position.tokens
        sizes.append(total)
    return sizes


def _keys(sent: Sent, positions: list[Position], rules: ModelRules) -> list[bytes]:
    """The key of the entry at each position: whose cache, which model, the settings of its section, all before it."""
    settings = settings_of(sent.body, positions, rules)
    of_section = {section: key_of_section(settings, rules, section) for section in ORDER}
    chain = hashlib.blake2b(f"{sent.place}\n{sent.body['model']}\n{sent.body.get('prompt_cache_key')}".encode())
    keys = []
    for position in positions:
        chain.update(position.data.encode("utf-8", "surrogatepass"))
        chain.update(b"\x00")
        key = chain.copy()
        key.update(of_section[position.section].encode())
        keys.append(key.digest())
    return keys
