"""Heads that would be shared by conversations, were it not for text in them that changes by itself.

A request that begins a conversation has no request before it that it could be held against. Its tools and its system
text are mostly those of a conversation that began before, and are read from there. Where a clock, an id or a counter
stands in them they are written anew each time, and no row of any conversation looks wrong.
"""

from __future__ import annotations

from collections import deque

import msgspec

from agentsim.core.prompt import Block, Prompt
from agentsim.core.verdict import Divergence
from agentsim.diagnose.prompt_diff import first_difference
from agentsim.diagnose.text_edits import compare

_MOST_HEADS = 8
"""Of so many heads of a model, the last ones, the next is compared with."""

_BY_ITSELF = frozenset(("volatile", "whitespace", "key_order"))
"""Changes that nobody made on purpose: whoever reads the text finds the same in it."""


class HeadOfAnother(msgspec.Struct, frozen=True, gc=False):
    """The head of an earlier conversation: the request that began it, and where the two heads part."""

    request: str
    place: Divergence


class SharedHeads:
    """Remembers the heads of the conversations of a session, newest last. Mutable."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], deque[tuple[str, Prompt]]] = {}

    def remember(self, request: str, key: tuple[str, str], prompt: Prompt) -> None:
        """A conversation began with this prompt. ``key`` says whose cache it is in: the provider and the model."""
        self._known.setdefault(key, deque(maxlen=_MOST_HEADS)).append((request, prompt))

    def find(self, key: tuple[str, str], prompt: Prompt) -> HeadOfAnother | None:
        """The newest head that is this one but for text that changes by itself; ``None`` where there is none, or where
        the very same head was sent before."""
        end = head_end(prompt)
        heads = self._known.get(key, ())
        if not end or any(other.common_length(prompt) >= end for _, other in heads):
            return None
        for request, other in reversed(heads):
            if head_end(other) == end and all(_alike(other[at], prompt[at]) for at in range(end)):
                place = first_difference(other, prompt)
                if place is not None:
                    return HeadOfAnother(request, place)
        return None


def head_end(prompt: Prompt) -> int:
    """How many blocks are tools and system text."""
    return prompt.section_end("system")


def _alike(old: Block, new: Block) -> bool:
    if old.digest == new.digest:
        return True
    if old.section != new.section or old.name != new.name or old.text is None or new.text is None:
        return False
    edit = compare(old.text, new.text)
    return edit is not None and edit.change in _BY_ITSELF
