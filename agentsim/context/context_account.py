"""What filled the contexts of a session, and what each piece cost: parts that add up to the bill.

Every prompt is laid out as a row of pieces: what it read comes first, then what it wrote, then the rest. Each place of
it has a price, by the row's own rates, so that the prices of all pieces and of all answers are the bill, exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from agentsim.context.lane_stack import ContextPiece, LaneStack
from agentsim.context.prompt_additions import BlockNames
from agentsim.context.row_prices import PricedRow, priced_row
from agentsim.context.stack_growth import REST, grow_by_blocks, grow_by_counters, grow_by_words
from agentsim.core.additions import KINDS, Addition, AdditionKind, SinceParent, server_of
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Session
from agentsim.rules.prices import billed_parts, default_book


class ContextBlock(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of a context. Amounts are in picodollars, rows are numbers in the whole session.

    ``rows`` is in how many priced requests it was sent, ``reads`` in how many it was read as a whole, ``again`` how
    often it was paid for at the price of a write or of fresh input after its first time. ``left`` is the last row that
    held it; ``None`` where it was still there at the end.
    """

    session: str
    kind: AdditionKind
    name: str | None
    server: str | None
    detail: str | None
    tokens: int
    characters: int
    lane: str
    since: int
    left: int | None
    rows: int
    reads: int
    again: int
    read: int
    written: int
    fresh: int
    file: str | None = None
    line: int | None = None
    call: str | None = None
    words: str | None = None

    @property
    def cost(self) -> int:
        """Its whole price until it left."""
        return self.read + self.written + self.fresh


class ContextGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Pieces of one kind and name together. ``tokens`` are counted once each, ``cost`` over all requests."""

    kind: AdditionKind
    name: str | None
    blocks: int
    tokens: int
    rows: int
    again: int
    read: int
    written: int
    fresh: int

    @property
    def cost(self) -> int:
        """Picodollars of all of them."""
        return self.read + self.written + self.fresh


class ContextAccount(msgspec.Struct, frozen=True, kw_only=True):
    """What the contexts of a session cost. ``output`` is the price of all answers; with it the blocks make up ``bill``.

    ``unpriced`` requests have no known price and ``unmeasured`` ones no counters: they are in no sum. ``worded``: the
    log's words, or its prompts, tell what the pieces are. ``turns`` are used by the alternatives. ``format`` is
    ``None`` for sessions of several formats, ``needed`` what a tool's definition had cost when it was first called.
    """

    id: str
    format: str | None
    models: tuple[str, ...]
    sessions: int = 1
    blocks: tuple[ContextBlock, ...]
    output: int
    output_tokens: int
    bill: int
    requests: int
    unpriced: int
    unmeasured: int
    worded: bool
    turns: tuple[ContextTurn, ...] = ()
    needed: Mapping[str, int] = {}

    @property
    def input(self) -> int:
        """The price of all input."""
        return sum(block.cost for block in self.blocks)

    def groups(self, by_name: bool = True) -> tuple[ContextGroup, ...]:
        """The blocks by kind (and tool or server), kinds in the order of a prompt, the dearest first in each."""
        found: dict[tuple[AdditionKind, str | None], list[int]] = {}
        for block in self.blocks:
            name = (block.server or block.name) if by_name and block.kind != "file" else None
            sums = found.setdefault((block.kind, name), [0] * 7)
            for index, value in enumerate(
                (1, block.tokens, block.rows, block.again, block.read, block.written, block.fresh)
            ):
                sums[index] += value
        groups = [
            ContextGroup(
                kind=kind,
                name=name,
                blocks=sums[0],
                tokens=sums[1],
                rows=sums[2],
                again=sums[3],
                read=sums[4],
                written=sums[5],
                fresh=sums[6],
            )
            for (kind, name), sums in found.items()
        ]
        return tuple(sorted(groups, key=lambda group: (KINDS.index(group.kind), -group.cost, group.name or "")))


class ContextTurn(msgspec.Struct, frozen=True, kw_only=True):
    """The requests of a main lane between two prompts of a person, as far as they have a price.

    ``work`` are the tokens that came to the context in it. ``carried`` is what its requests after the first paid for
    all that had been there before it, tools and system not counted; ``after`` what its work cost when it was over.
    ``head`` are the tokens of tools and system, ``first_look`` what its second request paid for all that stood before
    the turn. ``write_rate`` and ``output_rate`` are picodollars a token.
    """

    session: str
    first: int
    last: int
    requests: int
    before: int
    work: int
    head: int
    carried: int
    first_look: int
    after: int
    write_rate: int
    output_rate: int


class _OpenTurn:
    def __init__(self, number: int, before: int, head: int, write_rate: int, output_rate: int) -> None:
        self.first = self.last = number
        self.before, self.head = before, head
        self.requests = 0
        self.carried = self.first_look = 0
        self.write_rate, self.output_rate = write_rate, output_rate
        self.pieces: list[ContextPiece] = []
        self.cost_then: list[int] = []


class _Lane:
    """A lane's stack, and what each of its requests left it as."""

    def __init__(self, content: bool) -> None:
        self.stack = LaneStack()
        self.tops: dict[str, object] = {}
        self.pieces: list[ContextPiece] = []
        self.by_digest: dict[bytes, ContextPiece] = {}
        self.prompt: Prompt | None = None
        self.ends: list[int] = []
        self.named = BlockNames(content)
        self.last: str | None = None
        self.turn: _OpenTurn | None = None


