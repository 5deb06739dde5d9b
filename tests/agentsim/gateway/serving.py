"""An emulated endpoint beside a test, and clients for it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentsim.core.session import Session
from agentsim.gateway.answer_script import DEFAULT
from agentsim.gateway.serve.emulated_endpoint import emulated
from agentsim.traces.readers.agentsim1 import read_sessions

WORDS = "alpha bravo charlie delta echo foxtrot golf hotel india juliett " * 300
"""About 3,000 tokens: more than any model's minimum that is used here."""

BASH = {"name": "Bash", "description": "Runs a command.", "input_schema": {"type": "object"}}
MODEL = "claude-sonnet-4-6"


class Served:
    """An endpoint that is being served. ``sessions`` reads its trace once it has stopped."""

    def __init__(self, url: str, port: int, trace: Path) -> None:
        self.url = url
        self.port = port
        self.trace = trace

    def sessions(self) -> list[Session]:
        return list(read_sessions([str(self.trace)]))

    def anthropic(self, **more: Any) -> Any:
        import anthropic

        return anthropic.Anthropic(base_url=self.url, api_key="sk-ant-dummy", **{"max_retries": 0, **more})

    def openai(self, **more: Any) -> Any:
        import openai

        return openai.OpenAI(base_url=f"{self.url}/v1", api_key="sk-dummy", **{"max_retries": 0, **more})

    def openai_async(self) -> Any:
        import openai

        return openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key="sk-dummy", max_retries=0)

    def raw(self, data: bytes, *, seconds: float = 5.0) -> bytes:
        """Send bytes as they are and read until the endpoint closes or says no more for a while."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as client:
            client.sendall(data)
            return read_all(client)

    def post(self, body: bytes, path: str = "/v1/messages", *headers: str) -> bytes:
        """A POST of a body that closes its connection."""
        head = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", "Content-Type: application/json"]
        head += [f"Content-Length: {len(body)}", "Connection: close", *headers]
        return self.raw("\r\n".join([*head, "", ""]).encode() + body)


def read_all(client: socket.socket) -> bytes:
    """What comes until the other side closes."""
    parts = []
    try:
        while part := client.recv(65536):
            parts.append(part)
    except (TimeoutError, ConnectionResetError):
        pass
    return b"".join(parts)


def status_of(answer: bytes) -> int:
    """The status of an HTTP answer."""
    return int(answer.split(b" ", 2)[1])


@contextmanager
def serving(folder: Path, **more: Any) -> Iterator[Served]:
    """An endpoint with a trace in a folder, served while the block runs."""
    trace = folder / "trace.jsonl"
    endpoint = emulated(more.pop("replier", DEFAULT), trace=str(trace), **more)
    with endpoint.server.beside():
        yield Served(endpoint.server.url, endpoint.server.port, trace)
    endpoint.sessions.finish()
    assert endpoint.sessions.failure is None
