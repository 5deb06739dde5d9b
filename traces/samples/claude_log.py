"""Builds Claude Code logs: lines as the tool writes them, with times and counters that a sample or a test chooses."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

EPOCH = 1_790_000_000  # 2026-09-21, in seconds


def stamp(seconds: float) -> str:
    """A time stamp as logs write it, ``seconds`` after :data:`EPOCH`."""
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(EPOCH + seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


class ClaudeLog:
    """Lines of one file. Each method appends lines at the time ``now`` (seconds) and hangs them on the last one."""

    def __init__(self, session: str = "s1", *, version: str = "2.1.240", model: str = "claude-opus-4-8") -> None:
        self.session = session
        self.version = version
        self.model = model
        self.lines: list[str] = []
        self.now = 0.0
        self.parent: str | None = None
        self.agent: str | None = None
        self.sidechain = False
        self.diagnostics: Any = ...
        self._count = 0

    def _id(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}-{self.session}-{self._count}"

    def add(self, type: str, **fields: Any) -> str:
        """Append one line and make it the parent of the next; its uuid."""
        uuid = fields.pop("uuid", None) or self._id("u")
        record = {
            "parentUuid": fields.pop("parent", self.parent),
            "isSidechain": self.sidechain,
            "type": type,
            **fields,
            "uuid": uuid,
            "timestamp": stamp(self.now),
            "sessionId": self.session,
            "version": self.version,
            "cwd": "/home/user/project",
        }
        if self.agent is not None:
            record["agentId"] = self.agent
        self.lines.append(json.dumps(record, separators=(",", ":")))
        self.parent = uuid
        return uuid

    def user(self, text: str = "please", **fields: Any) -> str:
        """A person's prompt."""
        return self.add("user", message={"role": "user", "content": text}, **fields)

    def results(self, count: int = 1) -> None:
        """Results of ``count`` parallel tool calls, a line each."""
        for _ in range(count):
            block = {"type": "tool_result", "tool_use_id": self._id("toolu"), "content": "done"}
            self.add("user", message={"role": "user", "content": [block]})

    def call(
        self,
        read: int,
        write: int,
        *,
        fresh: int = 2,
        output: int = 100,
        hour: bool = False,
        tools: int = 1,
        stop: str | None = "tool_use",
        after: float = 5.0,
        id: str | None = None,
        model: str | None = None,
        **usage: Any,
    ) -> str:
        """One request: a thinking line and a line per tool call, all with the same ids; its message id."""
        message_id = id or self._id("msg")
        request_id = message_id.replace("msg", "req")
        self.now += after
        kinds = [{"type": "thinking", "thinking": ""}, *({"type": "tool_use", "name": "Bash", "input": {}},) * tools]
        if not tools:
            kinds.append({"type": "text", "text": "done"})
        for index, block in enumerate(kinds):
            last = index == len(kinds) - 1
            message: dict[str, Any] = {
                "model": model or self.model,
                "id": message_id,
                "type": "message",
                "role": "assistant",
                "content": [block],
                "stop_reason": stop if last else None,
                "usage": {
                    "input_tokens": fresh,
                    "cache_creation_input_tokens": write,
                    "cache_read_input_tokens": read,
                    "cache_creation": {
                        "ephemeral_5m_input_tokens": 0 if hour else write,
                        "ephemeral_1h_input_tokens": write if hour else 0,
                    },
                    "output_tokens": output if last else 1,
                    "service_tier": "standard",
                    **usage,
                },
            }
            if self.diagnostics is not ...:
                message["diagnostics"] = self.diagnostics
            self.add("assistant", message=message, requestId=request_id)
        self.diagnostics = ...
        return message_id

    def label(self, reason: str | None, missed: int | None = None) -> ClaudeLog:
        """Have the next call carry the provider's diagnosis; ``None`` says it compared and found no difference."""
        miss: dict[str, Any] = {"type": reason}
        if missed is not None:
            miss["cache_missed_input_tokens"] = missed
        self.diagnostics = None if reason is None else {"cache_miss_reason": miss}
        return self

    def save(self, path: Path) -> Path:
        """Write the file; its path."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line + "\n" for line in self.lines), encoding="utf-8")
        return path


def turns(log: ClaudeLog, sizes: Iterable[int], *, start: int = 20_000, gap: float = 10.0, hour: bool = False) -> int:
    """A healthy run: a first write of ``start`` tokens, then calls that read it all and add ``sizes``; what is warm."""
    log.user()
    log.call(0, start, hour=hour)
    warm = start
    for size in sizes:
        log.now += gap
        log.results()
        log.call(warm, size, hour=hour)
        warm += size
    return warm
