"""How many requests the emulated endpoint answers: not streamed, bodies of 10 KB, on loopback, at most two cores.

``python -m benchmarks.gateway`` starts the endpoint as a process of its own and asks it from this one, over a few
connections that each wait for their answer. It prints requests a second and the 50th and 99th percentile of the time
that an answer takes. Bodies are those of agents that grow turn by turn, so that the cache has work to do.

``--first-byte`` measures instead what the recorder adds to the first byte of a streamed answer: the same requests with
and without it, in turns, and the difference of the medians.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

BODY_BYTES = 10_000
MODEL = "claude-sonnet-4-6"
WORDS = "the quick brown fox jumps over the lazy dog and runs back home again "


def bodies(agent: int, turns: int) -> Iterator[bytes]:
    """Bodies of one agent, of about ``BODY_BYTES`` each: a head that all share, and a history of ``turns`` turns that
    then begins anew."""
    system = [{"type": "text", "text": WORDS * 60, "cache_control": {"type": "ephemeral"}}]
    tools = [{"name": "Bash", "description": WORDS * 4, "input_schema": {"type": "object"}}]
    run = 0
    while True:
        messages: list[dict[str, object]] = [{"role": "user", "content": f"agent {agent} run {run}"}]
        for turn in range(turns):
            filler = (
                (WORDS * 100)[: max(BODY_BYTES - 4800 - len(json.dumps(messages)), 100)] if turn == 0 else WORDS * 2
            )
            text = {"type": "text", "text": f"{run} {turn} {filler}", "cache_control": {"type": "ephemeral"}}
            messages.append({"role": "user", "content": [text]})
            body = {"model": MODEL, "max_tokens": 100, "system": system, "tools": tools, "messages": messages}
            body["metadata"] = {"user_id": f"bench_session_{agent}"}
            yield json.dumps(body).encode()
            del text["cache_control"]
            messages.append({"role": "assistant", "content": f"answer {turn}"})
        run += 1


class Load(NamedTuple):
    """What a load came to: seconds, the time of each answer, bytes sent, and processor time of the server."""

    took: float
    times: list[float]
    sent: int
    used: float


async def ask(port: int, agent: int, turns: int, deadline: float, times: list[float]) -> int:
    """One agent: asks, waits for the answer, and asks again until the deadline. Returns the bytes it sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    sent = 0
    try:
        for body in bodies(agent, turns):
            begun = time.perf_counter()
            if begun > deadline:
                break
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", answer)
            if not answer.startswith(b"HTTP/1.1 200") or length is None:
                raise SystemExit(f"refused: {answer[:200]!r}")
            await reader.readexactly(int(length[1]))
            times.append(time.perf_counter() - begun)
            sent += len(body)
    finally:
        writer.close()
    return sent


async def load(pid: int, port: int, connections: int, turns: int, seconds: float) -> Load:
    """All agents at once, after a second of warming up."""
    warm: list[float] = []
    await asyncio.gather(*(ask(port, 1000 + n, turns, time.perf_counter() + 1.0, warm) for n in range(connections)))
    used = cpu_seconds(pid)
    times: list[float] = []
    begun = time.perf_counter()
    sent = await asyncio.gather(*(ask(port, n, turns, begun + seconds, times) for n in range(connections)))
    return Load(time.perf_counter() - begun, times, sum(sent), cpu_seconds(pid) - used)


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percentile(times: list[float], share: float) -> float:
    ordered = sorted(times)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


@contextmanager
def started(*words: str) -> Iterator[tuple[int, int]]:
    """agentsim in a process of its own: its process id and its port."""
    process = subprocess.Popen([sys.executable, "-m", "agentsim", *words], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", line)
        if found is None:
            raise SystemExit(f"the endpoint did not start: {line!r}")
        yield process.pid, int(found[1])
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def first_byte(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder, started("serve", "--port", "0") as (_, port):
        trace = os.path.join(folder, "trace.jsonl")
        upstream = f"http://127.0.0.1:{port}"
        with started("record", "--upstream", upstream, "--port", "0", "--trace", trace) as (_, relay):
            bare, through = asyncio.run(in_turns(port, relay, rounds))
    added = statistics.median(through) - statistics.median(bare)
    print(
        f"first byte: {statistics.median(bare) * 1000:.2f} ms bare, {statistics.median(through) * 1000:.2f} ms through "
        f"the recorder, {added * 1000:.2f} ms added (medians of {rounds}), "
        f"p99 {percentile(through, 0.99) * 1000:.1f} ms"
    )


async def in_turns(port: int, relay: int, rounds: int) -> tuple[list[float], list[float]]:
    """The times to the first byte of streamed answers, without and with the recorder."""
    found: tuple[list[float], list[float]] = ([], [])
    asks = [
        (await asyncio.open_connection("127.0.0.1", one), one, times)
        for one, times in zip((port, relay), found, strict=True)
    ]
    source = bodies(0, 8)
    for count in range(rounds + 20):
        data = json.dumps({**json.loads(next(source)), "stream": True}).encode()
        for (reader, writer), own, times in asks:
            head = f"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{own}\r\nContent-Type: application/json\r\n"
            begun = time.perf_counter()
            writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
            got = await reader.read(65536)
            took = time.perf_counter() - begun
            while b"\r\n0\r\n\r\n" not in got:
                got = got[-10:] + await reader.read(65536)
            if count >= 20:
                times.append(took)
    for (_, writer), _, _ in asks:
        writer.close()
    return found


def run(connections: int, turns: int, seconds: float, traced: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace = ["--trace", os.path.join(folder, "trace.jsonl")] if traced else []
        with started("serve", "--port", "0", *trace) as (pid, port):
            took, times, sent, used = asyncio.run(load(pid, port, connections, turns, seconds))
            with open(f"/proc/{pid}/status") as status:
                peak = next((row.split()[1] for row in status if row.startswith("VmHWM")), "0")
    print(
        f"{len(times) / took:,.0f} requests/s over {took:.1f} s, {connections} connections, "
        f"bodies of {sent / len(times) / 1000:.1f} kB, p50 {percentile(times, 0.5) * 1000:.1f} ms, "
        f"p99 {percentile(times, 0.99) * 1000:.1f} ms, "
        f"server CPU {used / len(times) * 1e6:.0f} µs a request, server peak {int(peak) // 1024} MiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Load on the emulated endpoint, on loopback.")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--turns", type=int, default=8, help="turns of a conversation before it begins anew")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--no-trace", action="store_true", help="write no trace of the load")
    parser.add_argument("--first-byte", action="store_true", help="measure the recorder")
    options = parser.parse_args()
    if options.first_byte:
        first_byte(300)
        return
    run(options.connections, options.turns, min(options.seconds, 60.0), not options.no_trace)


if __name__ == "__main__":
    main()
