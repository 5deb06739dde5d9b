"""Rollouts of the Codex CLI: one file for each thread, also as TraeX and others write them.

Usage convention: ``input_tokens`` includes what was read from and written to a cache, ``output_tokens`` includes
reasoning (checked: what is left of the input is not negative). A missing write counter is unknown, a 0 is a 0.

One call is one ``token_count`` event with a total that differs from the one before, or one ``token_usage_record``,
which newer versions write beside it and which is preferred. A call's reply ends with its last item: the event itself
comes only after the tools of that reply have run. Forks and subagents begin with a copy of their parent's calls: they
are kept as context and not counted. System text and messages are in the log, tool definitions are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agentsim.core.session import Problem, Session

if TYPE_CHECKING:
    from agentsim.traces.readers.codex.codex_rollout import GrowingRollouts

NAME = "codex"
DESCRIPTION = "Codex CLI rollouts (~/.codex/sessions/**/rollout-*.jsonl)"
VERIFIED = True


def detect(head: bytes, path: str) -> bool:
    """Whether the beginning of a file looks like a rollout."""
    if b'"payload"' not in head:
        return False
    marks = (b'"session_meta"', b'"turn_context"', b'"token_count"', b'"response_item"', b'"token_usage_record"')
    return any(mark in head for mark in marks)


def read_sessions(
    paths: Sequence[str], problems: list[Problem] | None = None, growing: GrowingRollouts | None = None
) -> Iterator[Session]:
    """The sessions of these files, each call counted once over all of them.

    Subagents become lanes of the session that started them, when its file is among these. What is wrong with a file is
    told in ``problems``; without that list OSError is raised for it. With ``growing``, handed over again and again,
    only what was appended is read the next time.
    """
    from agentsim.traces.hostile_records import tell_or_raise
    from agentsim.traces.readers.codex.codex_rollout import Rollout, read_rollout
    from agentsim.traces.readers.codex.codex_session import sessions_of

    rollouts: list[Rollout] = []
    for path in paths:
        try:
            rollouts.append(read_rollout(path) if growing is None else growing.rollout(path))
        except OSError as error:
            tell_or_raise(error, path, problems)
    yield from sessions_of(rollouts, problems)
