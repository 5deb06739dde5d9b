"""What was cached of a prompt and is still in the next one: the most that a change of content can have lost.

Blocks count where they are found again, in front of the first difference or behind it; of a block that was edited
there, its unchanged text does. So a loss grows with what stands behind an edit, and never shrinks with it.
"""

from __future__ import annotations

import msgspec

from agentsim.core.prompt import Block, Prompt
from agentsim.core.verdict import LEAST_LOSS
from agentsim.diagnose.text_edits import common_prefix, common_suffix

_REPLACED_BLOCKS = 4
"""A history of at least so many blocks of which nothing is left was replaced, not edited."""

_SAME_TO_A_READER = frozenset({"volatile", "whitespace", "key_order", "shape"})
"""Changes that leave a block what it was to whoever reads it: without them all of it would have been read."""


class UnreadContent(msgspec.Struct, frozen=True, gc=False):
    """Tokens of what one prompt cached, that the next one has too and did not read: ``front`` in front of the first
    difference, ``behind`` in whole blocks behind it, ``edited`` of the block that was edited there.

    ``replaced`` are the tokens of a block of the head in whose place another one stands: no text of it was kept, but a
    head is meant to stay, so where nothing else is left that is what its change cost.
    """

    front: int
    behind: int = 0
    edited: int = 0
    replaced: int = 0

    @property
    def later(self) -> int:
        """What of it does not stand in front of the difference."""
        kept = self.behind + self.edited
        return kept if kept >= LEAST_LOSS else max(kept, self.replaced)

    @property
    def tokens(self) -> int:
        """All that could have been read, had the content stood where it was."""
        return self.front + self.later


def unread_content(
    old: Prompt, warm: int, new: Prompt, common: int, read: int, change: str | None = None
) -> UnreadContent:
    """What a request that read ``read`` tokens had to send again of the first ``warm`` blocks of the prompt before.

    The first ``common`` blocks of both are equal. ``change`` is how the block at the first difference was changed,
    where that is known.
    """
    if common >= warm:
        return UnreadContent(max(0, old.tokens_until(warm) - read))
    cached: dict[bytes, list[int]] = {}
    for at in range(warm - 1, common - 1, -1):
        cached.setdefault(old[at].digest, []).append(old[at].tokens or 0)
    behind, first_is_new = 0, False
    for at in range(common, len(new)):
        sizes = cached.get(new[at].digest)
        if sizes:
            behind += min(sizes.pop(), max(0, new.tokens_until(at + 1) - read))
        elif at == common:
            first_is_new = True
    edited = replaced = 0
    if first_is_new and cached[old[common].digest] and old[common].digest != new[common].digest:
        unread = max(0, new.tokens_until(common + 1) - read)
        edited = min(_unchanged(old[common], new[common], change), unread)
        if old[common].section != "messages" and _same_place(old[common], new[common]):
            replaced = min(old[common].tokens or 0, new[common].tokens or 0, unread)
    return UnreadContent(max(0, old.tokens_until(common) - read), behind, edited, replaced)


def _same_place(old: Block, new: Block) -> bool:
    return old.section == new.section and old.kind == new.kind and old.role == new.role and old.name == new.name


def _unchanged(old: Block, new: Block, change: str | None) -> int:
    """Tokens of a block that its edited form still has at its beginning and its end."""
    tokens = old.tokens or 0
    if not _same_place(old, new):
        return 0
    if change in _SAME_TO_A_READER:
        return tokens
    if old.text is None or new.text is None or not old.text:
        return 0
    front = common_prefix(old.text, new.text)
    back = common_suffix(old.text, new.text, min(len(old.text), len(new.text)) - front)
    same = front + back
    # The frame of a block (its kind, its role) is the same in any two: so little text is no text kept.
    return tokens * same // len(old.text) if 2 * same > len(old.text) else 0


def is_replaced(common: int, old: Prompt, new: Prompt, old_total: int, new_total: int) -> bool:
    """True when something shorter stands where a long history was, of which no answer is left: a summary."""
    if common >= min(len(old), len(new)) or old[common].section != "messages" or new_total >= old_total:
        return False
    left = {new[at].digest for at in range(common, len(new))}
    rest = [old[at] for at in range(common, len(old))]
    gone = sum(block.digest not in left for block in rest)
    if gone < _REPLACED_BLOCKS or any(block.role == "assistant" and block.digest in left for block in rest):
        return False
    known = {block.digest for block in rest}
    came = (new[at] for at in range(common, len(new)))
    return any(block.role != "assistant" and block.kind == "text" and block.digest not in known for block in came)


def summary_words(unread: UnreadContent, read: int) -> tuple[str, str] | None:
    """What a summary cost that took the place of a history, and what would have spared it: text that stays the same,
    behind the summary or in front of it without an entry at its end. ``None`` where it cost nothing."""
    if unread.behind >= LEAST_LOSS:
        sentence = (
            f"A summary took the place of the history, and {unread.behind:,} tokens stand behind it word for word as "
            "they were sent before: only their place makes them new. In front of the summary they would have been "
            f"read, {read + unread.front + unread.behind:,} tokens in all."
        )
        return sentence, "Put what stays the same in front of the summary, with a breakpoint at its end."
    if unread.front >= LEAST_LOSS:
        sentence = (
            f"A summary took the place of the history. The {unread.front:,} tokens in front of it that were sent "
            "before have no entry at their end."
        )
        return sentence, "Set a breakpoint at the end of what stays the same, in front of the summary."
    return None
