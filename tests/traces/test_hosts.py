"""Servers by name: what tells them apart is kept, what may be a secret is not."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.bodies import openai_replies
from agentsim.bodies.answering_hosts import host_named, host_of_address
from agentsim.traces.readers import helicone, litellm, otel, pairs
from tests.traces.captures import jsonl

SECRET = "sk-live-0123456789"


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://api.deepinfra.com/v1/openai", "api.deepinfra.com"),
        (f"https://user:{SECRET}@gateway.example:8443/v1?key={SECRET}", "gateway.example:8443"),
        (f"https://Example.OpenAI.azure.com/openai/deployments/x?api-key={SECRET}#top", "example.openai.azure.com"),
        ("http://localhost:8001/v1", "localhost:8001"),
        ("localhost:8002", "localhost:8002"),
        ("http://[::1]:8000/v1", "[::1]:8000"),
        (f"{SECRET}@", None),
        (SECRET, None),
        (f"https://{SECRET}@", None),
        (f"https://a@b:{SECRET}@host.example/", "host.example"),
        (f"https://host.example\\@{SECRET}", "host.example"),
        (f"https://host.example:{SECRET}/", None),
        ("https://bad host/", None),
        ("", None),
        ("//", None),
        (None, None),
        (["https://a.example"], None),
        ("https://" + "a" * 200, None),
    ],
)
def test_of_an_address_only_the_host_is_kept(address: object, host: str | None) -> None:
    assert host_of_address(address) == host


@given(st.text(max_size=60))
def test_no_address_comes_back_with_more_than_a_host(text: str) -> None:
    for address in (text, f"https://{text}", f"https://u:{SECRET}@{text}"):
        host = host_of_address(address)
        assert host is None or not set(host) & set("/?#@ \\\x1b")
        assert host is None or SECRET not in host


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("DeepInfra", "DeepInfra"),
        (" Amazon Bedrock ", "Amazon Bedrock"),
        ("io.net", "io.net"),
        ("deepinfra/fp8", "deepinfra/fp8"),
        (msgspec.Raw(b'"Novita"'), "Novita"),
        (msgspec.Raw(b'{"a":1}'), None),
        (msgspec.Raw(b""), None),
        (f"https://x:{SECRET}@h", None),
        ("a\x1b[31mb", None),
        ("", None),
        (7, None),
        ("x" * 101, None),
    ],
)
def test_names_of_servers(told: object, name: str | None) -> None:
    assert host_named(told) == name


USAGE = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
COMPLETION = {"id": "gen-1", "provider": "DeepInfra", "model": "deepseek/deepseek-v4", "usage": USAGE, "choices": []}


def test_a_completion_that_names_who_answered() -> None:
    assert openai_replies.read(msgspec.json.encode(COMPLETION)).reply.host == "DeepInfra"
    assert openai_replies.read(msgspec.json.encode({**COMPLETION, "provider": {"x": 1}})).reply.host is None


def test_a_stream_that_names_who_answered() -> None:
    first = {**COMPLETION, "usage": None, "choices": [{"delta": {"content": "a"}}]}
    last = {**COMPLETION, "choices": []}
    data = b"".join(b"data: " + msgspec.json.encode(event) + b"\n\n" for event in (first, last)) + b"data: [DONE]\n\n"
    assert openai_replies.read(data).reply.host == "DeepInfra"


def test_pairs(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    asked = {"model": "deepseek/deepseek-v4", "messages": [{"role": "user", "content": "hello"}]}
    path.write_bytes(jsonl({"request": asked, "response": COMPLETION}))
    (session,) = pairs.read_sessions([str(path)])
    assert [request.host for request in session.requests] == ["DeepInfra"]


def test_rows_of_litellm(tmp_path: Path) -> None:
    def row(id: str, **fields: object) -> dict[str, object]:
        counted = {"prompt_tokens": 9, "completion_tokens": 1}
        return {"request_id": id, "call_type": "completion", "startTime": 1, "model": "gpt-5.4", **counted, **fields}

    path = tmp_path / "rows.jsonl"
    path.write_bytes(
        jsonl(
            row("a", api_base=f"https://x:{SECRET}@eu.example/v1/{SECRET}", model_id="dep-1"),
            row("b", api_base="", model_id="dep-2"),
            row("c", hidden_params={"api_base": "https://us.example/v1"}),
            row("d"),
        )
    )
    (session,) = litellm.read_sessions([str(path)])
    hosts = {request.id: request.host for request in session.requests}
    assert hosts == {"a": "eu.example", "b": "dep-2", "c": "us.example", "d": None}


def test_rows_of_helicone_with_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    row = {"request_id": "a", "request_created_at": "2026-05-28T20:26:40Z", "model": "deepseek/deepseek-v4"}
    path.write_bytes(jsonl({**row, "provider": "OPENROUTER", "response_body": COMPLETION}))
    (session,) = helicone.read_sessions([str(path)])
    assert [(request.provider, request.host) for request in session.requests] == [("openrouter", "DeepInfra")]


def test_spans_name_the_server(tmp_path: Path) -> None:
    told = {
        "gen_ai.operation.name": {"stringValue": "chat"},
        "gen_ai.request.model": {"stringValue": "gpt-5.4"},
        "gen_ai.usage.input_tokens": {"intValue": "10"},
        "server.address": {"stringValue": "eu.example"},
        "server.port": {"intValue": "8443"},
    }
    span = {
        "spanId": "s1",
        "startTimeUnixNano": "1790000000000000000",
        "attributes": [{"key": key, "value": value} for key, value in told.items()],
    }
    path = tmp_path / "spans.jsonl"
    path.write_bytes(jsonl({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    (session,) = otel.read_sessions([str(path)])
    assert [request.host for request in session.requests] == ["eu.example"]
