"""How fast lost prefixes are explained from full request bodies, beside a linter that does the same.

    python -m benchmarks.bodies --peer 'promptcachelint=promptcachelint report {trace}'

400 requests with 39 MB of bodies (``benchmarks/bodies_corpus.py``) are written twice: ``{capture}`` holds requests and
responses as a logging proxy records them, which agentsim reads, and ``{trace}`` one record a line of provider, session,
body and usage. Both hold the same bodies and the same counters. Whole processes are timed, start-up included; what of
our time is spent on diagnosis alone, with the bodies read, is printed below the table.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import BenchmarkError, Program, add_common_options, finish, markdown, race, rows, run

OURS = "agentsim={python} -m benchmarks.bodies --split {capture}"
"""A process that reads all sessions and diagnoses each: ``agentsim replay`` shows one session at a time."""
FIRST = 1_793_000_000
"""Seconds since the epoch: October 2026."""
SPACING = 20
"""Seconds between two requests of a session: well within the lifetime of an entry."""

Json = dict[str, Any]


def write(folder: Path) -> None:
    """Write both files and how many requests they hold."""
    from benchmarks.bodies_corpus import sessions

    count = 0
    with (folder / "capture.jsonl").open("w") as capture, (folder / "trace.jsonl").open("w") as trace:
        for number, bodies in enumerate(sessions(10, 40, 39.0)):
            name = f"session-{number}"
            for index, (body, usage) in enumerate(_with_usage(bodies)):
                count += 1
                at = FIRST + number * 86_400 + index * SPACING
                capture.write(json.dumps(_pair(name, count, at, body, usage)) + "\n")
                trace.write(json.dumps(_record(name, count, at, body, usage)) + "\n")
    (folder / "count.json").write_text(str(count))


def _with_usage(bodies: list[bytes]) -> Iterator[tuple[Json, Json]]:
    """Bodies with the counters of a provider that reads what equals the front of the last body, at 4 bytes a token."""
    before: list[str] = []
    for data in bodies:
        body = json.loads(data)
        blocks = _blocks(body)
        common = next(
            (i for i, (a, b) in enumerate(zip(before, blocks, strict=False)) if a != b), min(len(before), len(blocks))
        )
        read, total = (sum(map(len, part)) // 4 for part in (blocks[:common], blocks))
        yield (
            body,
            {
                "input_tokens": 3,
                "cache_creation_input_tokens": total - read,
                "cache_read_input_tokens": read,
                "output_tokens": 100,
            },
        )
        before = blocks


def _blocks(body: Json) -> list[str]:
    parts: list[Json] = [*body.get("tools", ()), *body["system"]]
    for message in body["messages"]:
        parts += message["content"]
    return [json.dumps({k: v for k, v in part.items() if k != "cache_control"}) for part in parts]


def _pair(session: str, number: int, at: int, body: Json, usage: Json) -> Json:
    answer = {
        "id": f"msg_{number:06d}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": "Done."}],
        "stop_reason": "end_turn",
        "usage": usage,
    }
    url = "https://api.anthropic.com/v1/messages"
    headers = {"content-type": "application/json", "x-claude-code-session-id": session}
    return {
        "request": {"timestamp": float(at), "method": "POST", "url": url, "headers": headers, "body": body},
        "response": {
            "timestamp": at + 3.0,
            "status_code": 200,
            "headers": {"content-type": "application/json", "request-id": f"req_{number:06d}"},
            "body": answer,
        },
    }


def _record(session: str, number: int, at: int, body: Json, usage: Json) -> Json:
    return {
        "provider": "anthropic",
        "id": f"msg_{number:06d}",
        "at": float(at),
        "model": body["model"],
        "session_id": session,
        "session_explicit": True,
        "body": body,
        "usage": {
            "input_tokens": usage["input_tokens"],
            "output_tokens": usage["output_tokens"],
            "cache_read": usage["cache_read_input_tokens"],
            "cache_write": usage["cache_creation_input_tokens"],
        },
    }


def split_time(capture: Path) -> str:
    """Read a capture and diagnose it in this process: the two times, and what was found, as a sentence."""
    from agentsim.diagnose import diagnose
    from agentsim.traces.format_registry import read

    began = time.perf_counter()
    sessions = list(read([str(capture)]))
    between = time.perf_counter()
    found = [diagnose(session) for session in sessions]
    ended = time.perf_counter()
    requests = sum(len(session.requests) for session in sessions)
    misses = sum(verdict.kind == "miss" for diagnosis in found for verdict in diagnosis.verdicts)
    return (
        f"In one process: {requests} requests read in {between - began:.2f} s, "
        f"then diagnosed in {ended - between:.2f} s ({misses} lost prefixes)."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the diagnosis of full bodies beside other programs.")
    add_common_options(parser)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--split", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write is not None:
        return write(given.write)
    if given.split is not None:
        return print(split_time(given.split))
    try:
        with tempfile.TemporaryDirectory(prefix="agentsim-benchmark-") as text:
            folder = Path(text)
            # In processes of their own: this one stays small, as memory is counted from what a child inherits.
            run(Program("corpus", (sys.executable, "-m", "benchmarks.bodies", "--write", text)))
            names = {"capture": f"{text}/capture.jsonl", "trace": f"{text}/trace.jsonl", "python": sys.executable}
            timings = race([Program.parse(p, names) for p in (given.ours or OURS, *given.peer)], given.rounds)
            count = (folder / "count.json").read_text()
            size = (folder / "trace.jsonl").stat().st_size
            table = markdown(rows(f"bodies: {count} requests, {size / 1e6:.0f} MB", timings))
            split = ("split", (sys.executable, "-m", "benchmarks.bodies", "--split", names["capture"]))
            _, sentence = run(Program(*split), keep_output=True) if given.ours is None else (None, "")
        finish("bodies", f"{table}\n\n{sentence.strip()}".strip(), given.page)
    except BenchmarkError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
