"""Lived sessions as the logs of harnesses: Claude Code's sessions, Codex's rollouts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from benchmarks.verdicts.simulated_agent import Life, LivedCall
from benchmarks.verdicts.wire_positions import Json

Lines = list[Json]


def stamp(seconds: float) -> str:
    """A time as logs write it."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


class ClaudeCodeLog:
    """Lines as Claude Code writes them: what was said, and counters on each line of a reply. Tools, system text,
    markers and parameters stand in none, and old messages only as they were first said."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.lines: Lines = []
        self.leaf: dict[str, str | None] = {}
        self.after: dict[str, str] = {}
        self.count = 0

    def _add(self, call: LivedCall, type: str, at: float, parent: str | None, **fields: Any) -> str:
        self.count += 1
        uuid = f"{self.life.id}-{self.count:05d}"
        record = {
            "parentUuid": parent,
            "isSidechain": False,
            "type": type,
            **fields,
            "uuid": uuid,
            "timestamp": stamp(at),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": "/home/user/project",
            "sessionId": self.life.id,
            "version": call.version,
            "gitBranch": "main",
        }
        self.lines.append(record)
        return uuid

    def write(self) -> Lines:
        """All lines."""
        said: dict[str, int] = {}
        replies: dict[str, tuple[LivedCall, str]] = {}
        for call in sorted(self.life.logged(), key=lambda call: call.start):
            before = replies.get(call.parent or "")
            if call.purpose == "summary":  # this harness does not write its own summary requests down
                if before is not None:
                    replies[call.id] = before
                continue
            parent = before[1] if before is not None else None
            known = said.get(call.parent or "", 0)
            compacted = any(kind == "compaction" for kind, _ in call.since)
            parent = self._between(call, parent, compacted)
            messages = call.added
            new = messages[known:] if len(messages) > known and not compacted else messages
            if len(messages) <= known and not compacted:
                new = messages[-1:]
            for message in new:
                if message["role"] == "user":
                    parent = self._user(call, message, parent, compacted and message is messages[0])
            parent = self._assistant(call, parent)
            replies[call.id] = (call, parent)
            said[call.id] = len(messages) + 1
        return self.lines

    def _between(self, call: LivedCall, parent: str | None, compacted: bool) -> str | None:
        at = call.start - 0.02
        for kind, detail in call.since:
            if kind in ("tools_added", "tools_removed"):
                names = [f"mcp__{detail}__one", f"mcp__{detail}__two"]
                added, removed = (names, []) if kind == "tools_added" else ([], names)
                attachment = {"type": "deferred_tools_delta", "addedNames": added, "removedNames": removed}
                parent = self._add(call, "attachment", at, parent, attachment=attachment)
            elif kind == "clearing":
                trimmed = {"subtype": "microcompact_boundary", "content": "Context microcompacted"}
                parent = self._add(call, "system", at, parent, **trimmed)
        if compacted:
            boundary = {
                "subtype": "compact_boundary",
                "content": "Conversation compacted",
                "logicalParentUuid": parent,
                "compactMetadata": {"trigger": "auto", "preTokens": 100_000},
            }
            parent = self._add(call, "system", at, None, **boundary)
        return parent

    def _user(self, call: LivedCall, message: Json, parent: str | None, summary: bool) -> str:
        content = message["content"]
        at = call.start - 0.01
        if isinstance(content, str) or all(block["type"] == "text" for block in content):
            text = content if isinstance(content, str) else "\n".join(block["text"] for block in content)
            extra: Json = {"isCompactSummary": True} if summary else {}
            return self._add(call, "user", at, parent, message={"role": "user", "content": text}, **extra)
        for block in content:
            parent = self._add(call, "user", at, parent, message={"role": "user", "content": [block]})
        assert parent is not None
        return parent

    def _assistant(self, call: LivedCall, parent: str | None) -> str:
        billed = call.billed
        usage = {
            "input_tokens": billed.fresh,
            "cache_creation_input_tokens": billed.write_short + billed.write_long,
            "cache_read_input_tokens": billed.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": billed.write_short,
                "ephemeral_1h_input_tokens": billed.write_long,
            },
            "service_tier": "standard",
            "speed": call.body.get("speed", "standard"),
        }
        blocks = self._reply(call)
        effort = call.body.get("output_config", {}).get("effort")
        extra: Json = {"effort": effort} if effort is not None else {}
        for number, block in enumerate(blocks):
            last = number == len(blocks) - 1
            message = {
                "model": call.body["model"],
                "id": call.id,
                "type": "message",
                "role": "assistant",
                "content": [block],
                "stop_reason": "tool_use" if last else None,
                "usage": usage | {"output_tokens": call.output if last else 1},
            }
            parent = self._add(
                call, "assistant", call.end, parent, message=message, requestId=f"req_{call.id}", **extra
            )
        assert parent is not None
        return parent

    def _reply(self, call: LivedCall) -> list[Json]:
        """What the model said: the assistant message that the next call of the lane shows behind this prompt."""
        following = next((other for other in self.life.calls if other.parent == call.id), None)
        messages = following.added if following is not None else []
        at = len(call.added)
        if len(messages) > at and messages[at]["role"] == "assistant":
            content: list[Json] = messages[at]["content"]
            return content
        return [{"type": "text", "text": "Done."}]


def claude_code(life: Life) -> Lines:
    """A session file of Claude Code."""
    return ClaudeCodeLog(life).write()


def codex(life: Life) -> Lines:
    """A rollout of Codex."""
    calls = sorted(life.logged(), key=lambda call: call.start)
    first = calls[0]
    lines: Lines = []

    def add(at: float, type: str, payload: Json) -> None:
        lines.append({"timestamp": stamp(at), "type": type, "payload": payload})

    add(first.start - 0.5, "session_meta", _meta(life, first))
    said: dict[str, int] = {}
    totals = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    shown: tuple[str, str | None] | None = None
    for call in calls:
        effort = call.body.get("reasoning", {}).get("effort")
        if shown != (call.body["model"], effort):
            shown = (call.body["model"], effort)
            add(call.start - 0.03, "turn_context", _turn(call, effort))
        known = said.get(call.parent or "", 0)
        items = [item for item in _new_items(call, known) if not (known and _is_reply(item))]
        if any(kind == "compaction" for kind, _ in call.since):
            add(call.start - 0.02, "compacted", {"message": "", "replacement_history": call.body["input"]})
        for item in items:
            add(call.start - 0.01, "response_item", item)
        usage = {
            "input_tokens": call.billed.total,
            "cached_input_tokens": call.billed.read,
            "output_tokens": call.output,
            "reasoning_output_tokens": 0,
            "total_tokens": call.billed.total + call.output,
        }
        for name in totals:
            totals[name] += usage[name]
        for item in _reply_items(life, call):
            add(call.end - 0.01, "response_item", item)
        info = {"total_token_usage": dict(totals), "last_token_usage": usage, "model_context_window": 258_400}
        add(call.end, "event_msg", {"type": "token_count", "info": info, "rate_limits": None})
        said[call.id] = len(call.body["input"])
    return lines


def _meta(life: Life, first: LivedCall) -> Json:
    return {
        "id": life.id,
        "timestamp": stamp(first.start - 0.5),
        "cwd": "/home/user/project",
        "originator": "codex-tui",
        "cli_version": "0.140.0",
        "source": "cli",
        "model_provider": "openai",
        "base_instructions": {"text": first.body.get("instructions", "")},
    }


def _turn(call: LivedCall, effort: str | None) -> Json:
    settings = {"model": call.body["model"], "reasoning_effort": effort}
    mode = {"mode": "default", "settings": settings}
    return {"cwd": "/home/user/project", "model": call.body["model"], "collaboration_mode": mode}


def _new_items(call: LivedCall, known: int) -> list[Json]:
    """The items of the prompt that the call before did not hold: its reply, then what was added."""
    items: list[Json] = call.body["input"]
    return items[known:] if len(items) > known else items[-1:]


def _is_reply(item: Json) -> bool:
    return item.get("role") == "assistant" or item.get("type") in ("function_call", "reasoning")


def _reply_items(life: Life, call: LivedCall) -> list[Json]:
    """What the model said, written down as it came: what the next call of the lane shows behind this prompt."""
    following = next((other for other in life.calls if other.parent == call.id), None)
    items = _new_items(following, len(call.body["input"])) if following is not None else []
    return [item for item in items if _is_reply(item)]


HARNESS_FORMS: dict[str, Callable[[Life], Lines]] = {"claude-code": claude_code, "codex": codex}
"""Logs of harnesses, by the name of the format."""
