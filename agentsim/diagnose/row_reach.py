"""How far a read reached, as far as the rows of a lane tell."""

from __future__ import annotations

from typing import Literal, NamedTuple

from agentsim.diagnose.row_facts import LaneMemory, RowFacts

Place = Literal["nothing", "front", "floor", "head", "inside", "conversation", "entry"]
"""Where a read ended. ``nothing``: at the beginning. ``front``: within tools and system, at what sessions share.
``head``: behind tools and system, before the first message ended. ``floor``: at the one place before the first
message's end that is known; which of the two it is cannot be told. ``inside``: before the first message ended, at a
place not seen before. ``conversation``: within the conversation. ``entry``: where an earlier request ended."""

CLEAR = 1024
"""Tokens by which one place must lie behind another to be the end of another part of the prompt: blocks of a system
text that differ between sessions are at least so long, and what changes from day to day in it is shorter."""

TURN = 128
"""What a provider adds around the last message, or drops with it, may shift an end by so many tokens."""

SMALL = 2048
"""A first prompt that has no more than this beyond its read holds its first message there, and nothing of tools and
system."""


class Reach(NamedTuple):
    """Where the read ended, with sentences on it, and what remains to be checked. ``other`` is the request whose entry
    was read."""

    place: Place
    sentences: tuple[str, ...]
    to_check: tuple[str, ...] = ()
    other: str | None = None

    @property
    def in_conversation(self) -> bool:
        """Whether tools, system and something of the conversation were read."""
        return self.place in ("conversation", "entry")


def reach_of(row: RowFacts, memory: LaneMemory, minimum: int = 0, *, messages: bool) -> Reach:
    """How far the read of a row reached. No prefix shorter than ``minimum`` is kept."""
    read = row.read
    constant = _constant(row, memory, minimum)
    if read == 0 or constant:
        if constant:
            return Reach("nothing", (f"Nothing was read: {read:,} is what every answer here says at least.",))
        return Reach(
            "nothing", ("Nothing was read." if row.automatic else "Nothing was read, not even tools and system.",)
        )
    near = row.step + TURN if row.automatic else 0
    ended = [end for end in memory.ends if 0 <= end - read <= near]
    smallest = memory.smallest_total
    if ended and not (row.automatic and smallest is not None and read + near < smallest):
        other = memory.ends[min(ended)]
        if row.automatic:
            sentence = f"The read ends within a step of where request {other} ended: an older copy was found."
        else:
            sentence = f"The read ends where request {other} ended: the prompts part after that point."
        return Reach("entry", (sentence,), (), other)
    if smallest is None or read + near >= smallest:
        return Reach("conversation", ())
    return _before_first_message(row, memory, messages=messages)


def _constant(row: RowFacts, memory: LaneMemory, minimum: int) -> bool:
    """Whether a read is a number that a provider always reports, and no prefix: below the shortest that it keeps, and
    left by the other losses too."""
    return 0 < row.read < minimum and all(row.read == floor or floor == 0 for floor in memory.floors)


def _before_first_message(row: RowFacts, memory: LaneMemory, *, messages: bool) -> Reach:
    read = row.read
    sentences: list[str] = []
    to_check: list[str] = []
    if not messages and not row.automatic:
        sentences.append(
            f"The read of {read:,} is less than any whole prompt seen here ({memory.smallest_total:,} at least), "
            "and entries end only at breakpoints: it is tools and system."
        )
        if row.head_tokens is not None and read != row.head_tokens:
            more = read - row.head_tokens
            word = "above" if more > 0 else "below"
            sentences.append(f"That is {abs(more):,} {word} the {row.head_tokens:,} that they first measured.")
            to_check.append(f"Whether those {abs(more):,} tokens are in tools or in system, and since when.")
    seen = [floor for floor in memory.floors if floor]
    times = memory.losses.get(read, 0)
    if times > 1:
        sentences.append(
            f"{times} earlier losses of this conversation left the same {read:,} tokens: each time the same "
            "part was rebuilt."
        )
    return Reach(_place(row, memory, seen, sentences), tuple(sentences), tuple(to_check))


def _place(row: RowFacts, memory: LaneMemory, seen: list[int], sentences: list[str]) -> Place:
    read = row.read
    if not seen:
        return "inside"
    lowest, highest = min(seen), max(floor for floor in seen if floor <= read) if min(seen) <= read else 0
    if read < lowest:
        sentences.append(f"The read of {read:,} is shorter than all that earlier losses left ({lowest:,} at least).")
        return "front"
    if read in memory.fronts or (read - lowest < CLEAR and _head_known(memory, lowest)):
        sentences.append(f"The read of {read:,} is what stays when all of the conversation is gone: the front only.")
        return "front"
    if read - lowest >= CLEAR and not row.automatic:
        sentences.append(
            f"The read of {read:,} goes {read - lowest:,} tokens beyond the front that sessions share, and stops "
            "before the first message ended: tools and system were read."
        )
        return "head"
    if memory.first_unread is not None and memory.first_unread <= SMALL and read == highest:
        sentences.append(
            f"The first prompt had {memory.first_unread:,} tokens beyond the same {read:,}: tools and system were read."
        )
        return "head"
    if read - lowest < CLEAR or read in seen:
        sentences.append(f"The read of {read:,} is the prefix that stayed after earlier losses: the front only.")
        return "floor"
    return "inside"


def _head_known(memory: LaneMemory, lowest: int) -> bool:
    """Whether a longer read was seen that ended before the first message did."""
    smallest = memory.smallest_total or 0
    return any(lowest + CLEAR <= floor < smallest for floor in memory.floors)
