"""Captured exchanges made by hand: bodies, responses, streams, and lines of capture programs."""

from __future__ import annotations

import json

MAIN, SMALL = "claude-sonnet-4-20250514", "claude-3-5-haiku-20241022"
TOOLS = [{"name": name, "description": name, "input_schema": {"type": "object"}} for name in ("read", "write", "run")]
START = 1_780_000_000


def user(*texts):
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def assistant(*texts):
    return {"role": "assistant", "content": [{"type": "text", "text": text} for text in texts]}


def body(*messages, model=MAIN, tools=TOOLS, system="You are an agent.", **fields):
    made = {"model": model, "max_tokens": 32000, "messages": list(messages), **fields}
    if tools:
        made["tools"] = tools
    if system:
        made["system"] = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
    return made


def usage(fresh=1, write=0, read=0, output=5):
    return {
        "input_tokens": fresh,
        "cache_creation_input_tokens": write,
        "cache_read_input_tokens": read,
        "output_tokens": output,
    }


def response(id, counters=None, model=MAIN, **fields):
    return {
        "id": id,
        "type": "message",
        "model": model,
        "usage": counters or usage(),
        "stop_reason": "end_turn",
        **fields,
    }


def sse(*events, end="\n"):
    return "".join(f"event: {event['type']}{end}data: {json.dumps(event)}{end}{end}" for event in events)


def stream(id, first, last=None, stop="end_turn", model=MAIN):
    """The events of a stream whose counters are ``first`` at its beginning and ``last`` at its end."""
    message = {"id": id, "type": "message", "model": model, "content": [], "usage": first}
    delta = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": last or {"output_tokens": 7}}
    return [{"type": "message_start", "message": message}, delta, {"type": "message_stop"}]


def pair(asked, answered, at=0.0, took=1.0, url="https://api.anthropic.com/v1/messages", headers=None, status=200):
    """A line of claude-trace. ``answered`` is a response, the text of a stream, or None."""
    line = {
        "request": {
            "timestamp": START + at,
            "method": "POST",
            "url": url,
            "headers": {"User-Agent": "claude-cli/1.0.6 (external, cli)", **(headers or {})},
            "body": asked,
        },
        "response": None,
    }
    if answered is not None:
        held = {"body_raw": answered} if isinstance(answered, str) else {"body": answered}
        line["response"] = {"timestamp": START + at + took, "status_code": status, "headers": {}, **held}
    return line


def jsonl(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def conversation(turns, first="do it", **fields):
    """Bodies that grow: body n has n answers and n tool results."""
    messages = [user(first)]
    for turn in range(turns):
        yield body(*messages, **fields)
        messages = [*messages, assistant(f"{first} answer {turn}"), user(f"{first} result {turn}")]
