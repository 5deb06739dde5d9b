"""How harnesses ask for a summary: in the conversation itself, whose warm prefix is read, or in one of its own."""

from __future__ import annotations

from agentsim.outlook.cache_state import TokenRange

SUMMARY_TOKENS = TokenRange(3_000, 800, 20_000)
"""What stands in the place of a history, where a session shows no summary yet: seen were 800 to 20,000 tokens."""

_REUSES: dict[str, bool] = {
    # Its documentation of 2026-08, and the wire of 2.1.332: all blocks of the conversation, with other beta headers.
    "claude-code": True,
    "pi": False,  # its documentation, 1.6.0: a request of its own with the transcript as text
    "codex": False,  # its source, 2026: no tools in the request for a summary
    "opencode": False,  # its source, 2026: another system prompt and no tools
}


def reuses_prefix(harness: str | None) -> bool | None:
    """Whether the request for a summary begins with the conversation's prompt; ``None``: not known."""
    return _REUSES.get(harness or "")
