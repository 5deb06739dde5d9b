"""The words for colours, and the one way outside text gets onto a screen.

A piece of text is a string or a pair of a string and an :class:`Ink`. It becomes a ``Content`` or a ``Strip`` here and
nowhere else, cleaned on the way, so that no screen can forget to; neither is ever parsed as markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from agentsim.report.clean import clean, display_width


class Ink(Enum):
    """What a piece of text is. A colour only ever repeats what words or glyphs say."""

    PLAIN = "plain"
    STRONG = "strong"
    FAINT = "faint"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    NAME = "name"
    READ = "read"
    WRITTEN = "written"
    FRESH = "fresh"
    FOUND = "found"
    """Text that a search has found."""


Piece = str | tuple[str, Ink]

STYLES: dict[Ink, str] = {
    Ink.PLAIN: "",
    Ink.STRONG: "bold",
    Ink.FAINT: "$faint",
    Ink.GOOD: "$good",
    Ink.WARN: "$warn",
    Ink.BAD: "bold $bad",
    Ink.NAME: "$name",
    Ink.READ: "$read",
    Ink.WRITTEN: "$written",
    Ink.FRESH: "$fresh",
    Ink.FOUND: "reverse",
}
"""Each ink as Textual writes styles."""

INK_CLASSES = frozenset(f"ink--{ink.value}" for ink in Ink)
"""Component classes of a widget that draws strips."""

INK_CSS = "\n".join(
    f"& > .ink--{ink.value} {{ {rule} }}"
    for ink, rule in {
        Ink.PLAIN: "",
        Ink.STRONG: "text-style: bold;",
        Ink.FAINT: "color: $faint;",
        Ink.GOOD: "color: $good;",
        Ink.WARN: "color: $warn;",
        Ink.BAD: "color: $bad; text-style: bold;",
        Ink.NAME: "color: $name;",
        Ink.READ: "color: $read;",
        Ink.WRITTEN: "color: $written;",
        Ink.FRESH: "color: $fresh;",
        Ink.FOUND: "text-style: reverse;",
    }.items()
)
"""The same as rules for component classes, to stand inside the rules of a widget."""

MOST_CHARACTERS = 4096
"""A single piece of text is cut here before it is cleaned: no screen shows more, and a log may hold a megabyte."""


def safe(text: str, width: int | None = None) -> str:
    """Outside text as it may be shown: cleaned, and cut to so many cells."""
    limit = MOST_CHARACTERS if width is None else min(MOST_CHARACTERS, 4 * width + 16)
    if len(text) > limit:
        text = text[:limit] + "…"
    return clean(text, width)


def parts(piece: Piece) -> tuple[str, Ink]:
    """The text of a piece and its ink."""
    return (piece, Ink.PLAIN) if isinstance(piece, str) else piece


def content(*pieces: Piece) -> Content:
    """One line of text for a widget that wraps it."""
    return Content.assemble(*((safe(text), STYLES[ink]) for text, ink in map(parts, pieces)))


def lines(rows: Iterable[Sequence[Piece]]) -> Content:
    """Several lines of text."""
    return Content("\n").join(content(*row) for row in rows)


def fit(text: str, width: int, align: str = "<") -> str:
    """Text cleaned, cut and padded to exactly so many cells."""
    text = safe(text, width)
    padding = " " * (width - display_width(text))
    return padding + text if align == ">" else text + padding


def strip(segments: Sequence[Segment], width: int, style: Style) -> Strip:
    """A line of a widget: cut or padded to its width. The segments' text must have gone through :func:`fit`."""
    return Strip(segments).adjust_cell_length(width, style)


def wrap(line: Sequence[Piece], width: int, hang: int = 2) -> list[list[Piece]]:
    """A line broken between words into lines of at most ``width`` cells; those after the first are indented."""
    cleaned = [(safe(text), ink) for text, ink in map(parts, line)]
    if sum(display_width(text) for text, _ in cleaned) <= width:
        return [list(cleaned)]
    indent = " " * min(hang, max(width - 8, 0))
    wrapped: list[list[Piece]] = []
    current: list[Piece] = []
    used = 0
    for text, ink in cleaned:
        for word in _WORDS.findall(text):
            size = display_width(word)
            if used + display_width(word.rstrip(" ")) > width and used > len(indent):
                wrapped.append(current)
                current, used = [indent], len(indent)
                word = word.lstrip(" ")
                size = display_width(word)
            while used + display_width(word.rstrip(" ")) > width:
                head = _head(word, width - used)
                wrapped.append([*current, (head, ink)])
                word = word[len(head) :]
                current, used, size = [indent], len(indent), display_width(word)
            current.append((word, ink))
            used += size
    if current:
        wrapped.append(current)
    return wrapped


_WORDS = re.compile(r"\S+ *| +")


def _head(word: str, width: int) -> str:
    used = 0
    for index, character in enumerate(word):
        used += display_width(character)
        if used > width:
            return word[: max(index, 1)]
    return word


def wrapped(rows: Iterable[Sequence[Piece]], width: int, hang: int = 2) -> Content:
    """Lines of text, each wrapped with an indent."""
    return lines(piece for row in rows for piece in wrap(row, width, hang))
