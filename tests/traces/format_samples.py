# ruff: noqa: E501
"""A small log of every format, by the module of its reader. A new reader needs one: a test holds this against the list
of formats, and everything that is tried on all of them is tried on it."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.traces.captures import body, conversation, jsonl, pair, response, usage, user

SAMPLES = Path(__file__).resolve().parents[2] / "traces" / "samples"
START, STAMP = 1_780_000_000, "2026-05-28T20:26:{:02}Z"
COUNTED = {"prompt_tokens": 2000, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 1024}}
GEMINI = {"input": 2000, "output": 9, "cached": 1024, "thoughts": 0, "tool": 0, "total": 2009}
MS = START * 1000

Rows = Callable[[Path], Path]


def _text(name: str, *rows: object) -> Rows:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(jsonl(*rows))
        return path

    return make


def _document(name: str, value: object) -> Rows:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_text(json.dumps(value))
        return path

    return make


def _raw(name: str, data: str) -> Rows:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_text(data)
        return path

    return make


def _copy(name: str) -> Rows:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes((SAMPLES / name).read_bytes())
        return path

    return make


def _agentsim(folder: Path) -> Path:
    from agentsim.traces.readers import agentsim1, claude_trace

    (session,) = claude_trace.read_sessions([str(SAMPLES / "claude-trace.jsonl")])
    path = folder / "trace.jsonl"
    agentsim1.write(session, path)
    return path


def _entire(folder: Path) -> Path:
    place = folder / "ab" / "0123456789" / "1"
    place.mkdir(parents=True)
    (place / "full.jsonl").write_bytes((SAMPLES / "claude-code.jsonl").read_bytes())
    (place / "metadata.json").write_text(json.dumps({"agent": "Claude Code", "session_id": "t1"}))
    return place / "full.jsonl"


def _raw_bodies(folder: Path) -> Path:
    (folder / "r.response.json").write_text(json.dumps(response("m", usage(write=900))))
    path = folder / "a.request.json"
    path.write_text(json.dumps(body(user("x"))))
    return path


def _inspect(folder: Path) -> Path:
    request, said = body(user("x")), response("m")
    event = {"event": "model", "model": "anthropic/claude-opus-5", "timestamp": STAMP.format(1),
             "completed": STAMP.format(4), "call": {"request": request, "response": said}}  # fmt: skip
    sample = {"id": 1, "epoch": 1, "events": [{"event": "state"}, event], "attachments": {}}
    path = folder / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_journal/start.json", "{}")
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample))
    return path


def _crush(folder: Path) -> Path:
    path = folder / "crush.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE sessions (id, parent_session_id, title, cost)")
        database.execute("CREATE TABLE messages (id, session_id, role, parts, model, created_at, updated_at)")
        database.execute("CREATE TABLE files (id)")
        database.execute("INSERT INTO sessions VALUES ('s', NULL, 'title', 0.25)")
        rows = [("u", "user", START), ("a", "assistant", START + 2), ("b", "assistant", START + 9)]
        for id, role, at in rows:
            values = (id, "s", role, "[]", "claude-opus-5", at, at + 1)
            database.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        database.commit()
    return path


def _har_entry(n: int, asked: object) -> dict[str, Any]:
    return {
        "startedDateTime": STAMP.format(n),
        "time": 900,
        "timings": {"send": 1, "wait": 300},
        "request": {
            "url": "https://api.anthropic.com/v1/messages",
            "headers": [],
            "postData": {"text": json.dumps(asked)},
        },
        "response": {"status": 200, "headers": [], "content": {"text": json.dumps(response(f"m{n}", usage(write=9)))}},
    }


CASSETTE = f"""interactions:
- request:
    body: '{json.dumps(body(user("x")))}'
    headers: {{Content-Type: [application/json]}}
    method: POST
    uri: https://api.anthropic.com/v1/messages
  response:
    body: {{string: '{json.dumps(response("m", usage(write=9)))}'}}
    headers: {{Content-Type: [application/json]}}
    status: {{code: 200, message: OK}}
