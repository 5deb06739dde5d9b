"""Any JSON at all, to every path: answered or refused, never a defect; and the same requests get the same answers."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.bodies.sealed_summary import SealedSummary, sealed
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.routed_backend import RoutedProvider
from agentsim.gateway.answer_script import DEFAULT
from agentsim.gateway.emulator import Emulator
from agentsim.gateway.secret_removal import Secrets
from agentsim.gateway.serve.application import application

pytest.importorskip("starlette")

TEXT = st.text(max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
MARKER = {"type": "ephemeral"}
GOOD: dict[str, Any] = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 50,
    "system": [{"type": "text", "text": "you", "cache_control": MARKER}],
    "tools": [{"type": "function", "name": "Bash", "input_schema": {"type": "object"}, "function": {"name": "Bash"}}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}], "tool_calls": []},
    ],
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "go", "prompt_cache_breakpoint": None}]},
        {"type": "function_call", "call_id": "t1", "name": "Bash", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "t1", "output": "x"},
    ],
    "thinking": {"type": "adaptive"},
    "metadata": {"user_id": "u_session_s"},
    "diagnostics": {"previous_message_id": None},
    "reasoning": {"effort": "low"},
    "text": {"format": {"type": "text"}},
    "prompt_cache_key": "k",
    "prompt_cache_options": None,
    "previous_response_id": None,
    "conversation": None,
    "store": True,
    "cache_control": MARKER,
    "stream": False,
}
"""A body that every path takes."""

PATHS = (
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/responses/compact",
    "/v1/responses/input_tokens",
    "/v1/conversations",
)

MARK = {"mode": "explicit", "ttl": "30m"}
MARKED: dict[str, Any] = {
    "model": "gpt-5.6-sol",
    "instructions": "you",
    "messages": [
        {"role": "developer", "content": [{"type": "text", "text": "you", "prompt_cache_breakpoint": MARK}]},
        {"role": "tool", "tool_call_id": "t1", "content": [{"type": "text", "text": "x"}]},
    ],
    "input": [
        {"type": "compaction", "id": "cmp_1", "encrypted_content": sealed(SealedSummary(2, "It went well."))},
        {"role": "user", "content": [{"type": "input_text", "text": "go", "prompt_cache_breakpoint": MARK}]},
        {
            "type": "function_call_output",
            "call_id": "t1",
            "output": [{"type": "input_text", "text": "x", "prompt_cache_breakpoint": MARK}],
        },
    ],
    "tools": [{"type": "function", "name": "Bash", "function": {"name": "Bash"}}],
    "prompt_cache_key": "k",
    "prompt_cache_options": {"mode": "explicit", "ttl": "30m"},
    "prompt_cache_retention": "24h",
    "store": True,
    "background": False,
    "items": [{"type": "message", "role": "user", "content": "go"}],
    "metadata": {},
}
"""The same for the paths that know breakpoints of their own kind."""

MARKED_PATHS = (
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/responses/compact",
    "/v1/responses/input_tokens",
    "/v1/conversations",
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in a value."""
    found = [path] if path else []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        found += places(inner, (*path, key))
    return found


PLACES = places(GOOD)
MARKED_PLACES = places(MARKED)


def endpoint() -> Callable[[str, bytes], tuple[int, bytes]]:
    """An endpoint without sockets: a path and a body in, a status and an answer out."""
    clock = iter(range(10**18, 10**18 + 10**15, 10**6))
    emulator = Emulator(
        backends={"anthropic": ModeledProvider(), "openai": RoutedProvider()},
        replier=DEFAULT,
        clock=lambda: next(clock),
    )
    app = application(emulator, Secrets())

    def ask(path: str, body: bytes) -> tuple[int, bytes]:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "server": ("127.0.0.1", 80),
            "headers": [(b"host", b"localhost:80"), (b"content-type", b"application/json")],
        }
        asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])

    return ask


ASK = endpoint()


@pytest.mark.parametrize(
    ("path", "body"), [*((path, GOOD) for path in PATHS), *((path, MARKED) for path in MARKED_PATHS)]
)
def test_the_body_that_is_changed_below_is_good(path: str, body: dict[str, Any]) -> None:
    assert ASK(path, json.dumps(body).encode())[0] == 200


@given(st.sampled_from(PATHS), st.lists(st.tuples(st.sampled_from(PLACES), JSON), min_size=1, max_size=3))
def test_a_body_with_anything_anywhere(path: str, changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    check(path, GOOD, changes)


@given(st.sampled_from(MARKED_PATHS), st.lists(st.tuples(st.sampled_from(MARKED_PLACES), JSON), min_size=1, max_size=3))
def test_breakpoints_with_anything_anywhere(path: str, changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    check(path, MARKED, changes)


def check(path: str, good: dict[str, Any], changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    body = copy.deepcopy(good)
    for place, value in changes:
        inner: Any = body
        try:
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue
    status, answer = ASK(path, json.dumps(body).encode("utf-8", "surrogatepass"))
    assert status in (200, 400, 404), answer
    if status != 200:
        assert json.loads(answer)["error"]["message"]


@given(st.sampled_from(PATHS), st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes(path: str, body: bytes) -> None:
    assert ASK(path, body)[0] in (200, 400)


def test_the_same_requests_get_the_same_bytes() -> None:
    bodies = [json.dumps({**GOOD, "max_tokens": size, "stream": size % 2 == 0}).encode() for size in (9, 10, 11, 10)]

    def run() -> list[tuple[int, bytes]]:
        ask = endpoint()
        return [ask(path, body) for body in bodies for path in PATHS]

    first = run()
    assert {status for status, _ in first} == {200}
    assert run() == first
