"""Where two prompts part, and how: hashes find the block, and only that block's text is compared.

Digests and sizes suffice to name the block, its section, and whether blocks were inserted, removed, reordered or
edited. With texts the kind of an edit and the first differing character are known too.
"""

from __future__ import annotations

from collections import Counter

from agentsim.core.prompt import Block, Prompt, Section
from agentsim.core.verdict import Change, Divergence
from agentsim.diagnose.place_cause import cause_of
from agentsim.diagnose.text_edits import compare, excerpt, is_cleared

__all__ = ["address", "cause_of", "first_difference", "shape_difference"]

SECTIONS: tuple[Section, ...] = ("tools", "system", "messages")
NOTICE_TOKENS = 60
"""Where only sizes are known, the most that a notice about a cleared result takes: 240 characters."""

_SURE_RUN = 2
"""So many equal blocks in a row show that one prompt goes on where the other does: it is no chance repetition."""


def first_difference(old: Prompt, new: Prompt, *, show: bool = False) -> Divergence | None:
    """The first place where ``new`` does not repeat ``old``.

    ``None`` when ``new`` is ``old`` with something appended: nothing of the old prompt is lost. A message that is now
    written as a string and was a list (or the reverse) is named only when nothing else differs, because whether it
    matters depends on the model. Excerpts of content are given only with ``show``.
    """
    at = old.common_length(new)
    if at == len(old):
        return shape_difference(old, new)
    if at == len(new):
        return _place(old[at], at, "truncated")
    before, after = old[at], new[at]
    rank_before, rank_after = SECTIONS.index(before.section), SECTIONS.index(after.section)
    if rank_after < rank_before:
        return _place(after, at, "inserted")
    if rank_after > rank_before:
        return _place(before, at, "removed")
    if before.section == "tools":
        place = _tools(old, new, at)
    else:
        place = _sequence(old, new, at, old.section_end(before.section), new.section_end(before.section))
    return place if place is not None else _edited(before, after, at, show)


def shape_difference(old: Prompt, new: Prompt) -> Divergence | None:
    """The first block that both prompts share but one wrote as a string and the other as a list of blocks."""
    for position in range(old.common_length(new)):
        before, after = old[position], new[position]
        if before.shape != after.shape and before.shape is not None and after.shape is not None:
            return _place(before, position, "shape")
    return None


def address(block: Block) -> str:
    """Where a block stands in its request: ``tools[7]``, ``system[1]``, ``messages[12].content[3]``."""
    index = "" if block.message is None else f"[{block.message}]"
    if block.section == "messages":
        if block.part is None:
            return f"messages{index}"
        written = "" if block.shape == "string" and block.kind == "text" else f"[{block.part}]"
        return f"messages{index}.content{written}"
    if block.section == "system" and block.kind.startswith("web_"):
        return f"tools{index}"
    if block.section == "tools" and block.kind == "options":
        return "response_format"
    return f"{block.section}{'' if block.shape == 'string' else index}"


def _tools(old: Prompt, new: Prompt, at: int) -> Divergence | None:
    """A change among the tool definitions; ``None`` when one of them was edited where it stands."""
    old_rest = [old[position] for position in range(at, old.section_end("tools"))]
    new_rest = [new[position] for position in range(at, new.section_end("tools"))]
    before, after = old_rest[0], new_rest[0]
    if Counter(block.digest for block in old_rest) == Counter(block.digest for block in new_rest):
        return _place(before, at, "reordered")
    if before.name is not None and before.name == after.name:
        return None
    goes_on = any(block.digest == before.digest for block in new_rest)
    was_there = any(block.digest == after.digest for block in old_rest)
    if goes_on and was_there:
        return _place(before, at, "reordered")
    if goes_on:
        return _place(after, at, "inserted")
    if was_there or all(block.name != before.name for block in new_rest):
        return _place(before, at, "removed")
    if all(block.name != after.name for block in old_rest):
        return _place(after, at, "inserted")
    return _place(before, at, "reordered")


