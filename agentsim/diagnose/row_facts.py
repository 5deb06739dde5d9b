"""What is known about a row without its content: the inputs of a judgement by elimination."""

from __future__ import annotations

from agentsim.core.session import EventKind, ProviderDiagnosis

FIVE_MINUTES = 300
ONE_HOUR = 3600

LOOKBACK = 20
"""Content blocks between two prompts up to which session logs show every entry found; one more loses it. The documented
window is 20 positions with the breakpoint's own block as the first, so exactly 20 is the one doubtful count. A user's
own rules take its place."""


class RowFacts:
    """One request as counters and times, with the request it grew from. Filled once, then only read.

    Token counts are whole numbers here: ``measured`` says whether the log reported any. ``output`` is ``None`` where
    the log holds a placeholder. ``ttl`` is the lifetime in seconds of the entry at the end of this request's prompt, as
    far as its writes or its ancestors' tell; ``ttl_dropped`` is True when its lane wrote a longer one before.
    ``appended`` counts content blocks since the parent's prompt. ``lookback`` is how many of them
    a breakpoint finds an entry over. ``head_tokens`` is the size of tools and system, where
    known. ``automatic`` is True for a cache that finds prefixes by itself and reports no writes, in steps of ``step``
    tokens; ``fixed_lifetime`` is False where the provider publishes none. ``host`` is which server answered, where the
    log names it.
    """

    __slots__ = (
        "appended",
        "automatic",
        "calls",
        "diagnosis",
        "effort",
        "end",
        "events",
        "first_token",
        "fixed_lifetime",
        "fresh",
        "head_tokens",
        "host",
        "id",
        "lookback",
        "measured",
        "model",
        "output",
        "parent",
        "provider",
        "read",
        "start",
        "step",
        "stop_reason",
        "total",
        "ttl",
        "ttl_dropped",
        "version",
        "warm",
        "write",
    )

    def __init__(self, id: str, model: str, read: int, write: int, fresh: int, *, measured: bool = True) -> None:
        self.id = id
        self.model = model
        self.read = read
        self.write = write
        self.fresh = fresh
        self.measured = measured
        self.warm = read + write
        self.total = self.warm + fresh
        self.output: int | None = None
        self.parent: RowFacts | None = None
        self.start: int | None = None
        self.end: int | None = None
        self.stop_reason: str | None = None
        self.version: str | None = None
        self.effort: str | None = None
        self.ttl: int | None = None
        self.ttl_dropped = False
        self.appended: int | None = None
        self.events: tuple[EventKind, ...] = ()
        self.diagnosis = ProviderDiagnosis()
        self.calls = 1
        self.head_tokens: int | None = None
        self.lookback = LOOKBACK
        self.first_token: int | None = None
        self.provider = "anthropic"
        self.host: str | None = None
        self.automatic = False
        self.fixed_lifetime = True
        self.step = 1


class LaneMemory:
    """What a lane has shown so far: where entries were written, and the reads that remained after a loss.

    ``floors`` are reads seen when nothing of the conversation was reused, the latest last: the first request's, and
    those of misses. They are the ends of the prefix that requests share whatever their history: tools, and system as
    far as it stayed equal.
    """

    __slots__ = ("ends", "floors", "growths", "smallest_total")

    def __init__(self) -> None:
        self.ends: dict[int, str] = {}
        self.floors: list[int] = []
        self.growths: dict[int, int] = {}
        self.smallest_total: int | None = None

    def usual_growth(self) -> int | None:
        """The growth between two requests seen most often, where one was seen at least twice."""
        best, times = None, 1
        for growth, count in self.growths.items():
            if count > times or (count == times and best is not None and growth < best):
                best, times = growth, count
        return best

    def learn(self, row: RowFacts, *, lost: bool) -> None:
        """Remember a row after it was judged. ``lost`` is True for a first row or one that lost its history."""
        if not row.measured:
            return
        if lost:
            if row.read in self.floors:
                self.floors.remove(row.read)
            self.floors.append(row.read)
        self.ends[row.warm] = row.id
        if self.smallest_total is None or row.total < self.smallest_total:
            self.smallest_total = row.total
        if row.parent is not None and row.parent.measured:
            growth = row.total - row.parent.total
            self.growths[growth] = self.growths.get(growth, 0) + 1
