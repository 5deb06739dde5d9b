"""On which line each key of a TOML document stands. The standard reader keeps no lines, and errors must name them."""

from __future__ import annotations

import tomllib

Path = tuple[str | int, ...]
"""Keys from the top, and indices into arrays: ``("budget", 0, "max-cost")``."""

_SPACE = " \t"
_END_OF_WORD = "=.]}#, \t\r\n"


def key_lines(text: str) -> dict[Path, int]:
    """The line, from 1, of each key and each item of a document that :mod:`tomllib` accepts."""
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


def line_of(lines: dict[Path, int], path: Path) -> int | None:
    """The line of a key, or of the nearest one above it that is in the document."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


class _Scanner:
    """Reads a document once, front to back. Mutable."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._arrays: dict[Path, int] = {}
        self.lines: dict[Path, int] = {}

    def document(self) -> None:
        table: Path = ()
        while self._skip(_SPACE + "\r\n"):
            if self._text.startswith("[[", self._at):
                self._move(2)
                table = self._array_table(self._key())
                self._skip_to_line_end()
            elif self._here() == "[":
                self._move(1)
                table = self._resolve(self._key())
                self._skip_to_line_end()
            else:
                self._pair(table)

    def _pair(self, table: Path) -> None:
        line = self._line
        path = table
        for part in self._key():
            path += (part,)
            self.lines.setdefault(path, line)
        self._skip(_SPACE)
        self._move(1)  # the equals sign
        self._value(path)

    def _array_table(self, parts: list[str]) -> Path:
        parent = self._resolve(parts[:-1]) if len(parts) > 1 else ()
        path = (*parent, parts[-1])
        index = self._arrays.get(path, 0)
        self._arrays[path] = index + 1
        self.lines.setdefault(path, self._line)
        self.lines[(*path, index)] = self._line
        return (*path, index)

    def _resolve(self, parts: list[str]) -> Path:
        """The path of a table's header: through an array of tables it means the last one."""
        path: Path = ()
        for part in parts:
            path += (part,)
            self.lines.setdefault(path, self._line)
            if path in self._arrays:
                path += (self._arrays[path] - 1,)
        return path

    def _value(self, path: Path) -> None:
        self._skip(_SPACE)
        character = self._here()
        if character == "[":
            self._items(path, "]")
        elif character == "{":
            self._items(path, "}")
        elif character in "\"'":
            self._string()
        else:
            while self._here() not in ",]}#\r\n":
                self._move(1)

    def _items(self, path: Path, close: str) -> None:
        self._move(1)
        index = 0
        while True:
            self._skip(_SPACE + "\r\n,")
            if self._here() in ("", close):
                self._move(1)
                return
            if close == "}":
                self._pair(path)
            else:
                self.lines[(*path, index)] = self._line
                self._value((*path, index))
                index += 1

    def _key(self) -> list[str]:
        parts: list[str] = []
        while True:
            self._skip(_SPACE)
            start = self._at
            if self._here() in ("'", '"'):
                self._string()
                parts.append(tomllib.loads("k = " + self._text[start : self._at])["k"])
            else:
                while self._here() not in _END_OF_WORD:
                    self._move(1)
                parts.append(self._text[start : self._at])
            self._skip(_SPACE)
            if self._here() != ".":
                return parts
            self._move(1)

    def _string(self) -> None:
        quote = self._here()
        fence = quote * 3 if self._text.startswith(quote * 3, self._at) else quote
        self._move(len(fence))
        while self._here() and not self._text.startswith(fence, self._at):
            self._move(2 if self._here() == "\\" and quote == '"' else 1)
        self._move(len(fence))
        if len(fence) == 3:
            while self._here() == quote:  # up to two quotes may stand before the closing ones
                self._move(1)

    def _skip(self, characters: str) -> bool:
        """Pass over these characters and, where they include line ends, over comments; False at the end of the text."""
        while self._at < len(self._text):
            character = self._here()
            if character == "#" and "\n" in characters:
                self._skip_to_line_end()
            elif character in characters:
                self._move(1)
            else:
                return True
        return False

    def _skip_to_line_end(self) -> None:
        while self._here() not in ("", "\n"):
            self._move(1)

    def _here(self) -> str:
        return self._text[self._at : self._at + 1]

    def _move(self, count: int) -> None:
        self._line += self._text.count("\n", self._at, self._at + count)
        self._at += count
