"""What a log shows of what a prompt was made of: the pieces that were added since the prompt it grew from.

Session logs hold messages and no prompts. A reader of their words tells for each request what came since its parent:
results, files, texts, a summary in place of all before it. Sizes are estimates; the request's counters correct them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

AdditionKind = Literal[
    "rest",  # what the log does not hold: tools and system, where it has only messages
    "system",
    "tools",
    "harness",  # what the harness slipped in: reminders, instructions, lists
    "user",
    "file",  # a file that was read or attached; ``detail`` is its path, of which only the ending is kept without words
    "result",  # what a tool returned; ``name`` is the tool
    "image",
    "summary",
    "text",  # what the model said
    "call",  # what the model wrote to call a tool
    "thinking",
]
"""What a piece of a prompt is."""

KINDS: tuple[AdditionKind, ...] = (
    "rest",
    "system",
    "tools",
    "harness",
    "user",
    "file",
    "result",
    "image",
    "summary",
    "text",
    "call",
    "thinking",
)
"""Every kind, in the order of a prompt."""

PREVIEW = 120
"""Characters of a piece that are kept where its words are asked for."""


class Addition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One piece. ``tokens`` is an estimate, or ``None`` where nothing tells its size (sealed thinking).

    ``characters`` are those of its text. ``call`` is the id of the call that it belongs to. ``replied``: it is part of
    the parent's answer, whose tokens were counted. ``words`` are its first characters, where they were asked for.
    """

    kind: AdditionKind
    tokens: int | None
    name: str | None = None
    detail: str | None = None
    characters: int = 0
    line: int | None = None
    call: str | None = None
    replied: bool = False
    words: str | None = None


class SinceParent(msgspec.Struct, frozen=True, kw_only=True):
    """What came to a prompt since the one it grew from.

    ``anew``: all that was said before was replaced. ``cleared`` are the calls whose results were taken out.
    """

    additions: tuple[Addition, ...] = ()
    anew: bool = False
    cleared: frozenset[str] = frozenset()


def server_of(tool: str | None) -> str | None:
    """The MCP server of a tool, by the way harnesses name them (``mcp__server__tool``)."""
    parts = (tool or "").split("__")
    return parts[1] or None if len(parts) >= 3 and parts[0] == "mcp" else None
