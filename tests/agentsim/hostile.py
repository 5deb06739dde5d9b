"""Logs whose every name and word attacks the terminal that shows it."""

from __future__ import annotations

import json
from pathlib import Path

PAYLOADS = (
    "\x1b]52;c;ZXZpbA==\x07",  # writes the clipboard
    "\x1b[2J\x1b[H",  # clears the screen
    "\x1b]0;owned\x07",  # renames the window
    "\x9b2J\x9d0;owned\x9c",  # the same with C1 controls
    "\rforged",
    "\u202ereversed",
    "[/x]",
    "[@click=app.quit]x[/]",
    "\n  9  forged row",
    "\u2028\u200b\ufeff",
)
ATTACK = "".join(PAYLOADS)
NAME = "bad\x1b]0;owned\x07\u202e[red]\n.jsonl"
"""A file name; the system allows it."""


def claude_code_log(folder: Path, name: str = NAME, word: str = ATTACK) -> Path:
    """A Claude Code log of three requests, all of whose words are ``word``; the third lost what the second wrote.

    Its last two lines cannot be used: one is no JSON, one is cut off.
    """
    lines = []
    split = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
    for number, (written, read) in enumerate([(20_000, 0), (1_000, 20_000), (22_000, 0)]):
        parent = f"a{number - 1}" if number else None
        common = {"sessionId": word, "version": word, "cwd": word, "gitBranch": word, "isSidechain": False}
        user = {
            **common,
            "type": "user",
            "uuid": f"u{number}",
            "parentUuid": parent,
            "timestamp": f"2026-01-05T10:00:{number * 20:02d}.000Z",
            "message": {"role": "user", "content": word},
        }
        assistant = {
            **common,
            "type": "assistant",
            "uuid": f"a{number}",
            "parentUuid": f"u{number}",
            "timestamp": f"2026-01-05T10:00:{number * 20 + 5:02d}.000Z",
            "requestId": f"{word}{number}",
            "message": {
                "id": f"{word}{number}",
                "role": "assistant",
                "model": word,
                "content": [{"type": "tool_use", "id": word, "name": word, "input": {word: word}}],
                "stop_reason": word,
                "diagnostics": {"cache_miss_reason": {"type": word}} if number == 2 else None,
                "usage": {
                    "input_tokens": 2,
                    "cache_creation_input_tokens": written,
                    "cache_read_input_tokens": read,
                    "output_tokens": 100,
                    "cache_creation": {**split, "ephemeral_5m_input_tokens": written},
                    "service_tier": word if word == ATTACK else "standard",
                },
            },
        }
        lines += [compact(user), compact(assistant)]
    lines += [
        compact({"type": word, "sessionId": word}),
        "not json " + word.replace("\n", ""),
        '{"type": "assis',
    ]
    path = folder / name
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def compact(record: dict[str, object]) -> str:
    """A record as Claude Code writes it."""
    return json.dumps(record, separators=(",", ":"))
