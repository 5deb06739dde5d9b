"""What is known about a row without its content: the evidence that hypotheses are held against."""

from __future__ import annotations

from typing import NamedTuple

from agentsim.core.session import EventKind, ProviderDiagnosis
from agentsim.core.verdict import Divergence
from agentsim.diagnose.kept_content import UnreadContent

FIVE_MINUTES = 300
ONE_HOUR = 3600

LOOKBACK = 20
"""Content blocks between two prompts up to which session logs show every entry found; one more loses it. The documented
window is 20 positions with the breakpoint's own block as the first, so exactly 20 is the one doubtful count. A user's
own rules take its place."""


class ReadSteps(NamedTuple):
    """Steps of ``width`` tokens in which a cache counts its reads. ``offsets`` are the remainders at which they end,
    the commonest first; empty where too few reads show them."""

    width: int
    offsets: tuple[int, ...] = ()

    def whole(self, tokens: int) -> int:
        """The longest read that ends within so many tokens."""
        offset = self.offsets[0] if self.offsets else 0
        return max(0, (tokens - offset) // self.width * self.width + offset) if tokens >= offset else 0

    def has(self, read: int) -> bool:
        """Whether a read may end there."""
        return not self.offsets or read == 0 or read % self.width in self.offsets


class RowFacts:
    """One request as counters and times, with the request it grew from. Filled once, then only read.

    Token counts are whole numbers here: ``measured`` says whether the log reported any, ``writes`` whether it reported
    what was written. ``output`` is ``None`` where the log holds a placeholder. ``ttl`` is the lifetime in seconds of
    the entry at the end of this request's prompt, as far as its writes or its ancestors' tell; ``ttl_dropped`` is True
    when its lane wrote a longer one before; ``lives`` are the least and the most seconds that its provider keeps an
    entry of unknown lifetime. ``appended`` counts content blocks since the parent's prompt. ``lookback`` is how many of
    them a breakpoint finds an entry over. ``head_tokens`` is the size of tools and system, where known. ``automatic``
    is True for a cache that finds prefixes by itself and reports no writes, in ``steps``. ``fixed_lifetime`` is False
    where the provider publishes none. ``host`` is which server answered, ``account`` under whose key, where the log
    names them. ``image`` is True where the conversation holds one. ``notes`` are the details of ``events``, by
    kind. ``change`` is the code of the difference that the log shows between its messages and its parent's, with the
    place; ``grown`` is True where it shows them to have grown at their end alone.
    """

    __slots__ = (
        "account",
        "appended",
        "automatic",
        "calls",
        "change",
        "diagnosis",
        "effort",
        "end",
        "events",
        "first_token",
        "fixed_lifetime",
        "fresh",
        "grown",
        "harness",
        "head_tokens",
        "host",
        "id",
        "image",
        "kept",
        "lives",
        "lookback",
        "measured",
        "model",
        "notes",
        "output",
        "parent",
        "provider",
        "read",
        "speed",
        "start",
        "steps",
        "stop_reason",
        "total",
        "ttl",
        "ttl_dropped",
        "version",
        "warm",
        "write",
        "writes",
    )

    @property
    def step(self) -> int:
        """The width of the steps in which reads are counted, in tokens."""
        return self.steps.width

    def __init__(self, id: str, model: str, read: int, write: int, fresh: int, *, measured: bool = True) -> None:
        self.id = id
        self.model = model
        self.read = read
        self.write = write
        self.fresh = fresh
        self.measured = measured
        self.writes = measured
        self.warm = read + write
        self.total = self.warm + fresh
        self.output: int | None = None
        self.parent: RowFacts | None = None
        self.start: int | None = None
        self.end: int | None = None
        self.stop_reason: str | None = None
        self.version: str | None = None
        self.effort: str | None = None
        self.speed: str | None = None
        self.ttl: int | None = None
        self.ttl_dropped = False
        self.lives: tuple[int, int] | None = None
        self.appended: int | None = None
        self.events: tuple[EventKind, ...] = ()
        self.notes: tuple[tuple[EventKind, str], ...] = ()
        self.diagnosis = ProviderDiagnosis()
        self.calls = 1
        self.head_tokens: int | None = None
        self.lookback = LOOKBACK
        self.first_token: int | None = None
        self.provider = "anthropic"
        self.harness: str | None = None
        self.host: str | None = None
        self.account: str | None = None
        self.automatic = False
        self.fixed_lifetime = True
        self.steps = ReadSteps(1)
        self.image = False
        self.change: tuple[str, Divergence] | None = None
        self.grown = False
        self.kept: UnreadContent | None = None


class LaneMemory:
    """What a lane has shown so far: where entries were written, and the reads that remained after a loss.

    ``floors`` are reads seen when nothing of the conversation was reused, the latest last: the first request's, and
    those of misses. They are the ends of the prefix that requests share whatever their history: tools, and system as
    far as it stayed equal. ``fronts`` are the reads that an expiry left: all of the conversation's own entries were
    gone then, so that they are what other sessions keep alive. ``losses`` counts the misses that left a read,
    ``last_loss`` is the request of the latest. ``smallest_total`` is the size of the shortest whole prompt: what ends
    before it holds no whole first message. ``first_unread`` is what the first prompt had beyond its read. ``replies``
    says whether the last turn to begin read the reply that ended the one before, which only a call outside the log can
    have cached; ``None`` before any did.
    """

    __slots__ = (
        "ends",
        "first_unread",
        "floors",
        "fronts",
        "growths",
        "last_loss",
        "losses",
        "replies",
        "smallest_total",
    )

    def __init__(self) -> None:
        self.ends: dict[int, str] = {}
        self.floors: list[int] = []
        self.fronts: set[int] = set()
        self.losses: dict[int, int] = {}
        self.last_loss: str | None = None
        self.growths: dict[int, int] = {}
        self.smallest_total: int | None = None
        self.first_unread: int | None = None
        self.replies: bool | None = None

    def usual_growth(self) -> int | None:
        """The growth between two requests seen most often, where one was seen at least twice."""
        best, times = None, 1
        for growth, count in self.growths.items():
            if count > times or (count == times and best is not None and growth < best):
                best, times = growth, count
        return best

    def learn(self, row: RowFacts, *, lost: bool, missed: bool = False, expired: bool = False) -> None:
        """Remember a row after it was judged. ``lost`` is True for a first row or one that lost its history, ``missed``
        for a loss that was told, ``expired`` for one that a lifetime explains."""
        if not row.measured:
            return
        if lost:
            if row.read in self.floors:
                self.floors.remove(row.read)
            self.floors.append(row.read)
        if missed:
            self.losses[row.read] = self.losses.get(row.read, 0) + 1
            self.last_loss = row.id
            if expired and row.read:
                self.fronts.add(row.read)
        if self.smallest_total is None:
            self.first_unread = row.total - row.read
        self.extend(row.id, row.warm, row.total)
        if row.parent is not None and row.parent.measured:
            self.grow(row.total - row.parent.total)

    def extend(self, id: str, warm: int, total: int) -> None:
        """A request of so many tokens leaves an entry of its first ``warm`` ones."""
        self.ends[warm] = id
        if self.smallest_total is None or total < self.smallest_total:
            self.smallest_total = total

    def grow(self, tokens: int) -> None:
        """A request has so many tokens more than the one it grew from."""
        self.growths[tokens] = self.growths.get(tokens, 0) + 1