def _sequence(old: Prompt, new: Prompt, at: int, old_end: int, new_end: int) -> Divergence | None:
    """Blocks that came, went or changed places in a run of blocks; ``None`` when one was edited where it stands."""
    before, after = old[at], new[at]
    if before.role == "user" and after.role == "assistant" and before.message == old[len(old) - 1].message:
        # The answer follows at once: the rest of the last user message is gone, even if it turns up again later on.
        return _place(before, at, "removed")
    came = _found_again(old, at, old_end, new, at + 1, new_end)
    went = _found_again(new, at, new_end, old, at + 1, old_end)
    if came is not None and went is not None:
        return _place(before, at, "reordered")
    if came is not None:
        return _place(after, at, "inserted")
    if went is not None:
        opening = at - old.section_end("system") if before.section == "messages" else None
        whole = opening == 0 or (opening is not None and old[at - 1].message == 0 and before.part == 0)
        return _place(before, at, "truncated" if whole and went - at > 1 else "removed")
    if _swapped(old, new, at, old_end, new_end):
        return _place(before, at, "reordered")
    return None


def _found_again(what: Prompt, begin: int, end: int, where: Prompt, first: int, last: int) -> int | None:
    """The first position of ``where`` from which it repeats what stands at ``begin``, for long enough to be sure."""
    wanted = what[begin].digest
    need = min(_SURE_RUN, end - begin)
    for position in range(first, last):
        if where[position].digest != wanted:
            continue
        run = 1
        while run < need and position + run < last and where[position + run].digest == what[begin + run].digest:
            run += 1
        if run >= need or position + run == last:
            return position
    return None


def _swapped(old: Prompt, new: Prompt, at: int, old_end: int, new_end: int) -> bool:
    """True when a few blocks from ``at`` on are the same ones in another order."""
    ahead = min(8, old_end - at, new_end - at)
    one: Counter[bytes] = Counter()
    for count in range(ahead):
        one[old[at + count].digest] += 1
        one[new[at + count].digest] -= 1
        if count and not any(one.values()):
            return True
    return False


def _shrank_to_a_notice(before: Block, after: Block) -> bool:
    """What is left of a tool result has the size of a notice: it was cleared, as far as sizes can tell."""
    if before.kind != after.kind or not before.kind.endswith("_result"):
        return False
    if before.tokens is None or after.tokens is None:
        return False
    return after.tokens <= NOTICE_TOKENS and after.tokens * 2 < before.tokens


def _edited(before: Block, after: Block, at: int, show: bool) -> Divergence:
    if before.text is None or after.text is None:
        return _place(before, at, "cleared" if _shrank_to_a_notice(before, after) else "edited")
    if before.kind != after.kind:
        gone = before.kind in ("image", "document") and len(after.text) <= 240
        return _place(before, at, "cleared" if gone else "edited", offset=0)
    edit = compare(before.text, after.text, cut_is_truncation=before.kind.endswith("tool_result"))
    if edit is None:
        return _place(before, at, "edited")
    is_tool = before.kind.endswith("_result")
    change: Change = "cleared" if is_tool and is_cleared(before.text, after.text) else edit.change
    return _place(
        before,
        at,
        change,
        offset=edit.offset,
        changed_characters=edit.changed,
        before=excerpt(before.text, edit.offset) if show else None,
        after=excerpt(after.text, edit.offset) if show else None,
    )


def _place(
    block: Block,
    position: int,
    change: Change,
    *,
    offset: int | None = None,
    changed_characters: int | None = None,
    before: str | None = None,
    after: str | None = None,
) -> Divergence:
    return Divergence(
        section=block.section,
        block=position,
        address=address(block),
        name=block.name,
        change=change,
        offset=offset,
        changed_characters=changed_characters,
        before=before,
        after=after,
    )
