"""Lived sessions as logs: request and response pairs, and ``agentsim/1`` traces with all, some or none of the prompts.

What a log cannot know is left out: hidden facts, calls that nobody logged, and the truth.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.verdicts.documented_rules import effort_in, settings_of
from benchmarks.verdicts.simulated_agent import Life, LivedCall
from benchmarks.verdicts.wire_positions import Json, Position, compact

Lines = list[Json]


def write_lines(path: Path, lines: Lines) -> Path:
    """Write a file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines), encoding="utf-8")
    return path


def by_start(life: Life) -> list[LivedCall]:
    """The logged calls in the order in which they were sent."""
    return sorted(life.logged(), key=lambda call: call.start)


# --- pairs -----------------------------------------------------------------------------------------------------------


def pairs(life: Life) -> Lines:
    """A line for each request with its response, as a logging proxy writes them."""
    return [_pair(life, call) for call in by_start(life)]


def _pair(life: Life, call: LivedCall) -> Json:
    response: Json = {"id": call.id, "model": call.body["model"], "usage": usage_of(call)}
    if call.rules.api == "messages":
        response |= {"type": "message", "role": "assistant", "content": [], "stop_reason": "tool_use"}
    row: Json = {
        "start": round(call.start, 3),
        "first_token": round(call.first_token, 3),
        "end": round(call.end, 3),
        "session": life.id,
        "request": call.body,
        "response": response,
    }
    if call.rules.provider != "openai":
        row["provider"] = call.rules.provider
    if call.host is not None:
        row["host"] = call.host
    return row


def usage_of(call: LivedCall) -> Json:
    """The counters as the provider of the call names them."""
    billed = call.billed
    written = billed.write_short + billed.write_long
    if call.rules.api == "messages":
        split = {
            "ephemeral_5m_input_tokens": billed.write_short,
            "ephemeral_1h_input_tokens": billed.write_long,
        }
        return {
            "input_tokens": billed.fresh,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": billed.read,
            "cache_creation": split,
            "output_tokens": call.output,
        }
    details: Json = {"cached_tokens": billed.read}
    if call.rules.writes_reported:
        details["cache_write_tokens"] = written
    if call.rules.api == "responses":
        counters = {"input_tokens": billed.total, "input_tokens_details": details, "output_tokens": call.output}
        return counters | {"total_tokens": billed.total + call.output}
    counters = {"prompt_tokens": billed.total, "completion_tokens": call.output}
    counters |= {"total_tokens": billed.total + call.output, "prompt_tokens_details": details}
    if call.rules.provider == "deepseek":
        counters |= {
            "prompt_cache_hit_tokens": billed.read,
            "prompt_cache_miss_tokens": billed.total - billed.read,
        }
    return counters


# --- agentsim/1 ------------------------------------------------------------------------------------------------------


def full_trace(life: Life) -> Lines:
    """Prompts with tools, system text and messages."""
    return _trace(life, "full")


def messages_trace(life: Life) -> Lines:
    """Prompts without tools and system text, as a session log of a harness knows them."""
    return _trace(life, "messages")


def counters_trace(life: Life) -> Lines:
    """Counters and times alone."""
    return _trace(life, "usage")


def _trace(life: Life, known: str) -> Lines:
    calls = by_start(life)
    purposes = {call.lane: call.purpose for call in reversed(calls)}
    lanes = [
        {"id": lane, "title": lane, "purpose": purposes.get(lane, "main")} | ({"parent": parent} if parent else {})
        for lane, parent in life.lanes.items()
        if lane in purposes
    ]
    header: Json = {
        "record": "session",
        "format": "agentsim/1",
        "id": f"{life.id}.{known}",
        "source_format": "agentsim/1",
        "completeness": known,
        "digests": "plain",
        "text": known != "usage",
        "lanes": lanes,
        "requests": len(calls),
    }
    if life.family == "codex":
        header["harness"] = "codex"
    rows: Lines = [header]
    for call in calls:
        for kind, _ in call.since:
            if kind in ("compaction", "clearing"):
                event = {"record": "event", "kind": kind, "time": f"{call.start:.3f}", "lane": call.lane}
                rows.append(event | {"before": call.id})
        rows.append(_request(call, known))
    return rows


def _request(call: LivedCall, known: str) -> Json:
    billed = call.billed
    usage: Json = {"fresh": billed.fresh, "read": billed.read, "output": call.output}
    if call.rules.api == "messages":
        usage |= {"write_5m": billed.write_short, "write_1h": billed.write_long}
    elif call.rules.writes_reported:
        usage["write_other"] = billed.write_short + billed.write_long
    row: Json = {
        "record": "request",
        "id": call.id,
        "lane": call.lane,
        "model": call.body["model"],
        "provider": call.rules.provider,
        "start": f"{call.start:.3f}",
        "first_token": f"{call.first_token:.3f}",
        "end": f"{call.end:.3f}",
        "purpose": call.purpose,
        "usage": usage,
    }
    if call.parent is not None:
        row["parent"] = call.parent
    if call.host is not None:
        row["host"] = call.host
    settings = settings_in(call)
    if known == "full":
        row["settings"] = settings
    elif known == "messages":
        row["settings"] = [pair for pair in settings if pair[0] == "effort"]
    if known != "usage":
        row["prompt"] = _prompt([p for p in call.positions if known == "full" or p.section == "messages"])
    return row


def settings_in(call: LivedCall) -> list[list[str]]:
    """The parameters of a body that it states, as (name, JSON)."""
    found = settings_of(call.body, call.positions, call.rules)
    body = call.body
    stated: dict[str, Any] = {
        "tool_choice": body.get("tool_choice"),
        "thinking": body.get("thinking"),
        "speed": body.get("speed"),
        "effort": effort_in(body),
        "betas": sorted(body["betas"]) if "betas" in body else None,
        "verbosity": found["verbosity"],
        "text_format": found["text_format"],
        "prompt_cache_key": body.get("prompt_cache_key"),
    }
    pairs = {name: compact(value) for name, value in stated.items() if value is not None}
    if call.rules.api == "messages":
        pairs |= {"images_present": compact(bool(found["images"])), "citations": compact(bool(found["citations"]))}
    return [[name, value] for name, value in sorted(pairs.items())]


def _prompt(positions: list[Position]) -> Json:
    breakpoints = [[at, p.lifetime] for at, p in enumerate(positions) if p.lifetime is not None]
    prompt: Json = {"blocks": [_block(position) for position in positions]}
    if breakpoints:
        prompt["breakpoints"] = breakpoints
    return prompt


def _block(position: Position) -> Json:
    block: dict[str, Any] = {
        "section": position.section,
        "kind": position.kind,
        "digest": hashlib.blake2b(position.data.encode(), digest_size=16).hexdigest(),
        "tokens": position.tokens,
        "origin": "measured",
        "message": position.message,
        "part": position.part,
        "text": position.main + (f"\x1e{position.rest}" if position.rest else ""),
    }
    if position.role is not None:
        block["role"] = position.role
    if position.name is not None:
        block["name"] = position.name
    if position.shape is not None:
        block["shape"] = position.shape
    return block


FORMS: dict[str, Callable[[Life], Lines]] = {
    "pairs": pairs,
    "agentsim/1": full_trace,
    "messages": messages_trace,
    "counters": counters_trace,
}
"""What is written of each session, but for the logs of harnesses."""
