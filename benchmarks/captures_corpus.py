"""Synthetic captures of whole bodies, and logs that are folders, as large as wanted, in the shapes of real ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.exports_corpus import BEGIN, SPACING, TURNS, Json, anthropic, line, stamp, usage_of

URL = "https://api.anthropic.com/v1/messages"


def _reply(number: int) -> Json:
    whole, read = usage_of(number)
    usage = {"input_tokens": 3, "cache_read_input_tokens": read, "cache_creation_input_tokens": whole - read}
    reply = {"id": f"m{number}", "type": "message", "role": "assistant", "model": "claude-opus-4-8"}
    content = [{"type": "text", "text": f"{number} done"}]
    return {**reply, "content": content, "stop_reason": "end_turn", "usage": {**usage, "output_tokens": 9}}


def _har(count: int) -> Iterator[bytes]:
    entries: list[Json] = []
    for number in range(count):
        request: Json = {"method": "POST", "url": URL, "headers": [{"name": "accept", "value": "*/*"}]}
        request |= {"postData": {"mimeType": "application/json", "text": json.dumps(anthropic(number))}}
        content = {"mimeType": "application/json", "text": json.dumps(_reply(number))}
        response: Json = {"status": 200, "headers": [], "content": content}
        entry: Json = {"startedDateTime": stamp(number * SPACING), "time": 3000.0, "request": request}
        entries.append({**entry, "response": response, "timings": {"send": 1, "wait": 500, "receive": 2499}})
    log = {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": entries}
    yield json.dumps({"log": log}).encode()


def _vcr(count: int) -> Iterator[bytes]:
    yield b"interactions:\n"
    for number in range(count):
        body, reply = (json.dumps(json.dumps(value)) for value in (anthropic(number), _reply(number)))
        request = f"- request:\n    body: {body}\n    headers: {{}}\n    method: POST\n    uri: {URL}\n"
        response = (
            "  response:\n    body:\n      string: " + reply + "\n    headers: {}\n    status:\n      code: 200\n"
        )
        yield (request + response).encode()
    yield b"version: 1\n"


def _pairs(count: int) -> Iterator[bytes]:
    for number in range(count):
        at = number * SPACING
        row: Json = {"start_time": stamp(at), "end_time": stamp(at + 3), "session_id": f"{number // TURNS}"}
        yield line({**row, "request": anthropic(number), "response": _reply(number)})


def _anthropic_batch(count: int) -> Iterator[bytes]:
    for number in range(count):
        yield line({"custom_id": f"c{number}", "params": anthropic(number)})
    for number in range(count):
        yield line({"custom_id": f"c{number}", "result": {"type": "succeeded", "message": _reply(number)}})


def _raw_bodies(folder: Path, count: int) -> None:
    for number in range(count):
        asked = f"{number:08d}-0000-4000-8000-000000000000.request", anthropic(number), 0
        answered = f"r{number}.response", _reply(number), 3
        for name, body, late in (asked, answered):
            path = folder / f"{name}.json"
            path.write_text(json.dumps(body))
            os.utime(path, (BEGIN + number * SPACING + late,) * 2)


def _claude_code(folder: Path, count: int) -> None:
    from benchmarks.logs_corpus import write

    write(folder, "source", projects=1, sessions=1, requests=count)
    (folder / "totals.json").unlink(missing_ok=True)


def _entire(folder: Path, count: int) -> None:
    place = folder / "ab" / "0123456789" / "0"
    place.mkdir(parents=True)
    _claude_code(folder / "made", count)
    (log,) = (folder / "made").rglob("*.jsonl")
    log.rename(place / "full.jsonl")
    (place / "metadata.json").write_text(json.dumps({"session_id": "s", "agent": "Claude Code"}))


def _native(folder: Path, count: int) -> None:
    """The project's own format, as ``agentsim trace convert`` writes it."""
    source = folder / "pairs.jsonl"
    source.write_bytes(b"".join(_pairs(count)))
    command = [sys.executable, "-m", "agentsim", "convert", str(source), str(folder / "trace.jsonl")]
    subprocess.run(command, check=True, capture_output=True)
    source.unlink()


CAPTURES: dict[str, tuple[str, int, Callable[[int], Iterator[bytes]]]] = {
    "har": ("har", 20, _har),
    "vcr-cassette": ("yaml", 200, _vcr),
    "pairs": ("jsonl", 20, _pairs),
    "anthropic-batch": ("jsonl", 20, _anthropic_batch),
}
"""How a file of each format is made, by its name: its end, and how many calls of others weigh as much as one of it."""

FOLDERS: dict[str, tuple[int, Callable[[Path, int], None]]] = {
    "raw-bodies": (20, _raw_bodies),
    "claude-code": (1, _claude_code),
    "entire-checkpoints": (1, _entire),
    "agentsim/1": (20, _native),
}
"""How a folder of each format is filled."""
