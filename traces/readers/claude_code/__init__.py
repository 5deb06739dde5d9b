"""Session logs of Claude Code, in all of their layouts.

Subagents stand in the main file (old), in files beside it, or in a folder of their own (new); their lines may stand in
two places. Forks and resumes copy the history they start from. Every request is counted once. The logs hold the
messages, but neither the system prompt nor tools, and no breakpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsim.core.session import Problem, Session

if TYPE_CHECKING:
    from agentsim.traces.readers.claude_code.claude_growing import GrowingClaudeLogs

NAME = "claude-code"
DESCRIPTION = "Claude Code session logs (~/.claude/projects/**/*.jsonl)"
VERIFIED = True


def detect(head: bytes, path: str) -> bool:
    """Whether the beginning of a file looks like a Claude Code log."""
    marks = (b'"isSidechain"', b'"leafUuid"', b'"file-history-snapshot"', b'"queue-operation"', b'"custom-title"')
    if any(mark in head for mark in marks):
        return True
    # Qwen Code writes a tree of the same field names, but its messages have parts instead of content.
    return b'"parentUuid"' in head and b'"sessionId"' in head and b'"parts"' not in head


def read_sessions(
    paths: Sequence[str], problems: list[Problem] | None = None, growing: GrowingClaudeLogs | None = None
) -> list[Session]:
    """All sessions in the given files and folders, each request counted once over all of them.

    Files that cannot be read are told in ``problems``; raises OSError for them when no list is given. With ``growing``,
    handed over again and again, only what was appended is read the next time.
    """
    from agentsim.traces.readers.claude_code.claude_files import find_logs, look_at
    from agentsim.traces.readers.claude_code.claude_session import sessions_of

    found: list[Problem] = []
    files = []
    for path in find_logs(paths, found):
        try:
            files.append(look_at(path))
        except OSError as error:
            found.append(
                Problem(
                    file=path, line=0, reason=error.strerror or str(error), remedy="check that it is a readable file"
                )
            )
    sessions = sessions_of(files, found, growing)
    if problems is not None:
        problems += found
    elif found:
        raise OSError(f"{found[0].file}: {found[0].reason}; {found[0].remedy}")
    return sessions
