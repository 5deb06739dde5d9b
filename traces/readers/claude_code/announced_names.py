"""Which tools and servers an attachment of Claude Code announces, in a few words."""

from __future__ import annotations

import re

import msgspec

from agentsim.traces.readers.claude_code.claude_lines import Attachment
from agentsim.traces.told_names import instruction_file, told_name

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,47}")
_MOST_NAMES = 3
_strings = msgspec.json.Decoder(list[str]).decode


def announced(attachment: Attachment | None) -> str | None:
    """What came and what went: ``context7 came; search (2 tools) went``; ``None`` where no names are told."""
    if attachment is None:
        return None
    if attachment.type == "hook_additional_context":
        return told_name(attachment.hookEvent)
    if attachment.type == "nested_memory":
        return instruction_file(attachment.path)
    parts = [
        f"{names} {word}"
        for raw, word in ((attachment.addedNames, "came"), (attachment.removedNames, "went"))
        if (names := _names(raw))
    ]
    return "; ".join(parts) or None


def _names(raw: msgspec.Raw) -> str:
    if not raw:
        return ""
    try:
        names = _strings(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    servers: dict[str, int] = {}
    for name in names:
        # A tool of a server is called mcp__SERVER__TOOL.
        parts = name.split("__")
        short = parts[1] if len(parts) > 2 and parts[0] == "mcp" else name
        if _NAME.fullmatch(short):
            servers[short] = servers.get(short, 0) + 1
    told = [name if count == 1 else f"{name} ({count} tools)" for name, count in servers.items()]
    more = len(told) - _MOST_NAMES
    return ", ".join(told[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
