"""Endpoints of a test's own making, on loopback: what they are asked is kept, what they answer is given."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, str, bytes]
"""Status, content type, body."""


class Stub:
    """What was asked: the paths, headers and bodies, in order."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []


@contextmanager
def stub(answer: Callable[[int, dict[str, Any]], Answer]) -> Iterator[Stub]:
    """Serve while the block runs. ``answer`` gets the number of the request (from 1) and its body."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                served.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                status, kind, data = answer(len(served.asked), body)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Stub(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def json_answer(value: object, status: int = 200) -> Answer:
    return status, "application/json", json.dumps(value).encode()


def events_answer(events: list[dict[str, Any]]) -> Answer:
    """A stream of events, each named by its type."""
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
    return 200, "text/event-stream", "".join(lines).encode()


def message_events(usage: dict[str, Any], *outputs: int) -> Answer:
    """A streamed message that reports its output so far, again and again."""
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage | {"output_tokens": 1},
    }
    text = {"type": "text_delta", "text": "word"}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": text},
        {"type": "content_block_stop", "index": 0},
    ]
    events += [
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": output}}
        for output in outputs
    ]
    return events_answer([*events, {"type": "message_stop"}])
