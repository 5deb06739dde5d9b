"""The shapes of Claude Code's log lines, as far as they are used.

Only the fields named here are decoded; the rest of a line is passed over undecoded. The vendor calls the format
internal, so every field may be absent.
"""

from __future__ import annotations

import msgspec

from agentsim.bodies.messages_usage import ABSENT, SentUsage


class ClaudeMessage(msgspec.Struct, gc=False):
    """``message`` of an assistant line. ``diagnostics`` stays raw: absent (empty), null and an object differ."""

    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: SentUsage | None = None
    diagnostics: msgspec.Raw = ABSENT


class InnerRecord(msgspec.Struct, gc=False):
    """A subagent's line as a ``progress`` record carries it."""

    type: str | None = None
    message: ClaudeMessage | None = None
    requestId: str | None = None
    uuid: str | None = None
    timestamp: str | None = None


class ProgressData(msgspec.Struct, gc=False):
    """``data`` of a ``progress`` record."""

    type: str | None = None
    agentId: str | None = None
    message: InnerRecord | None = None


class ClaudeLine(msgspec.Struct, gc=False):
    """A line that may carry usage."""

    type: str | None = None
    message: ClaudeMessage | None = None
    requestId: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None
    timestamp: str | None = None
    sessionId: str | None = None
    version: str | None = None
    effort: str | None = None
    isSidechain: bool | None = None
    agentId: str | None = None
    data: ProgressData | None = None


class BlockHead(msgspec.Struct, gc=False):
    """A content block, of which only the kind matters; of a call of a tool also which, and with what."""

    type: str | None = None
    name: msgspec.Raw = ABSENT
    input: msgspec.Raw = ABSENT


class NodeMessage(msgspec.Struct, gc=False):
    """``message`` of any line in the tree of a conversation."""

    id: str | None = None
    model: str | None = None
    content: list[BlockHead] | str | None = None


class Attachment(msgspec.Struct, gc=False):
    """``attachment`` of a line: what the harness slipped into the prompt. The names stay raw: few lines have some."""

    type: str | None = None
    hookEvent: msgspec.Raw = ABSENT
    path: msgspec.Raw = ABSENT
    filename: msgspec.Raw = ABSENT
    addedNames: msgspec.Raw = ABSENT
    removedNames: msgspec.Raw = ABSENT


class CompactMetadata(msgspec.Struct, gc=False):
    """``compactMetadata`` of a compaction: who asked for it (``auto`` or ``manual``)."""

    trigger: str | None = None


class Node(msgspec.Struct, gc=False):
    """A line as a node of the conversation's tree."""

    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None
    logicalParentUuid: str | None = None
    timestamp: str | None = None
    requestId: str | None = None
    version: str | None = None
    cwd: msgspec.Raw = ABSENT
    permissionMode: msgspec.Raw = ABSENT
    isSidechain: bool | None = None
    agentId: str | None = None
    isMeta: bool | None = None
    isCompactSummary: bool | None = None
    message: NodeMessage | None = None
    attachment: Attachment | None = None
    compactMetadata: CompactMetadata | None = None


SYNTHETIC_MODEL = "<synthetic>"
"""The model name on a local stand-in for an error or a limit: never sent, never billed."""

decode_line = msgspec.json.Decoder(ClaudeLine).decode
decode_node = msgspec.json.Decoder(Node).decode


class ToolInput(msgspec.Struct, gc=False):
    """``input`` of the calls that load a skill or edit a file."""

    skill: msgspec.Raw = ABSENT
    file_path: msgspec.Raw = ABSENT


decode_input = msgspec.json.Decoder(ToolInput).decode
