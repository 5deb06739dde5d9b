"""A prompt drawn to scale: what was read, written and sent fresh, where the markers stand, where it parts from before.

Pure functions from a row to lines of text; glyphs carry the meaning, inks repeat it.
"""

from __future__ import annotations

from itertools import groupby

from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt, Section
from agentsim.core.session import Row
from agentsim.core.verdict import Verdict
from agentsim.report import figures
from agentsim.tui.ink import Ink, Piece

READ, WRITTEN, FRESH = "█", "▒", "░"
SAME, OTHER, UNKNOWN = "═", "≠", "─"
MARKER, PARTING, TICK = "▲", "✗", "╵"
LABEL = 5
"""Cells before a bar."""
NARROWEST = 10
SECTIONS: tuple[Section, ...] = ("tools", "system", "messages")


def prompt_bar(row: Row, verdict: Verdict, earlier: Row | None, width: int) -> list[list[Piece]]:
    """The bar of a row, with that of the request it is compared with on the same scale under it.

    Empty where the log tells no sizes.
    """
    usage, prompt = row.usage, row.request.prompt
    total = usage.total_input or (prompt.tokens if prompt is not None else 0)
    room = width - LABEL
    if not total or room < NARROWEST:
        return []
    old = earlier.request.prompt if earlier is not None else None
    old_total = (earlier.usage.total_input or (old.tokens if old is not None else 0)) if earlier is not None else 0
    scale = _Scale(max(total, old_total), room)
    lines: list[list[Piece]] = []
    if prompt is not None and len(prompt):
        lines.append([" " * LABEL, (_sections(prompt, scale), Ink.FAINT)])
    lines.append([f"{'now':<{LABEL}}", *_parts(row, total, scale)])
    below = _below(row, verdict, prompt, scale)
    if below:
        lines.append([" " * LABEL, *below])
    if old_total:
        lines.append([f"{'was':<{LABEL}}", *_earlier(prompt, old, old_total, scale)])
    lines.append([" " * LABEL, *_legend(row, verdict, prompt, old_total, room)])
    return lines


class _Scale:
    """Tokens to cells."""

    def __init__(self, tokens: int, cells: int) -> None:
        self.tokens = tokens
        self.cells = cells

    def at(self, tokens: int) -> int:
        """The cell where a position in the prompt falls."""
        return min((tokens * self.cells + self.tokens // 2) // self.tokens, self.cells)


def _parts(row: Row, total: int, scale: _Scale) -> list[Piece]:
    usage = row.usage
    known = ((usage.read, READ, Ink.READ), (usage.write, WRITTEN, Ink.WRITTEN), (usage.fresh, FRESH, Ink.FRESH))
    if usage.total_input is None:
        return [(UNKNOWN * scale.at(total), Ink.FAINT)]
    pieces: list[Piece] = []
    done = drawn = 0
    end = max(scale.at(total), 1)
    for tokens, glyph, ink in known:
        if not tokens:
            continue
        done += tokens
        # A part shows when it is a hundredth of the prompt, even where it would round to nothing.
        upto = max(scale.at(done), drawn + (1 if tokens * 100 >= total else 0))
        upto = min(upto, end)
        pieces.append((glyph * (upto - drawn), ink))
        drawn = upto
    return pieces


def _sections(prompt: Prompt, scale: _Scale) -> str:
    cells = [" "] * scale.cells
    start = 0
    for section in SECTIONS:
        end = prompt.section_end(section)
        if end == start:
            continue
        tokens = prompt.tokens_until(end) - prompt.tokens_until(start)
        left, right = scale.at(prompt.tokens_until(start)), scale.at(prompt.tokens_until(end))
        for label in (f"{section} {figures.count(tokens)}", section, section[:1]):
            if len(label) + 1 < right - left or (section == "messages" and left + len(label) < scale.cells):
                _write(cells, left, "┌" + label)
                break
        else:
            _write(cells, left, "┌")
        start = end
    return "".join(cells).rstrip()


def _below(row: Row, verdict: Verdict, prompt: Prompt | None, scale: _Scale) -> list[Piece]:
    """Ticks where blocks begin, markers, and the place where the prompts part."""
    cells = [" "] * scale.cells
    inks = [Ink.FAINT] * len(cells)
    parting = parting_at(row, verdict)
    if prompt is not None:
        last = -2
        for position in range(1, len(prompt)):
            cell = scale.at(prompt.tokens_until(position))
            if last + 1 < cell < scale.cells:
                cells[cell] = TICK
                last = cell
        for marker in prompt.breakpoints:
            cell = max(scale.at(prompt.tokens_until(marker.position + 1)) - 1, 0)
            label = MARKER + figures.span(marker.ttl * SECOND).replace("m 00s", "m").replace("h 00m", "h")
            label = label.replace("300 s", "5m")
            hides = parting is not None and cell <= scale.at(parting) < cell + len(label)
            text = MARKER if hides or len(label) > scale.cells - cell else label
            _write(cells, cell, text)
            for place in range(cell, min(cell + len(text), len(inks))):
                inks[place] = Ink.STRONG
    if parting is not None:
        cell = min(scale.at(parting), scale.cells - 1)
        cells[cell], inks[cell] = PARTING, Ink.BAD
    if not "".join(cells).strip():
        return []
    return [
        ("".join(cells[i] for i in places), ink)
        for ink, places in ((ink, list(group)) for ink, group in groupby(range(len(cells)), key=lambda i: inks[i]))
    ]


def parting_at(row: Row, verdict: Verdict) -> int | None:
    """The token of a prompt where the reuse ended though more could have been reused."""
    place, prompt = verdict.place, row.request.prompt
    if place is not None and place.block is not None and prompt is not None and place.block <= len(prompt):
        return prompt.tokens_until(place.block)
    if verdict.kind == "miss" and row.usage.read is not None:
        return row.usage.read
    return None


def _earlier(prompt: Prompt | None, old: Prompt | None, old_total: int, scale: _Scale) -> list[Piece]:
    end = max(scale.at(old_total), 1)
    if prompt is None or old is None:
        return [(UNKNOWN * end, Ink.FAINT)]
    common = old.common_length(prompt)
    same = scale.at(old.tokens_until(common))
    if common == len(old):
        same = end
    return [(SAME * same, Ink.READ), (OTHER * (end - same), Ink.BAD)]


def _legend(row: Row, verdict: Verdict, prompt: Prompt | None, old_total: int, room: int) -> list[Piece]:
    usage = row.usage
    entries: list[tuple[str, str, Ink]] = [
        (READ, f"read {figures.count(usage.read)}", Ink.READ),
        (WRITTEN, f"written {figures.count(usage.write)}", Ink.WRITTEN),
        (FRESH, f"fresh {figures.count(usage.fresh)}", Ink.FRESH),
    ]
    if prompt is not None and prompt.breakpoints:
        entries.append((MARKER, "marker", Ink.STRONG))
    if parting_at(row, verdict) is not None:
        entries.append((PARTING, "first difference" if verdict.place is not None else "reuse ended", Ink.BAD))
    if old_total and prompt is not None:
        entries.append((SAME, "as before", Ink.READ))
        entries.append((OTHER, "lost", Ink.BAD))
    pieces: list[Piece] = []
    used = 0
    for glyph, words, ink in entries:
        if used + len(words) + 4 > room:
            break
        pieces += [(glyph, ink), (f" {words}  ", Ink.FAINT)]
        used += len(words) + 4
    return pieces


def _write(cells: list[str], left: int, text: str) -> None:
    for offset, character in enumerate(text):
        if left + offset < len(cells):
            cells[left + offset] = character