class _Accountant:
    def __init__(self, session: Session, growths: Mapping[str, SinceParent], content: bool) -> None:
        self.session = session
        self.growths = growths
        self.content = content
        self.lanes: dict[str, _Lane] = {}
        self.owners: dict[int, tuple[str, str | None]] = {}
        self.turns: list[_OpenTurn] = []
        self.output = self.output_tokens = self.bill = 0
        self.requests = self.unpriced = self.unmeasured = 0
        self.within: dict[str, ContextPiece] = {}
        self.needed: dict[str, int] = {}
        self.asked = {event.before for event in session.events if event.kind == "prompt_submitted"}

    def run(self) -> None:
        by_id = {request.id: request for request in self.session.requests}
        for number, request in enumerate(self.session.requests, 1):
            lane = self.lanes.setdefault(request.lane, _Lane(self.content))
            if request.usage is None or request.usage.total_input is None:
                self.unmeasured += request.counted
                continue
            parent = by_id.get(request.parent or "")
            if parent is not None and parent.lane != request.lane:
                parent = None
            before = self._grow(lane, number, request, parent)
            self._pay(lane, number, request, before)
        for lane in self.lanes.values():
            self._close(lane)
            lane.stack.settle()

    def _grow(self, lane: _Lane, number: int, request: Request, parent: Request | None) -> int:
        """Make the stack the request's prompt; how many tokens of it were there before."""
        usage, stack = request.usage, lane.stack
        assert usage is not None
        total, read = usage.total_input or 0, usage.read or 0

        def make(addition: Addition) -> ContextPiece:
            piece = ContextPiece(addition, number)
            lane.pieces.append(piece)
            self.owners[id(piece)] = request.lane, request.source.file if request.source is not None else None
            if addition.kind == "call" and addition.name is not None:
                self._called(lane, addition.name)
            if lane.turn is not None:
                lane.turn.pieces.append(piece)
            return piece

        if request.id in self.asked or lane.turn is None:
            self._close(lane)
            lane.turn = _OpenTurn(number, -1, 0, 0, 0)
        if request.prompt is not None:
            self._grow_by_blocks(lane, request, total, make)
        else:
            top = lane.tops.get(parent.id) if parent is not None else None
            stack.go_to(top)  # type: ignore[arg-type]
            was = stack.tokens
            reply = None
            if parent is not None and parent.usage is not None and parent.output_final:
                reply = parent.usage.output
            growth = self.growths.get(request.id)
            if growth is None:
                grow_by_counters(stack, total, reply, read, make)
            else:
                grow_by_words(stack, growth, total, reply, read, self._head(lane), make)
            lane.tops[request.id] = stack.top
            if lane.turn.before < 0:
                lane.turn.before = min(was, total)
        lane.last = request.id
        return lane.turn.before

    def _grow_by_blocks(self, lane: _Lane, request: Request, total: int, make: object) -> None:
        prompt = request.prompt
        assert prompt is not None
        assert lane.turn is not None
        keep = lane.prompt.common_length(prompt) if lane.prompt is not None else 0
        if lane.turn.before < 0:
            lane.turn.before = prompt.tokens_until(keep)
        whole = lane.prompt is not None and keep == len(lane.prompt)
        start = len(lane.stack.places) if whole else lane.ends[keep - 1] if keep else 0
        lane.stack.cut(start)
        news = [prompt[position] for position in range(keep, len(prompt))]
        added = lane.named.additions_of(news)
        digests = {id(addition): block.digest for block, addition in zip(news, added, strict=True)}

        def again(addition: Addition) -> ContextPiece:
            digest = digests.get(id(addition))
            known = lane.by_digest.get(digest) if digest is not None else None
            if known is not None and not known.in_use:
                return known
            piece: ContextPiece = make(addition)  # type: ignore[operator]
            if digest is not None:
                lane.by_digest[digest] = piece
            return piece

        grow_by_blocks(lane.stack, added, total, again)
        places = lane.stack.places
        lane.ends[keep:] = [
            index + 1 for index in range(start, len(places)) if places[index].piece.addition is not REST
        ]
        lane.prompt = prompt

    def _called(self, lane: _Lane, name: str) -> None:
        """A tool is called: what its definition cost until the first time is what deferring it would have left out."""
        if name in self.needed:
            return
        self.needed[name] = sum(
            lane.stack.cost_of(piece)
            for piece in lane.pieces
            if piece.addition.kind == "tools" and piece.addition.name == name
        )

    def _head(self, lane: _Lane) -> int:
        """How many leading pieces are tools, system, or what the log does not hold of them."""
        for index, place in enumerate(lane.stack.places):
            if place.piece.addition.kind not in ("rest", "system", "tools"):
                return index
        return len(lane.stack.places)

    def _pay(self, lane: _Lane, number: int, request: Request, before: int) -> None:
        if not request.counted:
            return
        book = default_book()
        paid, _ = book.price(request)
        parts = billed_parts(request)
        rows: list[PricedRow] = []
        for part in parts:
            card = book.card_for(request, part)
            row = priced_row(card, part) if card is not None and paid is not None else None
            if row is not None:
                rows.append(row)
                assert card is not None
                self.output += (part.output or 0) * card.output
                self.output_tokens += part.output or 0
                self._turn(lane, number, row, before, card.output)
        if paid is None or len(rows) < len(parts):
            self.unpriced += 1
            lane.stack.pay(number, None)
            return
        self.requests += 1
        self.bill += paid
        for row in rows:
            left = lane.stack.pay(number, row)
            if left:
                self._within(lane, number, request).fresh += left

    def _within(self, lane: _Lane, number: int, request: Request) -> ContextPiece:
        """The piece that stands for what a provider added inside its calls."""
        piece = self.within.get(request.lane)
        if piece is None:
            piece = self.within[request.lane] = ContextPiece(REST, number)
            lane.pieces.append(piece)
            self.owners[id(piece)] = request.lane, None
        piece.last = number
        piece.rows += 1
        return piece

    def _turn(self, lane: _Lane, number: int, row: PricedRow, before: int, output_rate: int) -> None:
        turn = lane.turn
        assert turn is not None
        if not turn.requests:
            head = self._head(lane)
            turn.head = lane.stack.places[head - 1].end if head else 0
            turn.write_rate, turn.output_rate = row.write_rate, output_rate
        else:
            turn.carried += row.between(min(turn.head, before), before)
            if turn.requests == 1:
                turn.first_look = row.between(0, before)
        turn.requests += 1
        turn.last = number

    def _close(self, lane: _Lane) -> None:
        turn = lane.turn
        if turn is not None and turn.requests:
            turn.cost_then = [lane.stack.cost_of(piece) for piece in turn.pieces]
            self.turns.append(turn)
        lane.turn = None

    def blocks(self) -> Iterable[ContextBlock]:
        for lane in self.lanes.values():
            for piece in lane.pieces:
                name, file = self.owners[id(piece)]
                addition = piece.addition
                yield ContextBlock(
                    session=self.session.id,
                    kind=addition.kind,
                    name=addition.name,
                    server=server_of(addition.name),
                    detail=addition.detail,
                    tokens=piece.tokens,
                    characters=addition.characters,
                    lane=name,
                    since=piece.since,
                    left=None if piece.in_use else piece.last,
                    rows=piece.rows,
                    reads=piece.reads,
                    again=piece.again,
                    read=piece.read,
                    written=piece.written,
                    fresh=piece.fresh,
                    file=file if addition.line is not None else None,
                    line=addition.line,
                    call=addition.call,
                    words=addition.words,
                )


