"""Calls: the lines of a log that belong to one request, put together.

One request is several lines, one for each content block it returned, all with the same message id and request id. Input
counters repeat unchanged; the output count is a placeholder on early lines of newer versions and on all lines of older
ones. The line with the greatest output is kept whole.
"""

from __future__ import annotations

from agentsim.session import Usage
from traces.claude_code.lines import CacheCreation, Iteration, LoggedUsage


class Call:
    """One request as a log tells it. Mutable while its file is being read, and not afterwards.

    ``position`` and ``line`` say where its first line begins (byte offset and number) in file ``file`` of its unit;
    ``last`` where its last line does. ``parent_uuid`` is the node its first line hangs on. ``lane`` is the agent id of
    a subagent, ``"sidechain"`` where old versions do not tell which, and ``""`` for the main conversation.
    """

    __slots__ = (
        "agent_copy",
        "diagnostics",
        "effort",
        "end",
        "file",
        "index",
        "key",
        "lane",
        "last",
        "line",
        "lines",
        "model",
        "output",
        "parent_uuid",
        "position",
        "read",
        "stop_reason",
        "total",
        "usage",
        "uuid",
        "version",
        "warm",
        "write",
    )

    def __init__(self, key: tuple[str, str], lane: str, file: int, position: int, line: int, index: int) -> None:
        self.key = key
        self.lane = lane
        self.file = file
        self.position = position
        self.line = line
        self.index = index
        self.last = position
        self.lines = 1
        self.uuid: str | None = None
        self.parent_uuid: str | None = None
        self.version: str | None = None
        self.effort: str | None = None
        self.agent_copy = False
        self.model = ""
        self.end: str | None = None
        self.stop_reason: str | None = None
        self.diagnostics = b""
        self.usage = LoggedUsage()
        self.read = 0
        self.write = 0
        self.total = 0
        self.warm = 0
        self.output = -1

    def take(self, model: str, usage: LoggedUsage) -> None:
        """Keep this line's model and counters: it is the line with the greatest output so far."""
        self.model = model
        self.usage = usage
        self.output = -1 if usage.output_tokens is None else usage.output_tokens
        write = usage.cache_creation_input_tokens
        if write is None and usage.cache_creation is not None:
            split = usage.cache_creation
            write = (split.ephemeral_5m_input_tokens or 0) + (split.ephemeral_1h_input_tokens or 0)
        self.read = usage.cache_read_input_tokens or 0
        self.write = write or 0
        self.warm = self.read + self.write
        self.total = self.warm + (usage.input_tokens or 0)

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


def usage_of(logged: LoggedUsage | Iteration) -> Usage:
    """A log's counters in the vocabulary's terms: the breakdown by lifetime, and what it leaves over."""
    write_5m, write_1h, other = _split(logged.cache_creation_input_tokens, logged.cache_creation)
    return Usage(
        fresh=logged.input_tokens,
        write_5m=write_5m,
        write_1h=write_1h,
        write_other=other,
        read=logged.cache_read_input_tokens,
        output=logged.output_tokens,
    )


def _split(total: int | None, split: CacheCreation | None) -> tuple[int | None, int | None, int | None]:
    if split is None:
        return None, None, total
    five, hour = split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens
    rest = None if total is None else total - (five or 0) - (hour or 0)
    return five, hour, rest if rest else None
