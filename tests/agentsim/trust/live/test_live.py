"""Recorded sessions sent again: to our own endpoint as the real one, and to one that answers as vLLM does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentsim.cache.endpoint_accounts import AskFailed, EndpointAccount
from agentsim.cache.live_endpoint import LiveBackend, chat_usage
from agentsim.cli import main
from agentsim.core.session import Request, Usage
from agentsim.traces.readers.agentsim1 import read_sessions
from agentsim.trust.live.live_prediction import agrees
from tests.agentsim.gateway.serving import MODEL, WORDS, serving
from tests.agentsim.trust.probe.stub import Answer, json_answer, stub

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")
pytest.importorskip("starlette")

KEY = "sk-ant-canary-0123456789abcdef"
MARKER = {"type": "ephemeral"}


def recorded_messages(folder: Path) -> Path:
    """A session of four turns that grow, the last with another system text."""
    with serving(folder) as served, served.anthropic() as client:
        history: list[Any] = []
        for turn in range(4):
            history.append(
                {"role": "user", "content": [{"type": "text", "text": f"turn {turn}", "cache_control": MARKER}]}
            )
            head = WORDS if turn < 3 else "other " + WORDS
            client.messages.create(
                model=MODEL,
                max_tokens=20,
                system=[{"type": "text", "text": head, "cache_control": MARKER}],
                messages=history,
            )
            del history[-1]["content"][0]["cache_control"]
            history.append({"role": "assistant", "content": "yes"})
    return served.trace


def recorded_chat(folder: Path) -> Path:
    with serving(folder) as served, served.openai() as client:
        messages: list[Any] = [{"role": "system", "content": WORDS}]
        for turn in range(3):
            messages.append({"role": "user", "content": f"turn {turn}"})
            client.chat.completions.create(model="gpt-5.1", messages=messages)
            messages.append({"role": "assistant", "content": "yes"})
    return served.trace


def rows_of(out: Path) -> list[dict[str, Any]]:
    return [row for row in map(json.loads, out.read_text().splitlines()) if row["record"] == "request"]


@pytest.mark.loopback
def test_messages_sent_again_are_as_predicted_to_the_token(tmp_path: Path, capfd: Any) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    trace, out = recorded_messages(tmp_path / "one"), tmp_path / "live.jsonl"
    with serving(tmp_path / "two") as served:
        words = ["live", str(trace), "--live", "--yes", "--base-url", served.url, "--speed", "1000"]
        assert main([*words, "--out", str(out)]) == 0
    assert "4 of 4 rows as predicted" in capfd.readouterr().out
    rows = rows_of(out)
    assert [row["predicted"] for row in rows] == [row["reported"] for row in rows]
    reads = [row["reported"]["read"] for row in rows]
    assert reads[0] == reads[3] == 0, "the last one's system text is another"
    assert 0 < reads[1] < reads[2]
    first, second = (session.requests for session in (read_one(trace), read_one(served.trace)))
    assert [request.prompt for request in first] == [request.prompt for request in second], "the very same prompts"
    assert all((request.usage or Usage()).output == 1 for request in second), "one token each"


@pytest.mark.loopback
def test_chats_sent_again_are_as_predicted(tmp_path: Path, capfd: Any) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    trace, out = recorded_chat(tmp_path / "one"), tmp_path / "live.jsonl"
    with serving(tmp_path / "two") as served:
        url = f"{served.url}/v1"
        words = ["live", str(trace), "--api", "openai", "--live", "--yes", "--base-url", url, "--speed", "1000"]
        assert main([*words, "--out", str(out)]) == 0
    assert "3 of 3 rows as predicted" in capfd.readouterr().out
    rows = rows_of(out)
    reads = [row["reported"]["read"] for row in rows]
    assert reads[0] == 0
    assert reads[1] % 128 == 0
    assert reads[1] > 1024
    assert [row["predicted"]["read"] for row in rows] == reads


@pytest.mark.loopback
def test_a_claude_session_on_the_other_api(tmp_path: Path, capfd: Any) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    trace = recorded_messages(tmp_path / "one")
    with serving(tmp_path / "two") as served:
        words = ["live", str(trace), "--api", "openai", "--model", "gpt-5.1", "--live", "--yes", "--speed", "1000"]
        assert main([*words, "--base-url", f"{served.url}/v1"]) == 0
    assert "4 of 4 rows as predicted" in capfd.readouterr().out


def read_one(trace: Path) -> Any:
    (session,) = read_sessions([str(trace)])
    return session


class Engine:
    """A server that keeps whole blocks of 16 tokens of four characters, and says so in vLLM's words."""

    def __init__(self, *, silent: bool = False, broken: bool = False) -> None:
        self.silent = silent
        self.broken = broken
        self.seen: list[str] = []

    def __call__(self, _number: int, body: dict[str, Any]) -> Answer:
        assert body["max_tokens"] == 1
        text = "".join(f"<{message['role']}>{message['content']}" for message in body["messages"])
        total = len(text) // 4
        cached = 0
        if not self.broken:
            cached = max((common(text, old) // 4 // 16 * 16 for old in self.seen), default=0)
        self.seen.append(text)
        usage: dict[str, Any] = {"prompt_tokens": total, "total_tokens": total + 1, "completion_tokens": 1}
        usage["prompt_tokens_details"] = None if self.silent else {"cached_tokens": min(cached, (total - 1) // 16 * 16)}
        choice = {"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "length"}
        return json_answer(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [choice],
                "usage": usage,
            }
        )


def common(one: str, other: str) -> int:
    length = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        length += 1
    return length


@pytest.mark.loopback
@pytest.mark.parametrize(
    ("engine", "code", "words"),
    [
        (Engine(), 0, "4 of 4 rows as predicted"),
        (Engine(broken=True), 1, "2 of 4 rows as predicted"),
        (Engine(silent=True), 0, "does not report what it read"),
    ],
)
def test_a_server_that_reports_as_vllm_does(tmp_path: Path, capfd: Any, engine: Engine, code: int, words: str) -> None:
    trace, out = recorded_messages(tmp_path), tmp_path / "live.jsonl"
    with stub(engine) as server:
        asked = ["live", str(trace), "--api", "openai", "--provider", "vllm", "--model", "qwen3", "--live", "--yes"]
        asked += ["--base-url", f"{server.url}/v1", "--speed", "1000", "--out", str(out)]
        assert main(asked) == code
    assert words in capfd.readouterr().out
    assert {path for path, _, _ in server.asked} == {"/v1/chat/completions"}
    assert {body["model"] for _, _, body in server.asked} == {"qwen3"}
    assert server.asked[0][1]["authorization"] == "Bearer none", "no key where none was named"
    if engine.silent:
        assert [row["reported"]["read"] for row in rows_of(out)] == [None] * 4, "unknown is not zero"


def test_a_plan_opens_no_connection_and_needs_no_key(tmp_path: Path, capfd: Any, monkeypatch: Any) -> None:
    """The sample's eight requests; sockets are refused in this test."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setattr("agentsim.cache.live_endpoint.LiveBackend.__init__", None)
    assert main(["live", "traces/samples/claude-trace.jsonl"]) == 0
    page = capfd.readouterr().out
    assert "8 requests to api.anthropic.com" in page
    assert "at most $" in page
    assert "Nothing was sent" in page
    assert main(["live", "traces/samples/claude-trace.jsonl", "--limit", "3", "--max-tokens", "5"]) == 0
    page = capfd.readouterr().out
    assert "3 requests" in page
    assert "at most 15 tokens" in page
    assert main(["live", "traces/samples/claude-trace.jsonl", "--live"]) == 2, "no key"
    assert main(["live", "traces/samples/claude-trace.jsonl", "--provider", "nobody"]) == 2
    assert main(["live", "traces/samples/atlas-14.usage.jsonl"]) == 3, "rows without prompts cannot be sent"
    fingerprint = tmp_path / "f.jsonl"
    assert main(["convert", "traces/samples/claude-trace.jsonl", str(fingerprint), "--fingerprint"]) == 0
    capfd.readouterr()
    assert main(["live", str(fingerprint)]) == 3, "nor those without words"
    assert "its words were not kept" in capfd.readouterr().err


def test_rules_of_the_users_own_predict(tmp_path: Path, capfd: Any) -> None:
    """The sample's requests are ten seconds apart: of entries that live for five, nothing is read."""
    rules = tmp_path / "mine.toml"
    rules.write_text(
        'provider = "anthropic"\nread_until = 2026-11-01\n'
        '[[like]]\nvalue = "anthropic"\nsource = "the bundled rules hold elsewhere"\nconfidence = "high"\n'
        '[[lives_short]]\nvalue = 5\nsource = "invented for this test"\nconfidence = "low"\n'
    )
    assert main(["live", "traces/samples/claude-trace.jsonl"]) == 0
    assert "predicted: 6,681 of 10,595 tokens read" in capfd.readouterr().out
    assert main(["live", "traces/samples/claude-trace.jsonl", "--rules", str(rules)]) == 0
    assert "predicted: 0 of 10,595 tokens read" in capfd.readouterr().out


@pytest.mark.loopback
def test_rows_take_standard_output_and_the_page_the_other(tmp_path: Path, capfd: Any, monkeypatch: Any) -> None:
    trace = recorded_messages(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    capfd.readouterr()
    with stub(Engine()) as server:
        asked = ["live", str(trace), "--api", "openai", "--provider", "vllm", "--model", "qwen3", "--live", "--yes"]
        assert main([*asked, "--base-url", f"{server.url}/v1", "--speed", "1000", "--out", "-"]) == 0
    streams = capfd.readouterr()
    assert [json.loads(line)["record"] for line in streams.out.splitlines()] == ["run", *["request"] * 4]
    assert "4 of 4 rows as predicted" in streams.err
    assert set(tmp_path.iterdir()) == before


@pytest.mark.loopback
def test_the_first_failure_ends_it_and_tells_no_key(tmp_path: Path, capfd: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("LIVE_KEY", KEY)
    trace, out = recorded_messages(tmp_path), tmp_path / "live.jsonl"
    capfd.readouterr()
    good: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
    good |= {"stop_reason": "max_tokens"}
    good |= {"stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 1}}
    bad = {"type": "error", "error": {"type": "overloaded_error", "message": f"{KEY} is busy"}}
    with stub(lambda number, _: json_answer(good) if number == 1 else json_answer(bad, 529)) as server:
        words = ["live", str(trace), "--live", "--yes", "--base-url", server.url, "--key-env", "LIVE_KEY"]
        assert main([*words, "--speed", "1000", "--out", str(out)]) == 3
    assert len(server.asked) == 2, "never again, and nothing after it"
    streams = capfd.readouterr()
    assert "request 2 of 4 failed (HTTP 529)" in streams.err
    for text in (streams.out, streams.err, out.read_text()):
        assert "canary" not in text


def test_gaps_are_kept_or_shortened() -> None:
    """Recorded at 0, 10 and 70 s; at ten times the speed they go out after 0, 1 and 7 s."""
    from agentsim.bodies import MessagesReader

    clock, waits = [1000 * 10**9], []

    def wait(seconds: float) -> None:
        waits.append(round(seconds, 3))
        clock[0] += round(seconds * 10**9)

    prompt = MessagesReader().prompt(b'{"model": "m", "messages": [{"role": "user", "content": "x"}]}')
    backend = LiveBackend(
        EndpointAccount("openai", "http://127.0.0.1:9/v1", "none"), speed=10, clock=lambda: clock[0], wait=wait
    )
    backend._ask_chat = lambda *_: Usage(fresh=1)  # type: ignore[method-assign]
    sent = []
    for at in (0, 10, 70):
        served = backend.serve(Request(id=str(at), lane="l", model="m", start=None, prompt=prompt), at * 10**9)
        sent.append(backend.sent // 10**9 - 1000)
        clock[0] += 10**8  # the answer takes a tenth of a second, which the next gap contains
        assert served.usage.fresh == 1
    backend.close()
    assert sent == [0, 1, 7]
    assert waits == [0.9, 5.9]


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 1}, Usage(fresh=100, output=1)),
        ({"prompt_tokens": 100, "prompt_tokens_details": None}, Usage(fresh=100)),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 64}}, Usage(fresh=36, read=64)),
        (
            {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 30}},
            Usage(fresh=6, read=64, write_other=30),
        ),
    ],
)
def test_forms_of_usage(told: dict[str, Any], usage: Usage) -> None:
    assert chat_usage(told) == usage


