"""Synthetic captures, exports and serving traces, as large as wanted, in the shapes of real ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]

BEGIN = 1_793_000_000
SPACING = 20
TURNS = 40
"""Turns of a captured conversation before a new one begins: each holds all that was said before it."""

REPLY = "The function reads the file again on every call; the cache of it is never used. I will move it up. " * 4
RESULT = 'def read(path: str) -> bytes:\n    with open(path, "rb") as file:\n        return file.read()\n' * 60


def line(row: Json) -> bytes:
    """A row of JSON lines."""
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


def stamp(at: float) -> str:
    """The time so many seconds after the beginning, as logs write it."""
    return datetime.fromtimestamp(BEGIN + at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _messages(number: int) -> list[Json]:
    """An OpenAI conversation in its n-th turn."""
    said: list[Json] = [{"role": "system", "content": "You fix bugs. " * 200}, {"role": "user", "content": "fix it"}]
    for turn in range(number % TURNS):
        said.append({"role": "assistant", "content": f"{turn} {REPLY}"})
        said.append({"role": "user", "content": f"{number // TURNS} {turn} {RESULT}"})
    return said


def anthropic(number: int) -> Json:
    """The body of the n-th request: a conversation that grows for some turns, then the next one."""
    system, *said = _messages(number)
    system_block = {"type": "text", "text": system["content"], "cache_control": {"type": "ephemeral"}}
    return {"model": "claude-opus-4-8", "max_tokens": 8000, "system": [system_block], "messages": said}


def usage_of(number: int) -> tuple[int, int]:
    """How many tokens the n-th request has, and how many of them are read."""
    turns = number % TURNS
    return 1_000 + turns * 2_000, max(0, turns * 2_000 - 1_000)


def _claude_trace(count: int) -> Iterator[bytes]:
    for number in range(count):
        whole, read = usage_of(number)
        usage = {"input_tokens": 3, "cache_read_input_tokens": read, "cache_creation_input_tokens": whole - read}
        reply = {
            "id": f"m{number}",
            "type": "message",
            "model": "claude-opus-4-8",
            "usage": {**usage, "output_tokens": 9},
        }
        request: Json = {"timestamp": BEGIN + number * SPACING, "method": "POST", "headers": {}}
        request |= {"url": "https://api.anthropic.com/v1/messages", "body": anthropic(number)}
        response = {"timestamp": BEGIN + number * SPACING + 3, "status_code": 200, "headers": {}, "body": reply}
        yield line({"request": request, "response": response})


def _openai(number: int) -> Json:
    whole, read = usage_of(number)
    return {"prompt_tokens": whole, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": read}}


def _openai_batch(count: int) -> Iterator[bytes]:
    for number in range(count):
        body = {"model": "gpt-5.2", "messages": _messages(number)}
        yield line({"custom_id": f"c{number}", "method": "POST", "url": "/v1/chat/completions", "body": body})
    for number in range(count):
        answer = {"id": f"r{number}", "model": "gpt-5.2", "usage": _openai(number), "choices": [{"message": REPLY}]}
        response = {"status_code": 200, "request_id": "q", "body": answer}
        yield line({"id": f"b{number}", "custom_id": f"c{number}", "response": response, "error": None})


def _helicone(count: int) -> Iterator[bytes]:
    for number in range(count):
        at = number * SPACING
        row: Json = {
            "request_id": f"h{number}",
            "request_created_at": stamp(at),
            "response_created_at": stamp(at + 3),
        }
        row |= {"model": "gpt-5.2", "request_body": {"model": "gpt-5.2", "messages": _messages(number)}}
        yield line(
            {**row, "response_body": {"usage": _openai(number)}, "properties": {"Session-Id": f"{number // TURNS}"}}
        )


def _litellm(count: int) -> Iterator[bytes]:
    for number in range(count):
        whole, read = usage_of(number)
        at = number * SPACING
        row: Json = {"request_id": f"l{number}", "call_type": "acompletion", "model": "anthropic/claude-opus-4-8"}
        row |= {"startTime": stamp(at), "endTime": stamp(at + 3), "prompt_tokens": whole, "completion_tokens": 50}
        row |= {"metadata": {"usage_object": {"cache_read_input_tokens": read}}, "cache_hit": "False"}
        yield line({**row, "messages": [{"role": "user", "content": RESULT}], "response": {"choices": [REPLY]}})


def _langfuse(count: int) -> Iterator[bytes]:
    for number in range(count):
        whole, read = usage_of(number)
        at = number * SPACING
        row: Json = {"id": f"o{number}", "traceId": "t", "type": "GENERATION", "startTime": stamp(at)}
        row |= {"endTime": stamp(at + 3), "model": "gpt-5.2", "parentObservationId": None}
        usage = {"input": whole, "output": 50, "cache_read_input_tokens": read, "total": whole + 50}
        yield line({**row, "usageDetails": usage, "input": [{"role": "user", "content": RESULT}], "output": REPLY})


def _langsmith(count: int) -> Iterator[bytes]:
    for number in range(count):
        whole, read = usage_of(number)
        at = number * SPACING
        metadata: Json = {"input_tokens": whole, "output_tokens": 50, "input_token_details": {"cache_read": read}}
        message = {"kwargs": {"content": REPLY, "usage_metadata": metadata}}
        row: Json = {"id": f"r{number}", "run_type": "llm", "trace_id": "t", "start_time": stamp(at)}
        row |= {"end_time": stamp(at + 3), "outputs": {"generations": [[{"message": message}]]}}
        extra = {"metadata": {"ls_provider": "openai", "ls_model_name": "gpt-5.2"}}
        yield line({**row, "extra": extra, "inputs": {"messages": [[{"kwargs": {"content": RESULT}}]]}})


def _otel(count: int) -> Iterator[bytes]:
    for number in range(count):
        whole, read = usage_of(number)
        named: dict[str, str | int] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "gpt-5.2",
            "gen_ai.usage.input_tokens": whole,
            "gen_ai.usage.cache_read.input_tokens": read,
            "gen_ai.usage.output_tokens": 50,
            "gen_ai.input.messages": RESULT,
        }
        attributes = [
            {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
            for key, value in named.items()
        ]
        begin = (BEGIN + number * SPACING) * 10**9
        span = {"spanId": f"s{number}", "startTimeUnixNano": str(begin), "endTimeUnixNano": str(begin + 3 * 10**9)}
        yield line({"resourceSpans": [{"scopeSpans": [{"spans": [{**span, "attributes": attributes}]}]}]})


def _atif(count: int) -> Iterator[bytes]:
    steps: list[Json] = []
    for number in range(count):
        whole, read = usage_of(number)
        metrics = {"prompt_tokens": whole, "completion_tokens": 50, "cached_tokens": read}
        step: Json = {"step_id": number + 1, "timestamp": stamp(number * SPACING), "source": "agent", "message": REPLY}
        steps.append({**step, "metrics": metrics, "observation": {"results": [{"content": RESULT}]}})
    agent = {"name": "a", "version": "1", "model_name": "openai/gpt-5.2"}
    yield json.dumps({"schema_version": "ATIF-v1.6", "session_id": "s", "agent": agent, "steps": steps}).encode()


def _lmcache(count: int) -> Iterator[bytes]:
    for number in range(count):
        text = "\n".join(message["content"] for message in _messages(number))
        row = {"timestamp": (BEGIN + number * SPACING) * 10**6, "input": text, "output": REPLY}
        yield line({**row, "session_id": f"{number // TURNS}"})


EXPORTS: dict[str, tuple[str, int, Callable[[int], Iterator[bytes]]]] = {
    "claude-trace": ("jsonl", 20, _claude_trace),
    "openai-batch": ("jsonl", 20, _openai_batch),
    "helicone": ("jsonl", 20, _helicone),
    "litellm": ("jsonl", 1, _litellm),
    "langfuse": ("jsonl", 1, _langfuse),
    "langsmith": ("jsonl", 1, _langsmith),
    "otel": ("jsonl", 1, _otel),
    "atif": ("json", 1, _atif),
    "lmcache-agent-trace": ("jsonl", 20, _lmcache),
}
"""How a file of each format is made, by its name: its end, and how many calls of others weigh as much as one of it."""
