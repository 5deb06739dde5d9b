"""Documents and transcript lines as Claude Code writes them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

NOW = 1_796_040_000
MODEL = "claude-opus-4-8"
"""$5 for a million tokens fresh, $0.50 read, $6.25 written for five minutes, $10 for an hour, $25 of output."""


def stamp(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def reply(number: int, at: int, read: int, write: int, *, output: int = 100, **more: Any) -> str:
    usage = {
        "input_tokens": 0,
        "cache_creation_input_tokens": write,
        "cache_read_input_tokens": read,
        "output_tokens": output,
        "cache_creation": {"ephemeral_5m_input_tokens": write, "ephemeral_1h_input_tokens": 0},
    }
    message = {
        "id": f"msg_{number}",
        "role": "assistant",
        "type": "message",
        "model": more.pop("model", MODEL),
        "content": [{"type": "text", "text": "the secret word is PINEAPPLE"}],
        "usage": usage,
    }
    record = {
        "type": "assistant",
        "uuid": f"u{number}",
        "sessionId": "s1",
        "requestId": f"req_{number}",
        "timestamp": stamp(at),
        "isSidechain": False,
        "message": message,
        **more,
    }
    return json.dumps(record) + "\n"


def document(transcript: Path | None = None, **more: Any) -> bytes:
    made: dict[str, Any] = {
        "session_id": "s1",
        "transcript_path": "" if transcript is None else str(transcript),
        "cwd": "/secret/PINEAPPLE",
        "model": {"id": MODEL, "display_name": "Opus"},
        "effort": {"level": "medium"},
        "cost": {"total_cost_usd": 1.25},
    }
    made.update(more)
    return json.dumps(made).encode()


def cache(**more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "warm": True,
        "caching_observed": True,
        "ttl": "5m",
        "expires_at": NOW + 252,
        "requests": 5,
        "misses": 0,
        "expected_rebuilds": 0,
        "hit_ratio": 0.94,
        "cache_write_tokens": 39_341,
        "miss_recache_tokens": 0,
        "last_miss_at": None,
        "recache_tokens_if_cold": 412_000,
    }
    made.update(more)
    return made
