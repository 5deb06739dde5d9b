"""What each prompt of a session grew by, where the format of its log is one whose words are read."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from agentsim.core.additions import SinceParent
from agentsim.core.session import Session

READ: Mapping[str, str] = MappingProxyType(
    {
        "claude-code": "claude_words",
        "codex": "codex_words",
        "pi": "pi_words",
        "opencode": "opencode_words",
    }
)
"""Formats whose words are read, each with its module."""


def growths_of(session: Session, content: bool = False) -> dict[str, SinceParent]:
    """By request what its prompt grew by; empty where the log's words are not read. ``content``: with first words.

    Raises OSError when a file of the session cannot be read again.
    """
    module = READ.get(session.format)
    if module is None:
        return {}
    found: dict[str, SinceParent] = import_module(f"agentsim.traces.words.{module}").growths(session, content)
    return found