@pytest.mark.parametrize(
    "told", [{"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 11}}, {"prompt_tokens": -1}]
)
def test_usage_that_cannot_be_meant(told: dict[str, Any]) -> None:
    with pytest.raises(AskFailed):
        chat_usage(told)


def test_a_read_is_compared_in_the_endpoints_own_tokens() -> None:
    """800 of 1,000 predicted is 1,600 of the 2,000 that the endpoint counts; 2 % of 2,000 is 40."""
    predicted = Usage(fresh=200, read=800)
    assert agrees(predicted, Usage(fresh=400, read=1600), 16)
    assert agrees(predicted, Usage(fresh=360, read=1640), 16)
    assert agrees(predicted, Usage(fresh=359, read=1641), 16) is False
    assert agrees(predicted, Usage(fresh=2000), 16) is None
    assert agrees(predicted, Usage(fresh=201, read=799), 16) is False, "the same count: exactly"


GOOD_MESSAGE = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}


@pytest.mark.loopback
@pytest.mark.parametrize(
    "answer",
    [
        (200, "text/html", b"<html>hello</html>"),
        (200, "application/json", b"[]"),
        (200, "application/json", b"\xff\xfe"),
        json_answer(GOOD_MESSAGE),
        json_answer({**GOOD_MESSAGE, "usage": {"input_tokens": -5}}),
        json_answer({**GOOD_MESSAGE, "usage": {"input_tokens": "many"}}),
        json_answer({**GOOD_MESSAGE, "usage": [1]}),
        json_answer({"error": "\x1b[31mred"}, 400),
    ],
)
@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_an_endpoint_that_talks_nonsense(answer: Answer, api: str, capfd: Any) -> None:
    with stub(lambda *_: answer) as server:
        words = ["live", "traces/samples/claude-trace.jsonl", "--api", api, "--live", "--yes", "--speed", "1000"]
        words += ["--base-url", server.url]
        assert main(words) == 3
        assert main(["probe", "--provider", api, "--live", "--yes", "--base-url", server.url]) == 3
    err = capfd.readouterr().err
    assert "request 1 of 8 failed" in err
    assert "four requests: a request failed" in err
    assert "\x1b[31m" not in err


@pytest.mark.loopback
def test_nobody_answers(capfd: Any) -> None:
    words = ["--live", "--yes", "--base-url", "http://127.0.0.1:9"]
    assert main(["live", "traces/samples/claude-trace.jsonl", *words]) == 3
    assert main(["probe", *words]) == 3
    assert "APIConnectionError" in capfd.readouterr().err
