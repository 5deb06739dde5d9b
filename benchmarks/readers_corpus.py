"""Synthetic logs of each agent, as large as wanted: the shapes of real ones, with tool results of some kilobytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.captures_corpus import CAPTURES, FOLDERS
from benchmarks.exports_corpus import EXPORTS
from benchmarks.rows_corpus import ROWS

Json = dict[str, Any]

BEGIN = 1_793_000_000
"""Seconds since the epoch: October 2026."""
SPACING = 20

REPLY = "The function reads the file again on every call; the cache of it is never used. I will move it up. " * 4
RESULT = 'def read(path: str) -> bytes:\n    with open(path, "rb") as file:\n        return file.read()\n' * 60
"""About 5.6 kB, with quotes and newlines as sources have them."""


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(BEGIN + at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _line(row: Json) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


def _codex(count: int) -> Iterator[bytes]:
    meta = {"id": "t", "timestamp": _stamp(0), "cli_version": "0.150.0", "model_provider": "openai"}
    yield _line({"timestamp": _stamp(0), "type": "session_meta", "payload": meta})
    yield _line({"timestamp": _stamp(1), "type": "turn_context", "payload": {"model": "gpt-5.5", "effort": "high"}})
    total = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens"), 0)
    for number in range(count):
        at, whole = number * SPACING, 3_000 + number * 100
        items: tuple[Json, ...] = (
            {"type": "reasoning", "summary": [], "encrypted_content": "x" * 600},
            {"type": "message", "role": "assistant", "content": [{"text": REPLY}]},
            {"type": "function_call", "name": "run", "arguments": "{}", "call_id": f"c{number}"},
            {"type": "function_call_output", "call_id": f"c{number}", "output": RESULT},
        )
        for item in items:
            yield _line({"timestamp": _stamp(at), "type": "response_item", "payload": item})
        cached = whole // 128 * 128 - 128
        last = {"input_tokens": whole, "cached_input_tokens": cached, "output_tokens": 50, "total_tokens": whole + 50}
        total = {name: total[name] + last[name] for name in total}
        info = {"total_token_usage": total, "last_token_usage": last, "model_context_window": 258_400}
        event = {"type": "token_count", "info": info, "rate_limits": {"primary": {"used_percent": 14.0}}}
        yield _line({"timestamp": _stamp(at + 3), "type": "event_msg", "payload": event})


def _pi(count: int) -> Iterator[bytes]:
    yield _line({"type": "session", "version": 3, "id": "s", "timestamp": _stamp(0), "cwd": "/work"})
    for number in range(count):
        at, whole = number * SPACING, 3_000 + number * 100
        parent = f"t{number - 1}" if number else None
        message: Json = {
            "role": "assistant",
            "provider": "anthropic",
            "model": "claude-opus-4-8",
            "content": [
                {"type": "text", "text": REPLY},
                {"type": "toolCall", "name": "read", "arguments": {"path": "x"}},
            ],
            "usage": {"input": 3, "output": 50, "cacheRead": whole - 103, "cacheWrite": 100, "totalTokens": whole + 50},
            "stopReason": "toolUse",
            "timestamp": (BEGIN + at) * 1000,
        }
        entry = {
            "type": "message",
            "id": f"a{number}",
            "parentId": parent,
            "timestamp": _stamp(at + 3),
            "message": message,
        }
        yield _line(entry)
        result = {"role": "toolResult", "content": [{"type": "text", "text": RESULT}]}
        yield _line({"type": "message", "id": f"t{number}", "parentId": f"a{number}", "message": result})


def _opencode(count: int) -> Iterator[bytes]:
    messages = []
    for number in range(count):
        created, whole = (BEGIN + number * SPACING) * 1000, 3_000 + number * 100
        cache = {"read": whole - 100, "write": 0}
        tokens = {"total": whole + 50, "input": 100, "output": 50, "reasoning": 9, "cache": cache}
        info = {
            "role": "assistant",
            "time": {"created": created, "completed": created + 3_000},
            "modelID": "gpt-5.3-codex",
            "providerID": "openai",
            "tokens": tokens,
            "id": f"msg_{number}",
            "sessionID": "ses",
        }
        state = {"status": "completed", "input": {}, "output": RESULT, "time": {"start": created}}
        parts = [
            {"type": "text", "text": REPLY, "time": {"start": created + 900}},
            {"type": "tool", "tool": "read", "state": state},
            {"type": "step-finish", "tokens": tokens},
        ]
        messages.append({"info": info, "parts": parts})
    yield json.dumps({"info": {"id": "ses", "projectID": "p"}, "messages": messages}, indent=2).encode()


def _gemini(count: int) -> Iterator[bytes]:
    yield _line({"sessionId": "s", "projectHash": "h", "startTime": _stamp(0), "kind": "main"})
    for number in range(count):
        whole = 3_000 + number * 100
        tokens = {"input": whole, "output": 50, "cached": whole - 100, "thoughts": 9, "tool": 0, "total": whole + 59}
        calls = [{"name": "read", "result": RESULT}]
        row = {"id": f"m{number}", "timestamp": _stamp(number * SPACING), "type": "gemini", "model": "gemini-2.5-pro"}
        yield _line({**row, "tokens": tokens, "content": REPLY, "toolCalls": calls})


def _qwen(count: int) -> Iterator[bytes]:
    for number in range(count):
        whole, at = 3_000 + number * 100, number * SPACING
        row: Json = {"sessionId": "q", "version": "0.18.1"}
        usage = {"promptTokenCount": whole, "candidatesTokenCount": 50, "cachedContentTokenCount": whole - 100}
        message = {"role": "model", "parts": [{"text": REPLY}]}
        parent = f"t{number - 1}" if number else None
        row |= {"uuid": f"a{number}", "parentUuid": parent, "timestamp": _stamp(at), "type": "assistant"}
        yield _line({**row, "model": "coder-model", "message": message, "usageMetadata": usage})
        result = {"role": "user", "parts": [{"functionResponse": {"response": {"output": RESULT}}}]}
        row |= {"uuid": f"t{number}", "parentUuid": f"a{number}", "timestamp": _stamp(at + 3), "type": "tool_result"}
        yield _line({**row, "message": result})


def _cline(count: int) -> Iterator[bytes]:
    messages: list[Json] = []
    for number in range(count):
        at, whole = (BEGIN + number * SPACING) * 1000, 3_000 + number * 100
        metrics = {"inputTokens": whole, "outputTokens": 50, "cacheReadTokens": whole - 100, "cacheWriteTokens": 0}
        info = {"id": "anthropic/claude-opus-4.8", "provider": "cline"}
        content = [{"type": "text", "text": REPLY}]
        row = {"id": f"m{number}", "role": "assistant", "content": content, "ts": at}
        messages.append({**row, "modelInfo": info, "metrics": metrics})
        result = [{"type": "tool_result", "content": RESULT}]
        messages.append({"id": f"x_tool_{number}", "role": "user", "content": result, "ts": at + 3_000})
    yield json.dumps({"version": 1, "sessionId": "s", "messages": messages}).encode()


def _copilot(count: int) -> Iterator[bytes]:
    start = {"sessionId": "s", "producer": "copilot-agent", "copilotVersion": "1.0.64"}
    yield _line({"type": "session.start", "data": start, "id": "e", "timestamp": _stamp(0), "parentId": None})
    for number in range(count):
        at = number * SPACING
        message = {"messageId": f"m{number}", "model": "claude-sonnet-4.6", "content": REPLY, "outputTokens": 50}
        for kind, data in (
            ("assistant.turn_start", {"turnId": str(number)}),
            ("assistant.message", message),
            ("tool.execution_complete", {"success": True, "result": {"content": RESULT}}),
        ):
            yield _line({"type": kind, "data": data, "id": f"e{number}", "timestamp": _stamp(at), "parentId": "e"})


def _dsh(count: int) -> Iterator[bytes]:
    yield _line({"type": "session", "version": 0, "id": "d", "createdAt": BEGIN * 1000, "cwd": "/work"})
    header = {"config": {"provider": "deepseek-official", "model": "deepseek-v4-flash"}, "system": "s", "tools": "t"}
    yield _line({"type": "request/header", "seq": 0, "time": BEGIN * 1000, "data": {"header": header}})
    for number in range(count):
        time, whole = (BEGIN + number * SPACING) * 1000, 3_000 + number * 100
        usage = {"inputTokens": 100, "outputTokens": 50, "cacheReadTokens": whole - 100, "reasoningTokens": 9}
        texts = REPLY.split(" ")
        for kind, data in (
            ("step/start", {"step": number}),
            ("text-chunks", {"dt": [3] * len(texts), "texts": texts}),
            ("assistant/chunk", {"chunk": {"type": "usage", "usage": usage}}),
            ("assistant/message", {"message": {"role": "assistant", "content": REPLY}, "usage": usage}),
            ("tool/result", {"message": {"content": [{"type": "tool-result", "content": RESULT}]}}),
        ):
            yield _line({"type": kind, "seq": number, "time": time, "data": data})


def _stream_json(count: int) -> Iterator[bytes]:
    yield _line({"type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.1.219"})
    for number in range(count):
        whole = 3_000 + number * 100
        usage = {"input_tokens": 3, "cache_read_input_tokens": whole, "cache_creation_input_tokens": 100}
        content: list[Json] = [{"type": "text", "text": REPLY}]
        message: Json = {"id": f"m{number}", "model": "claude-opus-4-8", "content": content}
        message["usage"] = {**usage, "output_tokens": 50}
        row = {"type": "assistant", "message": message, "session_id": "s", "parent_tool_use_id": None}
        yield _line(row)
        content = [{"type": "tool_result", "content": RESULT}]
        yield _line({"type": "user", "message": {"content": content}, "session_id": "s"})


def _history(turns: int) -> list[Json]:
    history: list[Json] = [{"role": "system", "content": "You fix bugs."}, {"role": "user", "content": "fix it"}]
    for number in range(turns):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": '{"path": "x"}'}}
        history.append({"role": "assistant", "content": REPLY, "tool_calls": [call]})
        history.append({"role": "tool", "content": f"{number} {RESULT}", "tool_call_id": f"c{number}"})
    return history


def _openhands(count: int) -> Iterator[bytes]:
    """Each call holds its whole request: many bytes for few calls."""
    history = _history(40)
    for number in range(max(1, count // 40)):
        turns = number % 40
        whole = 3_000 + turns * 1_000
        usage = {"prompt_tokens": whole, "completion_tokens": 50, "cache_read_input_tokens": 0}
        response = {"id": f"r{number}", "model": "anthropic/claude-sonnet-4-5", "usage": usage}
        row: Json = {"messages": history[: 2 + 2 * turns], "tools": [], "kwargs": {}, "response": response}
        yield _line({**row, "cost": 0.1, "timestamp": BEGIN + number * SPACING, "latency_sec": 3.0})


def _swe_agent(count: int) -> Iterator[bytes]:
    document = {"trajectory": [{"action": "x", "observation": "y"}], "history": _history(count)}
    yield json.dumps({**document, "info": {"model_stats": {"api_calls": count}}}).encode()


LOGS: dict[str, tuple[str, Callable[[int], Iterator[bytes]]]] = {
    "codex": ("jsonl", _codex),
    "pi": ("jsonl", _pi),
    "opencode": ("json", _opencode),
    "gemini-cli": ("jsonl", _gemini),
    "qwen-code": ("jsonl", _qwen),
    "cline": ("json", _cline),
    "openhands": ("jsonl", _openhands),
    "swe-agent": ("traj", _swe_agent),
    "copilot-cli": ("jsonl", _copilot),
    "dsh": ("jsonl", _dsh),
    "claude-stream-json": ("jsonl", _stream_json),
}
"""How the log of each format is made, by its name."""

ALL = (*LOGS, *EXPORTS, *CAPTURES, *FOLDERS, *ROWS)


def write(folder: Path, format: str, calls: int) -> list[Path]:
    """Write a log with about so many calls, or about as large as one; its files."""
    if format in ROWS:
        ending, write_rows = ROWS[format]
        path = folder / f"{format}.{ending}"
        write_rows(path, calls)
        return [path]
    if format in FOLDERS:
        weight, fill = FOLDERS[format]
        place = folder / format.replace("/", "-")
        place.mkdir()
        fill(place, max(1, calls // weight))
        return sorted(path for path in place.rglob("*") if path.is_file() and path.name != "metadata.json")
    if format in LOGS:
        ending, make = LOGS[format]
    else:
        ending, weight, make = {**EXPORTS, **CAPTURES}[format]
        calls = max(1, calls // weight)
    path = folder / f"{format}.{ending}"
    with path.open("wb") as file:
        for data in make(calls):
            file.write(data)
    return [path]
