"""The one function that makes text from outside safe to print.

Logs, file names, ids, model names and tool names come from elsewhere, and a terminal obeys what it is sent: it writes
to the clipboard (OSC 52), clears the screen, renames its window, reverses text. Nothing a log says may do so. Every
character that could is replaced by something a person can see; nothing disappears silently.
"""

from __future__ import annotations

from unicodedata import category, east_asian_width

from agentsim.report.piped_names import PIPES, with_pipes_named

MAX_MARKS = 2
"""Combining marks kept on one character. Living scripts need two; a flood of them paints over neighbouring lines."""

ELLIPSIS = "…"

_INVISIBLE = frozenset(
    [
        0x034F,  # combining grapheme joiner
        *range(0x115F, 0x1161),  # Hangul fillers: letters by category, and empty
        *range(0x17B4, 0x17B6),
        *range(0x180B, 0x1810),
        0x2800,  # Braille pattern without dots
        0x3164,
        *range(0xFE00, 0xFE10),  # variation selectors
        0xFFA0,
        *range(0xE0100, 0xE01F0),
    ]
)
"""Characters that Python calls printable although they show nothing."""


def clean(text: str, width: int | None = None) -> str:
    """The text with everything that a terminal would obey, or hide, replaced by visible symbols.

    C0 controls and DEL become their control pictures (``␛``, ``␊``), tabs and other spaces one space; C1 controls,
    direction and zero-width controls, line and paragraph separators, lone surrogates, private and unassigned characters
    become their number, ``⟨202E⟩``. With ``width`` the result takes at most so many terminal cells and ends in ``…``
    where something was cut off. The result holds no newline. Nothing is parsed: ``[bold]`` stays ``[bold]``.
    """
    if PIPES:
        text = with_pipes_named(text)
    if text.isascii() and text.isprintable():
        if width is None or len(text) <= width:
            return text
        return text[: width - 1] + ELLIPSIS if width > 0 else ""
    return _clean_slowly(text, width)


def display_width(text: str) -> int:
    """How many terminal cells a clean text takes: wide characters two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def _clean_slowly(text: str, width: int | None) -> str:
    shown: list[str] = []
    cells: list[int] = []
    marks = 0
    used = 0
    for character in text:
        if character.isascii() and character.isprintable():
            symbol, marks = character, 0
        else:
            symbol, marks = _symbol(character, marks)
        taken = display_width(symbol)
        if width is not None and used + taken > width:
            return _with_ellipsis(shown, cells, used, width)
        shown.append(symbol)
        cells.append(taken)
        used += taken
    return "".join(shown)


def _with_ellipsis(shown: list[str], cells: list[int], used: int, width: int) -> str:
    while shown and used + 1 > width:
        shown.pop()
        used -= cells.pop()
    return "".join(shown) + ELLIPSIS if width > 0 else ""


def _symbol(character: str, marks: int) -> tuple[str, int]:
    """What stands for a character, and how many combining marks are on the present base by now."""
    number = ord(character)
    if character == "\t":
        return " ", 0
    if number < 0x20:
        return chr(0x2400 + number), 0
    if number == 0x7F:
        return "␡", 0
    kind = category(character)
    if kind == "Zs":
        return " ", 0
    if not character.isprintable() or number in _INVISIBLE:
        return f"⟨{number:04X}⟩", 0
    if kind in ("Mn", "Me"):
        if marks == MAX_MARKS:
            return f"⟨{number:04X}⟩", marks
        return character, marks + 1
    return character, 0


def _cells(character: str) -> int:
    if character.isascii():
        return 1
    if category(character) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
