"""The context of one lane as a stack of pieces, with what each was paid for.

A row costs as much work as it added pieces, and as it did not read: what all rows read is told by one counter for the
whole stack, from which each piece takes its part when it leaves.
"""

from __future__ import annotations

from bisect import bisect_right

from agentsim.context.row_prices import PricedRow
from agentsim.core.additions import Addition


class ContextPiece:
    """A piece of the context, and what it has cost so far in picodollars. ``first`` and ``last`` are row numbers."""

    __slots__ = ("addition", "again", "fresh", "last", "place", "read", "reads", "rows", "since", "tokens", "written")

    def __init__(self, addition: Addition, since: int) -> None:
        self.addition = addition
        self.since = since
        self.last = since
        self.tokens = 0
        self.rows = self.reads = self.again = 0
        self.read = self.written = self.fresh = 0
        self.place: _Place | None = None  # where it stands now

    @property
    def in_use(self) -> bool:
        """Whether a stack holds it."""
        return self.place is not None

    @property
    def cost(self) -> int:
        """All that it cost so far."""
        return self.read + self.written + self.fresh


class _Place:
    """A piece at its place in a stack."""

    __slots__ = ("below", "depth", "end", "entry_cost", "entry_rows", "piece", "tokens")

    def __init__(self, piece: ContextPiece, tokens: int, below: _Place | None) -> None:
        self.piece = piece
        self.tokens = tokens
        self.below = below
        self.depth: int = 0 if below is None else below.depth + 1
        self.end: int = tokens if below is None else below.end + tokens
        self.entry_cost = self.entry_rows = 0


class LaneStack:
    """The pieces that a lane's prompts hold, from the front on."""

    def __init__(self) -> None:
        self.places: list[_Place] = []
        self._ends: list[int] = []
        self._cost = 0
        self._rows = 0
        self._last = 0

    @property
    def tokens(self) -> int:
        """Tokens of all pieces."""
        return self._ends[-1] if self._ends else 0

    @property
    def top(self) -> _Place | None:
        """The last piece, which names the whole stack for :meth:`go_to`."""
        return self.places[-1] if self.places else None

    def go_to(self, top: _Place | None) -> None:
        """Let the stack be as it was when ``top`` was its last piece."""
        wanted: list[_Place] = []
        while top is not None and not (top.depth < len(self.places) and self.places[top.depth] is top):
            wanted.append(top)
            top = top.below
        self.cut(0 if top is None else top.depth + 1)
        for place in reversed(wanted):
            self._enter(place)

    def cut(self, length: int) -> list[tuple[ContextPiece, int]]:
        """Let all pieces but the first ``length`` leave, and return them with their sizes."""
        gone = self.places[length:]
        for place in gone:
            self._settle(place)
            place.piece.place = None
        del self.places[length:]
        del self._ends[length:]
        return [(place.piece, place.tokens) for place in gone]

    def push(self, piece: ContextPiece, tokens: int) -> None:
        """Add a piece of so many tokens."""
        piece.tokens = max(piece.tokens, tokens)
        self._enter(_Place(piece, tokens, self.top))

    def length_within(self, tokens: int) -> int:
        """How many leading pieces have no more than so many tokens."""
        return bisect_right(self._ends, tokens)

    def pay(self, number: int, row: PricedRow | None) -> int:
        """Let all pieces be paid for in a row, by the price of their places; what is left of the row's price."""
        self._last = number
        if row is None:
            return 0
        whole = bisect_right(self._ends, row.read)
        self._cost += row.read_rate
        self._rows += 1
        start = self._ends[whole - 1] if whole else 0
        for place in self.places[whole:]:
            before = place.piece.rows > 0 or self._rows - 1 > place.entry_rows
            place.entry_cost += row.read_rate  # not read as a whole: what it cost is told here
            place.entry_rows += 1
            _pay_apart(place.piece, start, place.end, row, before)
            start = place.end
        return row.between(self.tokens, max(row.total, self.tokens))

    def cost_of(self, piece: ContextPiece) -> int:
        """What a piece cost so far, whether or not it was settled."""
        place = piece.place
        return piece.cost if place is None else piece.cost + place.tokens * (self._cost - place.entry_cost)

    def settle(self) -> None:
        """Take into each piece what it cost so far."""
        for place in self.places:
            self._settle(place)

    def _enter(self, place: _Place) -> None:
        place.entry_cost, place.entry_rows = self._cost, self._rows
        place.piece.place = place
        self.places.append(place)
        self._ends.append(place.end)

    def _settle(self, place: _Place) -> None:
        rows = self._rows - place.entry_rows
        place.piece.read += place.tokens * (self._cost - place.entry_cost)
        place.piece.reads += rows
        place.piece.rows += rows
        place.piece.last = max(place.piece.last, self._last)
        place.entry_cost, place.entry_rows = self._cost, self._rows


def _pay_apart(piece: ContextPiece, start: int, end: int, row: PricedRow, before: bool) -> None:
    """Let a piece be paid for that was not read as a whole. ``before``: it was paid for in an earlier row."""
    piece.again += before
    piece.rows += 1
    for span in row.spans:
        tokens = min(end, span.end) - max(start, span.start)
        if tokens <= 0:
            continue
        if span.way == "read":
            piece.read += tokens * span.rate
        elif span.way == "write":
            piece.written += tokens * span.rate
        else:
            piece.fresh += tokens * span.rate
