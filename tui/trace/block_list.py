"""The blocks around the place where two prompts part, as a list of what stayed, went and came."""

from __future__ import annotations

from difflib import SequenceMatcher

from agentsim.core.prompt import Block, Prompt
from agentsim.diagnose.prompt_diff import address, first_difference
from agentsim.report import figures
from agentsim.tui.ink import Ink, Piece

BEFORE = 2
"""Equal blocks shown before the first difference."""
WINDOW = 60
"""Blocks on either side that are compared; beyond them nothing is shown anyway."""
MOST = 14
"""Lines shown."""
EXCERPT = 400


def block_diff(old: Prompt, new: Prompt) -> list[list[Piece]]:
    """Lines from a little before the first difference on: ``=`` stayed, ``-`` went, ``+`` came. No content is shown."""
    at = old.common_length(new)
    if at == len(old) and at == len(new):
        return [[("  both prompts hold the same blocks", Ink.FAINT)]]
    start = max(at - BEFORE, 0)
    before = [old[i] for i in range(start, min(at + WINDOW, len(old)))]
    after = [new[i] for i in range(start, min(at + WINDOW, len(new)))]
    matcher = SequenceMatcher(None, [b.digest for b in before], [b.digest for b in after], autojunk=False)
    lines: list[list[Piece]] = []
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal":
            equal = after[new_from:new_to]
            lines += [_line("=", block, Ink.FAINT) for block in equal[:3]]
            if len(equal) > 3:
                lines.append([(f"  … {figures.plural(len(equal) - 3, 'more equal block')}", Ink.FAINT)])
            continue
        lines += [_line("-", block, Ink.BAD) for block in before[old_from:old_to]]
        lines += [_line("+", block, Ink.GOOD) for block in after[new_from:new_to]]
    if len(lines) > MOST:
        lines = [*lines[:MOST], [(f"  … {figures.plural(len(lines) - MOST, 'more line')}", Ink.FAINT)]]
    return lines


def _line(sign: str, block: Block, ink: Ink) -> list[Piece]:
    tokens = "unknown size" if block.tokens is None else f"{'' if block.origin == 'measured' else '~'}{block.tokens:,}"
    name = f" {block.name}" if block.name else ""
    role = f" {block.role}" if block.role else ""
    return [
        (f"  {sign} ", ink),
        (f"{address(block):<26}", ink),
        f"{tokens:>9}",
        (f"{role} {block.kind}{name}", Ink.FAINT),
    ]


def excerpts(old: Prompt, new: Prompt) -> list[list[Piece]]:
    """The words around the first difference. They may be private: shown only when asked for."""
    place = first_difference(old, new, show=True)
    if place is None or (place.before is None and place.after is None):
        return [[("  the trace keeps no text here", Ink.FAINT)]]
    return [
        [(f"  {sign} ", ink), (text[:EXCERPT] if text is not None else "nothing", Ink.PLAIN)]
        for sign, ink, text in (("-", Ink.BAD, place.before), ("+", Ink.GOOD, place.after))
    ]
