"""Makes ``claude-trace.jsonl`` and ``pairs.jsonl``: an invented session, captured in two ways.

Run it from the root of the repository: ``python traces/samples/make_captures.py``. The session: a quota probe and a
title on a small model; a main thread of six requests, the fourth of which has one tool more, so that everything is
written again; a call of another endpoint, and a request whose response never came. A token is four characters of JSON,
and the provider reads the longest prefix that ended at a breakpoint before.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
START = 1_780_000_000.25
MARKER = {"type": "ephemeral"}
WORDS = "river stone lantern copper meadow signal harbour winter ledger compass orchard velvet anchor thimble".split()
MAIN, SMALL = "claude-sonnet-4-20250514", "claude-3-5-haiku-20241022"


def prose(seed: int, words: int) -> str:
    """Words in an order that follows from a number."""
    return " ".join(WORDS[(seed * 7 + at * at * 3 + at) % len(WORDS)] for at in range(words))


def tool(name: str, seed: int) -> dict[str, Any]:
    """A tool definition."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    return {"name": name, "description": f"{name}: {prose(seed, 60)}", "input_schema": schema}


class CountingProvider:
    """Counts as a provider would: what ended at a breakpoint before is read, what ends at one now is written."""

    def __init__(self) -> None:
        self.entries: set[str] = set()

    def usage(self, body: dict[str, Any]) -> dict[str, int]:
        """The usage of a request."""
        front, size, read, marked = body["model"], 0, 0, 0
        blocks = [*body.get("tools", []), *body.get("system", [])]
        blocks += [block for message in body["messages"] for block in message["content"]]
        new: list[str] = []
        for block in blocks:
            text = json.dumps({key: value for key, value in block.items() if key != "cache_control"})
            front, size = front + text, size + len(text) // 4
            if front in self.entries:
                read = marked = size
            if "cache_control" in block:
                marked = size
                new.append(front)
        self.entries.update(new)
        return {
            "input_tokens": size - marked,
            "cache_creation_input_tokens": marked - read,
            "cache_read_input_tokens": read,
        }


def stream(id: str, model: str, usage: dict[str, int], output: int, stop: str) -> str:
    """The events of a streamed response, without its text."""
    message: dict[str, Any] = {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
    }
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "usage": {**usage, "output_tokens": 1}}},
        {"type": "ping"},
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": output}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def main_bodies() -> list[dict[str, Any]]:
    """The requests of the main thread: each has what the one before had, an answer, and a tool's result."""
    tools = [tool("read_file", 1), tool("write_file", 2), tool("run_tests", 3)]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": f"Please mend the {prose(9, 3)}. {prose(4, 120)}"}]}
    ]
    bodies = []
    for turn in range(6):
        if turn == 3:
            tools = [tools[0], tool("search", 5), *tools[1:]]
        sent = [dict(message, content=[dict(block) for block in message["content"]]) for message in messages]
        sent[-1]["content"][-1]["cache_control"] = MARKER
        system = [{"type": "text", "text": f"You mend code. {prose(6, 300)}", "cache_control": MARKER}]
        bodies.append(
            {"model": MAIN, "max_tokens": 32000, "stream": True, "tools": tools, "system": system, "messages": sent}
        )
        use = {
            "type": "tool_use",
            "id": f"toolu_{turn}",
            "name": "read_file",
            "input": {"path": f"src/{WORDS[turn]}.py"},
        }
        result = {"type": "tool_result", "tool_use_id": f"toolu_{turn}", "content": prose(turn + 20, 80)}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return bodies


def small_body(text: str, max_tokens: int) -> dict[str, Any]:
    """A request on the side."""
    content = [{"type": "text", "text": text}]
    return {"model": SMALL, "max_tokens": max_tokens, "messages": [{"role": "user", "content": content}]}


def pair(
    number: int, at: float, body: dict[str, Any], usage: dict[str, int], url: str = "/v1/messages?beta=true"
) -> dict[str, Any]:
    """A line as claude-trace writes it."""
    request = {
        "timestamp": at,
        "method": "POST",
        "url": f"https://api.anthropic.com{url}",
        "headers": {"User-Agent": "claude-cli/1.0.6 (external, cli)", "authorization": "[REDACTED]"},
        "body": body,
    }
    output = 1 if body["max_tokens"] == 1 else 90 + number
    response: dict[str, Any] = {
        "timestamp": at + 2.5,
        "status_code": 200,
        "headers": {"request-id": f"req_sample_{number:02}"},
    }
    id = f"msg_sample_{number:02}"
    if body.get("stream"):
        response["body_raw"] = stream(id, body["model"], usage, output, "tool_use")
    else:
        response["body"] = {
            "id": id,
            "model": body["model"],
            "content": [],
            "stop_reason": "end_turn",
            "usage": {**usage, "output_tokens": output},
        }
    return {"request": request, "response": response}


def lines() -> list[dict[str, Any]]:
    """The capture."""
    provider = CountingProvider()
    made = []
    side = [small_body("quota", 1), small_body(f"A title for: {prose(9, 3)}", 512)]
    for number, body in enumerate([*side, *main_bodies()]):
        made.append(pair(number, START + 10 * number, body, provider.usage(body)))
    other = pair(90, START + 5, side[1], {}, "/v1/messages/count_tokens")
    lost = pair(91, START + 100, main_bodies()[1], {})
    lost["response"] = None
    return [*made, other, lost]


def main() -> None:
    """Write both files."""
    captured = lines()
    with open(FOLDER / "claude-trace.jsonl", "w", encoding="utf-8", newline="\n") as file:
        for line in captured:
            file.write(json.dumps(line) + "\n")
    with open(FOLDER / "pairs.jsonl", "w", encoding="utf-8", newline="\n") as file:
        for line in captured[:-2]:
            answer = line["response"]
            row = {
                "start": line["request"]["timestamp"],
                "end": answer["timestamp"],
                "request": line["request"]["body"],
                "response": answer.get("body_raw") or answer["body"],
            }
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