def account(
    session: Session, growths: Mapping[str, SinceParent] | None = None, *, content: bool = False
) -> ContextAccount:
    """What the contexts of a session cost. ``growths`` are what its log says of its prompts, read now by default.
    ``content``: blocks of prompts come with their first words.

    Raises OSError where the log cannot be read again.
    """
    if growths is None:
        from agentsim.traces.words.growths import growths_of

        growths = growths_of(session, content)
    accountant = _Accountant(session, growths, content)
    accountant.run()
    return ContextAccount(
        id=session.id,
        format=session.format,
        models=tuple(sorted({request.model or "unnamed" for request in session.requests})),
        blocks=tuple(sorted(accountant.blocks(), key=lambda block: (-block.cost, block.since, block.line or 0))),
        output=accountant.output,
        output_tokens=accountant.output_tokens,
        bill=accountant.bill,
        requests=accountant.requests,
        unpriced=accountant.unpriced,
        unmeasured=accountant.unmeasured,
        worded=bool(growths) or any(request.prompt is not None for request in session.requests),
        turns=tuple(_turn_of(session.id, turn) for turn in accountant.turns),
        needed=accountant.needed,
    )


def together(accounts: Sequence[ContextAccount]) -> ContextAccount:
    """Several sessions as one account: their pieces, and sums."""
    formats = {one.format for one in accounts}
    blocks = [block for one in accounts for block in one.blocks]
    needed: dict[str, int] = {}
    for one in accounts:
        for name, cost in one.needed.items():
            needed[name] = needed.get(name, 0) + cost
    return ContextAccount(
        id=f"{len(accounts):,} sessions",
        format=formats.pop() if len(formats) == 1 else None,
        models=tuple(sorted({model for one in accounts for model in one.models})),
        sessions=len(accounts),
        blocks=tuple(sorted(blocks, key=lambda block: (-block.cost, block.session, block.since, block.line or 0))),
        output=sum(one.output for one in accounts),
        output_tokens=sum(one.output_tokens for one in accounts),
        bill=sum(one.bill for one in accounts),
        requests=sum(one.requests for one in accounts),
        unpriced=sum(one.unpriced for one in accounts),
        unmeasured=sum(one.unmeasured for one in accounts),
        worded=any(one.worded for one in accounts),
        turns=tuple(turn for one in accounts for turn in one.turns),
        needed=needed,
    )


def _turn_of(session: str, turn: _OpenTurn) -> ContextTurn:
    after = sum(piece.cost - then for piece, then in zip(turn.pieces, turn.cost_then, strict=True))
    return ContextTurn(
        session=session,
        first=turn.first,
        last=turn.last,
        requests=turn.requests,
        before=max(turn.before, 0),
        work=sum(piece.tokens for piece in turn.pieces),
        head=turn.head,
        carried=turn.carried,
        first_look=turn.first_look,
        after=after,
        write_rate=turn.write_rate,
        output_rate=turn.output_rate,
    )
