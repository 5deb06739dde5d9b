"""Synthetic serving traces: rows that are nothing but counters, or counters and the identities of blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.exports_corpus import BEGIN, Json, line, stamp
from benchmarks.serving_corpus import write as write_mooncake

BLOCK = 64
TURNS = 40
BLOCKS = 40
"""Blocks that a turn adds."""


def _ids(number: int) -> list[int]:
    """The blocks of the n-th request: those of the turns before it in its conversation, and its own."""
    conversation, turn = divmod(number, TURNS)
    first = 1 + conversation * TURNS * BLOCKS
    return list(range(first, first + (turn + 1) * BLOCKS))


def _weka(count: int) -> Iterator[bytes]:
    requests: list[Json] = []
    for number in range(count):
        ids = _ids(number)
        row: Json = {"t": number * 5.0, "type": "n", "model": "claude-opus-4-5", "in": len(ids) * BLOCK, "out": 154}
        requests.append({**row, "hash_ids": ids, "stop": "tool_use", "api_time": 4.2})
    head = {"id": "trace", "models": ["claude-opus-4-5"], "block_size": BLOCK, "hash_id_scope": "local"}
    yield json.dumps({**head, "requests": requests}, separators=(",", ":")).encode()


def _dynamo(count: int) -> Iterator[bytes]:
    for number in range(count):
        ids = _ids(number)
        at = BEGIN * 1000 + number * 5000
        replay = {"trace_block_size": BLOCK, "input_length": len(ids) * BLOCK, "input_sequence_hashes": ids}
        request: Json = {"request_id": f"d{number}", "model": "m", "input_tokens": len(ids) * BLOCK, "output_tokens": 9}
        request |= {"cached_tokens": 0, "request_received_ms": at, "total_time_ms": 900.0, "replay": replay}
        context = {"session_id": f"{number // TURNS}", "trajectory_id": f"{number // TURNS}"}
        event = {"schema": "dynamo.agent.trace.v1", "event_type": "request_end", "event_time_unix_ms": at + 900}
        yield line({**event, "agent_context": context, "request": request})


def _aiperf(count: int) -> Iterator[bytes]:
    for number in range(count):
        ids = _ids(number)
        row: Json = {"timestamp": number * 5000, "input_length": len(ids) * BLOCK, "output_length": 9}
        yield line({**row, "block_size": BLOCK, "hash_ids": ids})


def _azure(count: int) -> Iterator[bytes]:
    yield b"TIMESTAMP,ContextTokens,GeneratedTokens\n"
    for number in range(count):
        yield f"{stamp(number).replace('T', ' ').replace('Z', '0000')},{1000 + number % 9000},{number % 500}\n".encode()


def _burst(count: int) -> Iterator[bytes]:
    yield b"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    for number in range(count):
        sizes = f"{1000 + number % 9000},{1 + number % 500},{1001 + number % 9000 + number % 500}"
        yield f"{number * 2},{number // 8},1.5,ChatGPT,{sizes},Conversation log\n".encode()


def _mooncake(path: Path, count: int) -> None:
    write_mooncake(path, count, 60)


def _by_line(make: Callable[[int], Iterator[bytes]]) -> Callable[[Path, int], None]:
    def write(path: Path, count: int) -> None:
        with path.open("wb") as file:
            for data in make(count):
                file.write(data)

    return write


ROWS: dict[str, tuple[str, Callable[[Path, int], None]]] = {
    "mooncake": ("jsonl", _mooncake),
    "weka-kv-trace": ("json", _by_line(_weka)),
    "dynamo": ("jsonl", _by_line(_dynamo)),
    "aiperf": ("jsonl", _by_line(_aiperf)),
    "azure-llm": ("csv", _by_line(_azure)),
    "burst-gpt": ("csv", _by_line(_burst)),
}
"""How a trace of each format is written, by its name: its end, and what writes so many requests."""
