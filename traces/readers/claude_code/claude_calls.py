"""Calls: the lines of a log that belong to one request, put together.

One request is several lines, one for each content block it returned, all with the same message id and request id. Input
counters repeat unchanged; the output count is a placeholder on early lines of newer versions and on all lines of older
ones. The line with the greatest output is kept whole.
"""

from __future__ import annotations

import msgspec

from agentsim.bodies.messages_usage import SentUsage


class ClaudeCall(msgspec.Struct, eq=False, gc=False):
    """One request as a log tells it. Filled while its file is being read, and only read afterwards.

    ``position`` and ``line`` say where its first line begins (byte offset and number) in file ``file`` of its unit;
    ``index`` is its place among the unit's calls. ``parent_uuid`` is the node its
    first line hangs on. ``lane`` is the agent id of a subagent, ``"sidechain"`` where old versions do not tell which,
    and ``""`` for the main conversation. ``agent_copy`` marks a subagent's call that a ``progress`` record carried.
    Counters that the log lacks count 0 in ``read`` to ``warm``; ``output`` is -1 then.
    """

    key: tuple[str, str]
    lane: str
    file: int
    position: int
    line: int
    index: int
    uuid: str | None
    parent_uuid: str | None
    version: str | None
    effort: str | None
    agent_copy: bool
    model: str = ""
    end: str | None = None
    stop_reason: str | None = None
    diagnostics: bytes = b""
    usage: SentUsage = SentUsage()
    read: int = 0
    write: int = 0
    total: int = 0
    warm: int = 0
    output: int = -1

    def take(self, model: str, usage: SentUsage, output: int) -> None:
        """Keep this line's model and counters: it is the line with the greatest output so far."""
        self.model = model
        self.usage = usage
        self.output = output
        write = usage.cache_creation_input_tokens
        if write is None:
            split = usage.cache_creation
            write = 0
            if split is not None:
                write = (split.ephemeral_5m_input_tokens or 0) + (split.ephemeral_1h_input_tokens or 0)
        self.write = write
        self.read = read = usage.cache_read_input_tokens or 0
        self.warm = warm = read + write
        self.total = warm + (usage.input_tokens or 0)

    @property
    def measured(self) -> bool:
        """False when the log reports no cache counters at all, or only zeros: that is "not measured", not a miss."""
        usage = self.usage
        reported = (
            usage.cache_creation_input_tokens is not None
            or usage.cache_read_input_tokens is not None
            or usage.cache_creation is not None
        )
        return reported and self.total > 0
