"""What reports are written on: lines of styled text, a stream, a width.

The paper is the sink. Each piece of text is cleaned here, whatever it is and wherever it came from, so that no report
can forget to; styles are values beside the text and never codes inside it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import TextIO

from agentsim.report.clean import clean, display_width

FALLBACK_WIDTH = 100
"""Columns when nobody says how wide the screen is (a pipe, a file)."""

NARROWEST = 40


class Style(Enum):
    """What a piece of text is. A style only ever repeats what the words say."""

    PLAIN = ""
    STRONG = "1"
    FAINT = "2"
    GOOD = "32"
    WARN = "33"
    BAD = "1;31"
    NAME = "36"


Span = str | tuple[str, Style]
"""A piece of a line: text, or text and its style."""

_ASCII_GLYPHS = str.maketrans(
    {"│": "|", "─": "-", "·": "-", "–": "-", "█": "#", "▒": "+", "░": ".", "…": "~", "×": "x", "≥": ">=", "→": ">"}
)


class Paper:
    """A stream to write a report on."""

    def __init__(self, stream: TextIO, *, width: int = FALLBACK_WIDTH, colour: bool = False) -> None:
        self.stream = stream
        self.width = max(width, NARROWEST)
        self.colour = colour
        encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").replace("_", "")
        self._ascii = not encoding.startswith("utf")

    @classmethod
    def on(cls, stream: TextIO) -> Paper:
        """The paper a stream offers: as wide as its terminal, with colour where that is wanted."""
        return cls(stream, width=_width_of(stream), colour=wants_colour(stream))

    def line(self, *spans: Span) -> None:
        """Write one line. Text is made safe; there is no way to write some that is not."""
        self.stream.write("".join(self._ink(span) for span in spans).rstrip(" ") + "\n")

    def paragraph(self, *spans: Span, first: Sequence[Span] = (), rest: Sequence[Span] = ()) -> None:
        """Write text wrapped to the width, each line after ``first`` (the first one) or ``rest`` (the others)."""
        room = self.width - max(span_width(first), span_width(rest))
        for number, pieces in enumerate(wrap(spans, max(room, 10))):
            self.line(*(rest if number else first), *pieces)

    def _ink(self, span: Span) -> str:
        text, style = span_parts(span)
        text = clean(text)
        if self._ascii:
            text = text.translate(_ASCII_GLYPHS)
        if not self.colour or style is Style.PLAIN or not text.strip(" "):
            return text
        return f"\x1b[{style.value}m{text}\x1b[0m"


def wants_colour(stream: TextIO) -> bool:
    """NO_COLOR forbids colour, FORCE_COLOR asks for it; else it is for terminals that are not dumb."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def span_parts(span: Span) -> tuple[str, Style]:
    """The text of a span and its style."""
    return (span, Style.PLAIN) if isinstance(span, str) else span


def span_width(spans: Sequence[Span]) -> int:
    """How many cells a line of spans takes."""
    return sum(display_width(clean(span_parts(span)[0])) for span in spans)


def wrap(spans: Sequence[Span], width: int) -> Iterator[list[Span]]:
    """Spans broken into lines of at most ``width`` cells, between words where possible. Words keep their styles."""
    line: list[Span] = []
    used = 0
    for word, style, glued in _words(spans):
        room = width - used - (0 if glued or not line else 1)
        if display_width(word) > room:
            if line:
                yield line
            line, used, glued = [], 0, True
            while display_width(word) > width:
                head = _head(word, width)
                yield [(head, style)]
                word = word[len(head) :]
        gap = "" if glued or not line else " "
        line.append((gap + word, style))
        used += len(gap) + display_width(word)
    if line:
        yield line


def _words(spans: Sequence[Span]) -> Iterator[tuple[str, Style, bool]]:
    """Words with their style; the third part says that no space stands before the word."""
    open_end = True
    for span in spans:
        text, style = span_parts(span)
        text = clean(text)
        glued = open_end and not text.startswith(" ")
        for word in text.split():
            yield word, style, glued
            glued = False
        if text:
            open_end = not text.endswith(" ")


def _head(word: str, width: int) -> str:
    used = 0
    for index, character in enumerate(word):
        used += display_width(character)
        if used > width:
            return word[: max(index, 1)]
    return word


def _width_of(stream: TextIO) -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdecimal() and 0 < len(columns) < 6:
        return int(columns)
    for known in (stream, sys.__stdout__):
        try:
            columns_of_terminal = os.get_terminal_size(known.fileno()).columns if known is not None else 0
        except (OSError, ValueError, AttributeError):
            continue
        if columns_of_terminal:
            return columns_of_terminal
    return FALLBACK_WIDTH
