"""The shapes of a rollout's lines, as far as they are used. Every field may be absent."""

from __future__ import annotations

import msgspec

from agentsim.bodies.messages_usage import ABSENT
from agentsim.core.strict_decoding import Count


class Payload(msgspec.Struct, gc=False):
    """``payload`` of an event or of an item of the conversation: what kind it is, who said it, ``info``, and which
    tool is called."""

    type: str | None = None
    role: str | None = None
    info: msgspec.Raw = ABSENT
    name: msgspec.Raw = ABSENT


class CodexLine(msgspec.Struct, gc=False):
    """Any line, decoded at once as far as most lines need it."""

    timestamp: str | None = None
    type: str | None = None
    payload: Payload | None = None


class Spawn(msgspec.Struct, gc=False):
    """How a subagent was started."""

    parent_thread_id: str | None = None
    agent_nickname: str | None = None
    agent_role: str | None = None


class SubagentSource(msgspec.Struct, gc=False):
    """``source.subagent``."""

    thread_spawn: Spawn | None = None


class ThreadSource(msgspec.Struct, gc=False):
    """``source`` where it is an object."""

    subagent: SubagentSource | str | None = None


class Meta(msgspec.Struct, gc=False):
    """``payload`` of ``session_meta``."""

    id: str | None = None
    timestamp: str | None = None
    originator: str | None = None
    cli_version: str | None = None
    model_provider: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    subagent_history_start_ordinal: int | None = None
    source: ThreadSource | str | None = None


class ModeSettings(msgspec.Struct, gc=False):
    """``collaboration_mode.settings``."""

    reasoning_effort: str | None = None


class Mode(msgspec.Struct, gc=False):
    """``collaboration_mode``."""

    mode: msgspec.Raw = ABSENT
    settings: ModeSettings | None = None


class TurnContext(msgspec.Struct, gc=False):
    """``payload`` of ``turn_context``."""

    model: str | None = None
    effort: str | None = None
    cwd: msgspec.Raw = ABSENT
    approval_policy: msgspec.Raw = ABSENT
    collaboration_mode: Mode | None = None


class Counters(msgspec.Struct, frozen=True, gc=False):
    """Tokens of a call, or of all calls so far."""

    input_tokens: Count | None = None
    cached_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None
    output_tokens: Count | None = None
    reasoning_output_tokens: Count | None = None
    total_tokens: Count | None = None

    def minus(self, other: Counters) -> Counters | None:
        """What was added since ``other``; ``None`` when something became less, as after a reset."""
        left: list[int | None] = []
        for name in self.__struct_fields__:
            now, before = getattr(self, name), getattr(other, name)
            if now is not None and now < (before or 0):
                return None
            left.append(None if now is None else now - (before or 0))
        return Counters(*left)


class TokenCountInfo(msgspec.Struct, gc=False):
    """``info`` of a ``token_count`` event; ``null`` where that carries rate limits only."""

    total_token_usage: Counters | None = None
    last_token_usage: Counters | None = None


class UsageRecord(msgspec.Struct, gc=False):
    """``payload`` of a ``token_usage_record``."""

    response_id: str | None = None
    usage: Counters | None = None


class CompactedPayload(msgspec.Struct, gc=False):
    """``payload`` of ``compacted``: the response that holds the summary, where the server made it."""

    compaction_response_id: str | None = None


class MetaLine(msgspec.Struct, gc=False):
    """A line with ``session_meta``."""

    payload: Meta


class TurnLine(msgspec.Struct, gc=False):
    """A line with ``turn_context``."""

    payload: TurnContext


class RecordLine(msgspec.Struct, gc=False):
    """A line with ``token_usage_record``."""

    payload: UsageRecord


class CompactedLine(msgspec.Struct, gc=False):
    """A line with ``compacted``."""

    payload: CompactedPayload


lines = msgspec.json.Decoder(CodexLine)
infos = msgspec.json.Decoder(TokenCountInfo | None)
meta_lines = msgspec.json.Decoder(MetaLine)
turn_lines = msgspec.json.Decoder(TurnLine)
record_lines = msgspec.json.Decoder(RecordLine)
compacted_lines = msgspec.json.Decoder(CompactedLine)