version: 1
"""


def _codex(kind: str, at: int, **payload: Any) -> dict[str, Any]:
    return {"timestamp": STAMP.format(at), "type": kind, "payload": payload}


def _counted(at: int, sent: int, cached: int, total: int) -> dict[str, Any]:
    last = {"input_tokens": sent, "cached_input_tokens": cached, "output_tokens": 9, "total_tokens": sent + 9}
    info = {"last_token_usage": last, "total_token_usage": {**last, "total_tokens": total}}
    return _codex("event_msg", at, type="token_count", info=info)


def _otel_span(n: int) -> dict[str, Any]:
    values: dict[str, Any] = {
        "gen_ai.request.model": "gpt-5.5",
        "gen_ai.provider.name": "openai",
        "gen_ai.operation.name": "chat",
    }
    counts = {
        "gen_ai.usage.input_tokens": 2000,
        "gen_ai.usage.output_tokens": 9,
        "gen_ai.usage.cache_read.input_tokens": 1024,
    }
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
    attributes += [{"key": key, "value": {"intValue": str(value)}} for key, value in counts.items()]
    span = {"traceId": "t", "spanId": f"s{n}", "name": "chat", "startTimeUnixNano": str((START + n) * 10**9),
            "endTimeUnixNano": str((START + n + 1) * 10**9), "attributes": attributes}  # fmt: skip
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "x"}, "spans": [span]}]}]}


def _dynamo(n: int) -> dict[str, Any]:
    request = {"request_id": f"r{n}", "model": "m", "output_tokens": 9, "input_tokens": 128, "cached_tokens": 64,
               "replay": {"trace_block_size": 64, "input_length": 128, "input_sequence_hashes": [1, 2]}}  # fmt: skip
    event = {"schema": "dynamo.agent.trace.v1", "event_type": "request_end", "event_time_unix_ms": MS + n * 1000,
             "agent_context": {"session_id": "s", "trajectory_id": "t"}, "request": request}  # fmt: skip
    return {"timestamp": MS, "event": event}


def _qwen(kind: str, id: str, parent: str | None, at: int, **more: Any) -> dict[str, Any]:
    return {"uuid": id, "parentUuid": parent, "sessionId": "s", "type": kind, "timestamp": STAMP.format(at),
            "message": {"role": kind, "parts": [{"text": "x"}]}, **more}  # fmt: skip


def _pi(id: str, parent: str | None, at: int, **message: Any) -> dict[str, Any]:
    return {"type": "message", "id": id, "parentId": parent, "timestamp": STAMP.format(at),
            "message": {**message, "timestamp": MS + at * 1000}}  # fmt: skip


SAID = {"model": "gpt-5.5", "choices": [], "usage": COUNTED}
OPENCODE = {
    "info": {"id": "ses_1", "projectID": "p", "version": "1.2.0", "title": "t"},
    "messages": [
        {"info": {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": MS}}, "parts": []},
        {"info": {"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "modelID": "gpt-5.5", "providerID": "openai",
                  "time": {"created": MS + 1000, "completed": MS + 3000}, "cost": 0.01, "finish": "stop",
                  "tokens": {"input": 900, "output": 9, "reasoning": 0, "cache": {"read": 1024, "write": 0}}},
         "parts": []},
    ],
}  # fmt: skip

BY_MODULE: dict[str, Rows] = {
    "agentsim1": _agentsim,
    "entire": _entire,
    "har": _document("a.har", {"log": {"version": "1.2", "creator": {"name": "x"}, "entries": [
        _har_entry(n, asked) for n, asked in enumerate(conversation(2))]}}),
    "claude_trace": _text("log.jsonl", *(
        pair(asked, response(f"m{n}", usage(write=9)), at=n, headers={"anthropic-beta": "b"})
        for n, asked in enumerate(conversation(2)))),
    "claude_code": _copy("claude-code.jsonl"),
    "stream_json": _text(
        "out.jsonl",
        {"type": "system", "subtype": "init", "session_id": "s", "model": "claude-opus-5", "tools": [], "mcp_servers": []},
        {"type": "assistant", "session_id": "s", "message": {**response("m", usage(write=9)), "content": []}},
        {"type": "result", "subtype": "success", "session_id": "s", "usage": {"output_tokens": 5}, "num_turns": 1},
    ),
    "raw_bodies": _raw_bodies,
    "inspect_ai": _inspect,
    "codex": _text(
        "rollout.jsonl",
        _codex("session_meta", 0, id="s", cwd="/w", cli_version="0.145.0", model_provider="openai"),
        _codex("turn_context", 1, turn_id="t", model="gpt-5.5"),
        _codex("event_msg", 2, type="user_message", message="x"),
        _counted(5, 2000, 1024, 2009),
        _counted(9, 2100, 2000, 4118),
    ),
    "dsh": _text(
        "session.jsonl",
        {"type": "session", "createdAt": MS, "id": "s"},
        {"type": "request/header", "seq": 1, "time": MS, "data": {"header": {
            "config": {"provider": "deepseek-official", "model": "deepseek-v4-flash"}, "system": "s", "tools": "[]"}}},
        {"type": "step/start", "seq": 2, "time": MS + 1000, "data": {}},
        {"type": "assistant/message", "seq": 3, "time": MS + 2000, "data": {"message": {"role": "assistant"},
            "usage": {"inputTokens": 900, "outputTokens": 9, "cacheReadTokens": 1024}}},
    ),
    "pi": _text(
        "pi.jsonl",
        {"type": "session", "version": 3, "id": "s", "timestamp": STAMP.format(0), "cwd": "/w"},
        _pi("a", None, 1, role="user", content="x"),
        _pi("b", "a", 2, role="assistant", provider="openai", model="gpt-5.5", stopReason="stop",
            content=[{"type": "text", "text": "y"}], usage={"input": 900, "output": 9, "cacheRead": 1024, "cacheWrite": 0}),
    ),
    "opencode": _document("opencode.json", OPENCODE),
    "crush": _crush,
    "gemini": _text(
        "session.jsonl",
        {"sessionId": "s", "projectHash": "h", "startTime": STAMP.format(0), "kind": "main"},
        {"id": "u", "type": "user", "timestamp": STAMP.format(1), "content": "x"},
        {"id": "a", "type": "gemini", "timestamp": STAMP.format(3), "model": "gemini-3-pro", "tokens": GEMINI},
    ),
    "gemini_stream": _text(
        "out.jsonl",
        {"type": "init", "timestamp": STAMP.format(0), "session_id": "s", "model": "gemini-3-pro"},
        {"type": "message", "role": "user", "content": "x", "timestamp": STAMP.format(1)},
        {"type": "message", "role": "assistant", "content": "y", "delta": True, "timestamp": STAMP.format(3)},
        {"type": "result", "status": "success", "timestamp": STAMP.format(4),
         "stats": {"input_tokens": 2000, "cached": 1024, "output_tokens": 9, "tool_calls": 0}},
    ),
    "qwen": _text(
        "chat.jsonl",
        _qwen("user", "u", None, 1),
        _qwen("assistant", "a", "u", 3, model="qwen3-coder", usageMetadata={
            "promptTokenCount": 2000, "candidatesTokenCount": 9, "cachedContentTokenCount": 1024, "totalTokenCount": 2009}),
    ),
    "kimi": _text(
        "wire.jsonl",
        {"type": "metadata", "protocol_version": "1.10"},
        {"timestamp": START + 0.5, "message": {"type": "TurnBegin", "payload": {"user_input": "x"}}},
        {"timestamp": START + 1.0, "message": {"type": "StepBegin", "payload": {"n": 1}}},
        {"timestamp": START + 3.0, "message": {"type": "StatusUpdate", "payload": {"message_id": "m1", "token_usage": {
            "input_other": 976, "output": 9, "input_cache_read": 1024, "input_cache_creation": 0}}}},
    ),
    "cline": _document("s.messages.json", {"sessionId": "s", "messages": [
        {"id": "u", "role": "user", "ts": MS},
        {"id": "a", "role": "assistant", "ts": MS + 3000, "modelInfo": {"id": "claude-opus-5", "provider": "anthropic"},
         "metrics": {"inputTokens": 2000, "outputTokens": 9, "cacheReadTokens": 1024, "cacheWriteTokens": 900}}]}),
    "openhands": _text("llm.jsonl", {"messages": [{"role": "user", "content": "x"}], "tools": [],
                                     "response": {"id": "r", **SAID}, "timestamp": START + 5, "latency_sec": 2.5}),
    "swe_agent": _document("a.traj.json", {
        "trajectory_format": "mini-swe-agent-1", "info": {"model_stats": {"api_calls": 1, "instance_cost": 0.01}},
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "x"},
                     {"role": "assistant", "content": "y", "extra": {"response": {"id": "r", **SAID}}}]}),
    "copilot": _text(
        "events.jsonl",
        {"type": "session.start", "id": "1", "parentId": None, "timestamp": STAMP.format(0),
         "data": {"sessionId": "s", "producer": "copilot-agent", "copilotVersion": "1.0.68", "selectedModel": "gpt-5.5"}},
        {"type": "assistant.turn_start", "id": "2", "parentId": "1", "timestamp": STAMP.format(1), "data": {}},
        {"type": "assistant.message", "id": "3", "parentId": "2", "timestamp": STAMP.format(2),
         "data": {"messageId": "m", "model": "gpt-5.5", "outputTokens": 9}},
    ),
    "vcr": _raw("cassette.yaml", CASSETTE),
    "openai_batch": _text(
        "batch.jsonl",
        {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions",
         "body": {"model": "gpt-5.5", "messages": [{"role": "user", "content": "x"}]}},
        {"id": "b", "custom_id": "a", "response": {"status_code": 200, "request_id": "r", "body": {"id": "c", **SAID}},
         "error": None},
    ),
    "anthropic_batch": _text(
        "batch.jsonl",
        {"custom_id": "a", "params": body(user("x"))},
        {"custom_id": "a", "result": {"type": "succeeded", "message": response("m", usage(write=9))}},
    ),
    "litellm": _text("spend.jsonl", {"request_id": "a", "call_type": "acompletion", "model": "gpt-5.5", "spend": 0.01,
                                     "startTime": STAMP.format(1), "endTime": STAMP.format(3), "prompt_tokens": 2000,
                                     "completion_tokens": 9, "total_tokens": 2009, "metadata": {"usage_object": COUNTED}}),
    "helicone": _text("requests.jsonl", {
        "request_id": "a", "request_created_at": STAMP.format(1), "response_created_at": STAMP.format(3), "model": "gpt-5.5",
        "provider": "OPENAI", "request_body": {"model": "gpt-5.5", "messages": [{"role": "user", "content": "x"}]},
        "response_body": {"id": "r", **SAID}}),
    "langfuse": _document("observations.json", [{
        "id": "o", "type": "GENERATION", "traceId": "t", "startTime": STAMP.format(1), "endTime": STAMP.format(3),
        "model": "gpt-5.5", "usageDetails": {"input": 2000, "output": 9, "input_cached_tokens": 1024, "total": 2009}}]),
    "langsmith": _document("runs.json", [{
        "id": "r", "run_type": "llm", "trace_id": "t", "start_time": STAMP.format(1), "end_time": STAMP.format(3),
        "extra": {"metadata": {"ls_model_name": "gpt-5.5", "ls_provider": "openai"}}, "outputs": {"usage_metadata": {
            "input_tokens": 2000, "output_tokens": 9, "input_token_details": {"cache_read": 1024}}}}]),
    "otel": _text("spans.jsonl", _otel_span(1), _otel_span(3)),
    "atif": _document("trajectory.json", {
        "schema_version": "ATIF-v1.2", "session_id": "s", "agent": {"name": "a", "version": "1", "model_name": "gpt-5.5"},
        "steps": [{"step_id": 1, "source": "user", "timestamp": STAMP.format(1), "message": "x"},
                  {"step_id": 2, "source": "agent", "timestamp": STAMP.format(3), "message": "y", "metrics": {
                      "prompt_tokens": 2000, "completion_tokens": 9, "cached_tokens": 1024, "cost_usd": 0.01}}]}),
    "dynamo": _text("trace.jsonl", _dynamo(1), _dynamo(3)),
    "weka": _document("weka.json", {
        "id": "w", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "tool_tokens": 0, "system_tokens": 64,
        "requests": [{"t": 0.0, "type": "n", "model": "m", "in": 128, "out": 9, "hash_ids": [1, 2], "api_time": 1.0},
                     {"t": 5.0, "type": "n", "model": "m", "in": 192, "out": 9, "hash_ids": [1, 2, 3], "api_time": 1.0}]}),
    "aiperf": _text("turns.jsonl", {"session_id": "s", "timestamp": 0, "input_length": 600, "output_length": 9,
                                    "hash_ids": [1, 2]},
                    {"session_id": "s", "delay": 1000, "input_length": 1100, "output_length": 9, "hash_ids": [1, 2, 3]}),
    "mooncake": _text("mooncake.jsonl", {"timestamp": 0, "input_length": 600, "output_length": 9, "hash_ids": [1, 2]},
                      {"timestamp": 900, "input_length": 1100, "output_length": 9, "hash_ids": [1, 2, 3]}),
    "lmcache": _raw("lmcache.jsonl", f'{{"timestamp": {START}000000, "input": "a b c", "output": "d"}}\n'),
    "azure_llm": _raw("azure.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2026-05-28 20:26:01.5,900,9\n"),
    "burst_gpt": _raw("burst.csv", "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                                   "5,ChatGPT,900,9,909,Conversation log\n"),
    "usage_lines": _text("usage.jsonl", {"id": "a", "model": "gpt-5.5", "timestamp": START, "usage": COUNTED},
        {"id": "b", "model": "gpt-5.5", "timestamp": START + 9, "usage": COUNTED}),
    "pairs": _text("pairs.jsonl", *({"request": asked, "response": response(f"m{n}"), "start": START + n}
                                    for n, asked in enumerate(conversation(2)))),
}  # fmt: skip
