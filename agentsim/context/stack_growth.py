"""How a stack becomes the next prompt: what came is put on top, what left is taken out, and the sizes fit the counters.

A log's pieces have estimated sizes, its requests exact ones. What came is scaled to what the counters say it was. Where
they say far more, the rest is something that the log does not hold; where they say far less, something left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentsim.context.lane_stack import ContextPiece, LaneStack
from agentsim.core.additions import Addition, SinceParent
from agentsim.core.tokens import largest_remainder

_MOST = (3, 2)
"""An estimate is taken to be right within this factor; tokens beyond it are something that the log does not hold."""
_LEAST = 3
"""Below this part of the estimates something else left at the same time."""
_CLEARED = 12
"""Tokens that stand in place of a result that was cleared."""

Make = Callable[[Addition], ContextPiece]

REST = Addition(kind="rest", tokens=None)


def grow_by_words(
    stack: LaneStack, growth: SinceParent, total: int, reply: int | None, read: int, head: int, make: Make
) -> None:
    """Make the stack a prompt of ``total`` tokens by what a log says of it.

    ``reply`` are the tokens of the parent's answer, where they were counted. ``read`` is what was read of the prompt.
    ``head`` is how many leading pieces stay when all that was said is replaced. ``make`` makes a piece of an addition.
    """
    begins = not stack.places
    if growth.anew:
        stack.cut(head)
    sizes = _estimates(growth.additions, reply)
    came, expected = total - stack.tokens, sum(sizes)
    if not begins and (came < 0 or came * _LEAST < expected):
        room = max(came, 0) if growth.anew else expected
        _shrink(stack, room - came, growth.cleared, read)
    _put_on(stack, growth.additions, sizes, total, begins or growth.anew, make)


def grow_by_counters(stack: LaneStack, total: int, reply: int | None, read: int, make: Make) -> None:
    """Make the stack a prompt of ``total`` tokens, where nothing is told but counters: the answer, and a rest."""
    if stack.tokens > total:
        stack.cut(stack.length_within(min(read, total)))
    came = total - stack.tokens
    answer = min(reply or 0, came) if stack.places else 0
    if answer:
        stack.push(make(Addition(kind="text", tokens=answer, replied=True)), answer)
    if came > answer:
        stack.push(make(REST), came - answer)


def grow_by_blocks(stack: LaneStack, additions: Sequence[Addition], total: int, make: Make) -> None:
    """Put the blocks of a prompt of ``total`` tokens on the front that it kept; sizes that are estimates are scaled.

    Where the counters tell of less than the blocks, these keep their sizes: what stands behind the total costs nothing.
    """
    sizes = [addition.tokens or 0 for addition in additions]
    if stack.tokens + sum(sizes) >= total:
        for addition, size in zip(additions, sizes, strict=True):
            stack.push(make(addition), size)
    else:
        _put_on(stack, additions, sizes, total, not stack.places, make)


def _put_on(
    stack: LaneStack, additions: Sequence[Addition], sizes: list[int], total: int, first: bool, make: Make
) -> None:
    """Put pieces on a stack that is to have ``total`` tokens, sizes scaled. What they cannot be is a rest: in front of
    them where a prompt begins, else behind them."""
    came, expected = total - stack.tokens, sum(sizes)
    rest = came - expected if came > expected * _MOST[0] // _MOST[1] else 0
    sizes = _fitted(additions, sizes, came - rest)
    if rest and first:
        stack.push(make(REST), rest)
    for addition, size in zip(additions, sizes, strict=True):
        stack.push(make(addition), size)
    if stack.tokens < total:
        stack.push(make(REST), total - stack.tokens)


def _estimates(additions: Sequence[Addition], reply: int | None) -> list[int]:
    """Sizes of pieces. The parts of an answer make up its counted tokens: thinking is what its words leave over."""
    sizes = [addition.tokens or 0 for addition in additions]
    mine = [index for index, addition in enumerate(additions) if addition.replied]
    if not mine or not reply:
        return sizes
    sealed = [index for index in mine if additions[index].tokens is None]
    spoken = sum(sizes[index] for index in mine)
    if sealed and reply > spoken:
        weights = [1] * len(sealed)
        for index, size in zip(sealed, largest_remainder(weights, reply - spoken), strict=True):
            sizes[index] = size
    elif spoken:
        for index, size in zip(mine, largest_remainder([sizes[i] for i in mine], reply), strict=True):
            sizes[index] = size
    return sizes


def _fitted(additions: Sequence[Addition], sizes: list[int], total: int) -> list[int]:
    """Sizes that add up to ``total``: thinking gives way first, since harnesses and providers leave it out."""
    total = max(total, 0)
    over = sum(sizes) - total
    if over > 0:
        for index, addition in enumerate(additions):
            if addition.kind == "thinking" and over > 0:
                taken = min(sizes[index], over)
                sizes[index] -= taken
                over -= taken
    if not sum(sizes):
        return sizes
    return largest_remainder(sizes, total)


def _shrink(stack: LaneStack, tokens: int, cleared: frozenset[str], read: int) -> None:
    """Take so many tokens out of the stack: results that were cleared, thinking, what the log does not hold, the oldest
    results; then whatever stands last. What was read again stays, as far as that is enough."""
    if tokens <= 0 or not stack.places:
        return
    sizes = [place.tokens for place in stack.places]
    kept = stack.length_within(read)

    def take(index: int, leave: int = 0) -> None:
        nonlocal tokens
        taken = min(max(sizes[index] - leave, 0), tokens)
        sizes[index] -= taken
        tokens -= taken

    pieces = [place.piece.addition for place in stack.places]
    results = [index for index, piece in enumerate(pieces) if piece.kind in ("result", "file", "image")]
    for index in results:
        if pieces[index].call in cleared:
            take(index, _CLEARED)
    behind = range(kept, len(sizes))
    for kinds in (("thinking",), ("rest",), ("result", "file", "image")):
        for index in behind:
            if pieces[index].kind in kinds:
                take(index)
    for index in reversed(behind):
        take(index)
    for index in reversed(range(kept)):
        take(index)
    first = next(index for index, size in enumerate(sizes) if size != stack.places[index].tokens)
    gone = stack.cut(first)
    for (piece, _), size in zip(gone, sizes[first:], strict=True):
        if size:
            stack.push(piece, size)
