"""Pieces of a prompt from decoded JSON, as harnesses write it: texts, images, calls, results."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

from agentsim.core.additions import PREVIEW, Addition, AdditionKind
from agentsim.core.tokens import estimate_quickly, scale

IMAGE_TOKENS = 1600
"""What an image counts whose size is not known: the most that one at the usual limit of resolution takes."""

_READS = frozenset({"read", "read_file", "view", "notebookread", "readfile"})
"""Tools whose result is a file."""
_PATHS = ("file_path", "filePath", "path", "notebook_path", "filename")
_DEEPEST = 20
_LONGEST_ENDING = 8


class PieceMaker:
    """Makes pieces for one log. ``content``: their first words are kept."""

    def __init__(self, content: bool = False) -> None:
        self._content = content
        self.model: str | None = None
        self._calls: dict[str, tuple[str, str | None]] = {}

    def text(self, kind: AdditionKind, text: str, **more: Any) -> Addition:
        """A piece of text."""
        return Addition(
            kind=kind,
            tokens=scale(estimate_quickly(text), self.model),
            characters=len(text),
            words=text[:PREVIEW] if self._content and text else None,
            **more,
        )

    def file(self, path: str | None, text: str, line: int | None, **more: Any) -> Addition:
        """A file in a prompt. Its path is a person's own word: without ``content`` only its ending is kept."""
        if path is not None and not self._content:
            _, dot, ending = path.rpartition(".")
            path = f"*.{ending}" if dot and ending.isalnum() and len(ending) <= _LONGEST_ENDING else "*"
        return self.text("file", text, detail=path, line=line, **more)

    def thinking(self, text: str, line: int | None) -> Addition:
        """The model's thinking, which may be sealed or summed up: its text does not tell its size."""
        made = self.text("thinking", text, line=line, replied=True)
        return Addition(kind="thinking", tokens=None, line=line, replied=True, words=made.words)

    def image(self, data: str | None, line: int | None, **more: Any) -> Addition:
        """An image; a PNG tells its size at its beginning."""
        return Addition(kind="image", tokens=_image_tokens(data), line=line, **more)

    def call(self, name: str, id: str | None, given: object, line: int | None) -> Addition:
        """A call of a tool that the model wrote."""
        path = None
        if isinstance(given, Mapping):
            path = next((given[key] for key in _PATHS if isinstance(given.get(key), str)), None)
        if id is not None:
            self._calls[id] = (name, path)
        text = given if isinstance(given, str) else "".join(strings(given))
        return self.text("call", name + text, name=name, call=id, line=line, replied=True)

    def result(self, id: str | None, content: object, line: int | None, name: str | None = None) -> list[Addition]:
        """What a tool returned, and the images in it."""
        known, path = self._calls.get(id or "", (name or "unknown tool", None))
        tool = name or known
        reads = tool.lower() in _READS and path is not None
        found: list[Addition] = []
        texts: list[str] = []
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, Mapping) and part.get("type") in ("image", "input_image"):
                found.append(self.image(_data_of(part), line, name=tool, call=id))
            else:
                texts.extend(strings(part))
        said = "".join(texts)
        if reads:
            return [self.file(path, said, line, name=tool, call=id), *found]
        return [self.text("result", said, name=tool, call=id, line=line), *found]


def strings(value: object, keys: Iterable[str] | None = None, depth: int = 0) -> Iterable[str]:
    """The texts in a decoded value; of objects only those under ``keys``, where they are given."""
    if isinstance(value, str):
        yield value
    elif depth < _DEEPEST and isinstance(value, list):
        for item in value:
            yield from strings(item, keys, depth + 1)
    elif depth < _DEEPEST and isinstance(value, Mapping):
        for key, item in value.items():
            if key != "type" if keys is None else key in keys:
                yield from strings(item, keys, depth + 1)


def _data_of(part: Mapping[str, Any]) -> str | None:
    source = part.get("source")
    data = source.get("data") if isinstance(source, Mapping) else part.get("data") or part.get("image_url")
    return data if isinstance(data, str) else None


def _image_tokens(data: str | None) -> int:
    """A token for 750 pixels, after the image was made to fit 1,568 of them (Anthropic's documentation of vision)."""
    if data is None:
        return IMAGE_TOKENS
    _, _, behind = data.rpartition("base64,")
    try:
        head = b64decode(behind[:44])
    except ValueError:
        return IMAGE_TOKENS
    if head[1:4] != b"PNG" or len(head) < 24:
        return IMAGE_TOKENS
    width, height = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    longest = max(width, height, 1)
    if longest > 1568:
        width, height = width * 1568 // longest, height * 1568 // longest
    return max(1, min(width * height // 750, IMAGE_TOKENS))
