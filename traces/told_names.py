"""Names that a log tells in passing: of tools that answered, of hooks and skills, of the mode and the folder.

They stand in front of losses and may be leads. None of them decides a verdict, so that a log in which they are not what
they should be is read all the same: such a name is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from agentsim.core.session import EventKind

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 :._-]{0,63}")
_MOST_NAMES = 4
_MOST_BYTES = 8_192
_text = msgspec.json.Decoder(str).decode

INSTRUCTIONS = frozenset(
    {"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md", "QWEN.md", "MEMORY.md"}
)
"""Files whose text harnesses put into the front of a prompt."""


def told_text(raw: msgspec.Raw) -> str | None:
    """A text that is to be compared and not shown; ``None`` for anything else."""
    if not raw or len(bytes(raw)) > _MOST_BYTES:
        return None
    try:
        return _text(raw) or None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def told_name(raw: msgspec.Raw) -> str | None:
    """A short name; ``None`` for whatever is none."""
    text = told_text(raw)
    return text if text is not None and _NAME.fullmatch(text) else None


def listed_names(names: Iterable[str | None]) -> str | None:
    """Names as the detail of an event, each once, in the order of the alphabet; ``None`` where there are none."""
    known = sorted({name for name in names if name is not None})
    return ", ".join(known[:_MOST_NAMES]) + (", …" if len(known) > _MOST_NAMES else "") if known else None


def instruction_file(raw: msgspec.Raw) -> str | None:
    """The name of a file of instructions, without its folder; ``None`` for other files."""
    text = told_text(raw)
    name = text.replace("\\", "/").rsplit("/", 1)[-1] if text is not None else None
    return name if name in INSTRUCTIONS else None


class WorkingState:
    """The mode and the folder that a harness works in, as a lane's log tells them one after the other."""

    __slots__ = ("folder", "mode")

    def __init__(self) -> None:
        self.mode: str | None = None
        self.folder: str | None = None

    def change_to(self, mode: str | None, folder: str | None) -> list[tuple[EventKind, str | None]]:
        """What changed, as kinds of events and their details. What is not told stays as it was, and the first that is
        told is no change. The name of a folder is no detail: it may say what nobody is to know."""
        changes: list[tuple[EventKind, str | None]] = []
        if mode is not None:
            if self.mode not in (None, mode):
                known = [name if _NAME.fullmatch(name) else "another" for name in (self.mode or "", mode)]
                changes.append(("mode_change", " -> ".join(known)))
            self.mode = mode
        if folder is not None:
            if self.folder not in (None, folder):
                changes.append(("folder_change", None))
            self.folder = folder
        return changes
