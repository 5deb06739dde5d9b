"""The recorder: passes everything on as it came, at once, and keeps a trace of it. Its upstream here is emulated."""

from __future__ import annotations

import json
import re
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentsim.core.session import Session
from agentsim.diagnose import diagnose
from agentsim.gateway.answer_pace import Pace
from agentsim.gateway.answer_script import AnswerScript
from agentsim.gateway.injected_faults import Faults, parse_faults
from agentsim.gateway.serve.emulated_endpoint import recording
from agentsim.traces.readers.agentsim1 import read_sessions
from tests.agentsim.gateway.serving import BASH, MODEL, WORDS, Served, serving, status_of

pytestmark = pytest.mark.loopback
anthropic = pytest.importorskip("anthropic")
pytest.importorskip("openai")

CANARY = "canary-0a1b2c3d4e5f6071"
FIVE = {"type": "ephemeral"}


@contextmanager
def passing(folder: Path, upstream: str, *, unread: int = 0, **more: Any) -> Iterator[Served]:
    """A recorder in front of an upstream, served while the block runs."""
    trace = folder / "recorded.jsonl"
    endpoint = recording(upstream, trace=str(trace), **more)
    with endpoint.server.beside():
        yield Served(endpoint.server.url, endpoint.server.port, trace)
    endpoint.recorder.sessions.finish()
    assert endpoint.recorder.sessions.failure is None
    assert endpoint.recorder.unread == unread


def body(*texts: str, **more: Any) -> dict[str, Any]:
    return {
        "model": MODEL,
        "max_tokens": 100,
        "tools": [BASH],
        "system": [{"type": "text", "text": WORDS, "cache_control": FIVE}],
        "messages": [{"role": "user", "content": text} for text in texts],
        **more,
    }


def rows(session: Session) -> list[Any]:
    return [(request.lane, request.usage, request.stop_reason, request.model) for request in session.requests]


@pytest.mark.parametrize("fingerprint", [False, True])
def test_a_recording_says_what_the_upstream_says(tmp_path: Path, fingerprint: bool) -> None:
    """The same rows, lanes and verdicts on both sides, streamed or not, over three APIs."""
    with serving(tmp_path) as upstream, passing(tmp_path, upstream.url, fingerprint=fingerprint) as relay:
        with relay.anthropic() as client:
            direct = client.messages.create(**body("a"))
            with client.messages.stream(**body("a", "b")) as events:
                streamed = events.get_final_message()
            client.messages.create(**body("a", "b", "c", tools=[{**BASH, "description": "Changed."}]))
            assert client.messages.count_tokens(model=MODEL, messages=body("a")["messages"]).input_tokens > 0
            assert client.models.list().data
        with relay.openai() as client:
            messages = [{"role": "user", "content": WORDS}]
            client.chat.completions.create(model="gpt-5.1", messages=messages)
            for _ in client.chat.completions.create(
                model="gpt-5.1", messages=messages, stream=True, stream_options={"include_usage": True}
            ):
                pass
            client.responses.create(model="gpt-5.1", input=WORDS)
            with client.responses.stream(model="gpt-5.1", input=WORDS) as events:
                events.until_done()
    (emulated,), (recorded,) = upstream.sessions(), relay.sessions()
    assert direct.usage.cache_creation_input_tokens > 0
    assert streamed.usage.cache_read_input_tokens == direct.usage.cache_creation_input_tokens
    if not fingerprint:
        anthropic_rows = [row for row in rows(emulated) if row[3] == MODEL]
        assert [row for row in rows(recorded) if row[3] == MODEL] == anthropic_rows
        reads = [r.usage and (r.usage.read, r.usage.total_input) for r in emulated.requests if r.provider == "openai"]
        assert [
            r.usage and (r.usage.read, r.usage.total_input) for r in recorded.requests if r.provider == "openai"
        ] == reads
    kinds = [[(v.kind, v.cause, v.lost) for v in diagnose(session).verdicts][:3] for session in (emulated, recorded)]
    assert [told[:2] for told in kinds[0]] == [told[:2] for told in kinds[1]]
    for (_, _, with_words), (_, _, recorded_loss) in zip(*kinds, strict=True):
        # What is left of an edited block counts where its words are known.
        assert 0 <= with_words - recorded_loss <= (32 if fingerprint else 0)
    assert [kind for kind, _, _ in kinds[1]] == ["first", "hit", "miss"]
    times = [(request.start, request.first_token, request.end) for request in recorded.requests]
    assert all(a is not None and b is not None and c is not None and a < b <= c for a, b, c in times)
    assert [request.id for request in recorded.requests if not fingerprint][:1] in ([], ["req_agentsim_00000001"])


@pytest.mark.parametrize("fingerprint", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_a_recording_of_the_breakpoint_contract(tmp_path: Path, fingerprint: bool, stream: bool) -> None:
    """Explicit and unasked breakpoints, and a history that the server holds: the same on both sides."""
    part = {"type": "input_text", "text": WORDS, "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}}
    with (
        serving(tmp_path) as upstream,
        passing(tmp_path, upstream.url, fingerprint=fingerprint) as relay,
        relay.openai() as client,
    ):

        def ask(**given: Any) -> Any:
            common: dict[str, Any] = {"model": "gpt-5.6-sol", "prompt_cache_key": "k", **given}
            if not stream:
                return client.responses.create(**common)
            with client.responses.stream(**common) as events:
                return events.get_final_response()

        first = ask(input=[{"role": "developer", "content": [part]}, {"role": "user", "content": "one"}])
        second = ask(input="two", previous_response_id=first.id)
        ask(input="three", previous_response_id=second.id, prompt_cache_options={"mode": "explicit"})
    (emulated,), (recorded,) = upstream.sessions(), relay.sessions()
    assert [request.usage for request in recorded.requests] == [request.usage for request in emulated.requests]
    assert [len(request.prompt or ()) for request in recorded.requests] == [2, 4, 6]
    counted = [request.prompt.tokens for request in recorded.requests if request.prompt is not None]
    assert counted[:2] == [answer.usage.input_tokens - 2 for answer in (first, second)], "two tokens belong to no block"
    verdicts = [diagnose(session).verdicts for session in (emulated, recorded)]
    assert [[verdict.kind for verdict in one][:2] for one in verdicts] == [["first", "hit"]] * 2
    assert verdicts[0][2].kind == verdicts[1][2].kind


@pytest.mark.parametrize("way", ["address", "item"])
def test_a_recording_of_a_compaction(tmp_path: Path, way: str) -> None:
    """A summary on the server, and what goes on from it: the same rows, purposes and events on both sides."""
    common: dict[str, Any] = {"model": "gpt-5.6-sol", "instructions": WORDS, "prompt_cache_key": "k"}
    with serving(tmp_path) as upstream, passing(tmp_path, upstream.url) as relay, relay.openai() as client:
        first = client.responses.create(input="go", **common)
        if way == "address":
            folded = client.responses.compact(input="more", previous_response_id=first.id, **common)
            history = [item.to_dict(warnings=False) for item in folded.output]
            client.responses.create(input=[*history, {"role": "user", "content": "on"}], **common)
        else:
            asked: Any = [{"role": "user", "content": "more"}, {"type": "compaction_trigger"}]
            folded = client.responses.create(input=asked, previous_response_id=first.id, **common)
            client.responses.create(input="on", previous_response_id=folded.id, **common)
    (emulated,), (recorded,) = upstream.sessions(), relay.sessions()
    for session in (emulated, recorded):
        assert [request.purpose for request in session.requests] == ["main", "summary", "main"]
        assert [event.kind for event in session.events] == ["compaction"]
        assert session.requests[2].prompt is not None
        kinds = [block.kind for block in session.requests[2].prompt]
        assert kinds == ["text", "text", "text", "compaction", "text"]
    assert [request.usage for request in recorded.requests] == [request.usage for request in emulated.requests]


def test_answers_pass_unchanged(tmp_path: Path) -> None:
    data = json.dumps(body("go", stream=True)).encode()
    with serving(tmp_path) as upstream, passing(tmp_path, upstream.url, unread=1) as relay:
        for served_body, path in ((data, "/v1/messages?beta=true"), (b"{", "/v1/messages"), (b"{}", "/v1/nothing")):
            one, other = upstream.post(served_body, path), relay.post(served_body, path)
            assert status_of(one) == status_of(other)
            if status_of(one) != 200:
                bodies = [answer.partition(b"\r\n\r\n")[2] for answer in (one, other)]
                assert re.sub(rb"e\d{7}", b"", bodies[0]) == re.sub(rb"e\d{7}", b"", bodies[1])
            else:
                assert other.count(b"event: ") == one.count(b"event: ")
        assert (
            status_of(
                relay.raw(f"HEAD / HTTP/1.1\r\nHost: localhost:{relay.port}\r\nConnection: close\r\n\r\n".encode())
            )
            == 200
        )
        assert status_of(relay.raw(f"GET / HTTP/1.1\r\nHost: evil.example:{relay.port}\r\n\r\n".encode())) == 421


def test_errors_are_events_and_no_requests(tmp_path: Path) -> None:
    faults = Faults(parse_faults(["529@2"]), 0)
    with (
        serving(tmp_path, faults=faults) as upstream,
        passing(tmp_path, upstream.url) as relay,
        relay.anthropic() as client,
    ):
        client.messages.create(**body("a"))
        with pytest.raises(anthropic.APIStatusError) as caught:
            client.messages.create(**body("a", "b"))
        assert caught.value.status_code == 529
        client.messages.create(**body("a", "b"))
    (session,) = relay.sessions()
    assert [event.detail for event in session.events] == ["HTTP 529 /v1/messages: the provider's answer"]
    assert [request.parent for request in session.requests] == [None, session.requests[0].id]
    assert len(session.lanes) == 1


def test_a_first_request_that_fails_begins_no_lane(tmp_path: Path) -> None:
    with (
        serving(tmp_path, faults=Faults(parse_faults(["529@1"]), 0)) as upstream,
        passing(tmp_path, upstream.url) as relay,
        relay.anthropic(max_retries=1) as client,
    ):
        client.messages.create(**body("a"))
        client.messages.create(**body("a", "b"))
    for side in (upstream, relay):
        (session,) = side.sessions()
        assert [lane.id for lane in session.lanes] == ["main"]
        assert [request.lane for request in session.requests] == ["main", "main"]


def test_an_upstream_that_is_not_there(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with passing(tmp_path, f"http://127.0.0.1:{port}") as relay:
        answer = relay.post(json.dumps(body("go")).encode())
        assert status_of(answer) == 502
        assert b"cannot be reached" in answer


def test_an_answer_that_breaks_off_breaks_off_here_too(tmp_path: Path) -> None:
    """What was read of it is kept, and called unfinished."""
    usage = b'"usage":{"input_tokens":7,"output_tokens":1}'
    start = b'{"type":"message_start","message":{"id":"msg_1","model":"m",' + usage + b"}}"
    event = b"event: message_start\ndata: " + start + b"\n\n"

    def half(server: socket.socket) -> None:
        client, _ = server.accept()
        client.recv(65536)
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        client.sendall(head + f"{len(event):x}\r\n".encode() + event + b"\r\n")
        time.sleep(0.2)
        client.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=half, args=(server,))
        thread.start()
        with passing(tmp_path, f"http://127.0.0.1:{server.getsockname()[1]}") as relay:
            answer = relay.post(json.dumps(body("go", stream=True)).encode())
            assert event.split(b"\n")[1] in answer
            assert not answer.endswith(b"0\r\n\r\n"), "no proper end: the client sees that it broke off"
            assert status_of(relay.post(b"{}", "/", "Origin: http://evil.example")) == 403, "and the recorder lives"
        thread.join()
    (session,) = relay.sessions()
    assert [(request.output_final, request.usage and request.usage.fresh) for request in session.requests] == [
        (False, 7)
    ]
    assert [event.kind for event in session.events] == ["interrupted", "api_error"], "the foreign page was told too"


def test_pieces_pass_at_once(tmp_path: Path) -> None:
    """The first byte is less than five milliseconds later than without the recorder; pieces are not gathered."""
    data = json.dumps(body("go", stream=True)).encode()

    def first_byte(served: Served, count: int) -> list[float]:
        found = []
        with socket.create_connection(("127.0.0.1", served.port), timeout=10) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            head = f"POST /v1/messages HTTP/1.1\r\nHost: localhost:{served.port}\r\nContent-Type: application/json\r\n"
            request = f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data
            for _ in range(count):
                begun = time.perf_counter()
                client.sendall(request)
                got = client.recv(65536)
                found.append(time.perf_counter() - begun)
                while b"message_stop" not in got:
                    got = got[-100:] + client.recv(65536)
                time.sleep(0.005)
        return found[5:]

    added = 1.0
    with (
        serving(tmp_path, replier=AnswerScript(after="word " * 100)) as upstream,
        passing(tmp_path, upstream.url) as relay,
    ):
        for _ in range(3):  # a busy machine may spoil a round
            bare, through = first_byte(upstream, 45), first_byte(relay, 45)
            added = min(added, statistics.median(through) - statistics.median(bare))
            if added < 0.005:
                break
    assert added < 0.005, f"{added * 1000:.2f} ms"


def test_a_stream_is_not_gathered(tmp_path: Path) -> None:
    data = json.dumps(body("go", stream=True)).encode()
    with (
        serving(tmp_path, replier=AnswerScript(after="word " * 60), pace=Pace.of(0, 100)) as upstream,
        passing(tmp_path, upstream.url) as relay,
        socket.create_connection(("127.0.0.1", relay.port), timeout=10) as client,
    ):
        head = f"POST /v1/messages HTTP/1.1\r\nHost: localhost:{relay.port}\r\nContent-Type: application/json\r\n"
        client.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        arrivals, got = [], b""
        while b"message_stop" not in got:
            got += client.recv(65536)
            arrivals.append(time.perf_counter())
    assert len(arrivals) > 8
    assert arrivals[-1] - arrivals[0] > 0.3, "over the 0.7 seconds that the upstream takes"


def test_no_credential_touches_the_disk(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    secret = [f"x-api-key: {CANARY}", f"Authorization: Bearer {CANARY}", f"Cookie: a={CANARY}"]
    account = "9f8e7d6c-account"
    sent = body(f"my key is {CANARY}", metadata={"user_id": f"user_1_{account}_session_abc"})
    (tmp_path / "up").mkdir()
    with serving(tmp_path / "up") as upstream:
        (tmp_path / "down").mkdir()
        with passing(tmp_path / "down", upstream.url) as relay:
            relay.post(json.dumps(sent).encode(), "/v1/messages", *secret)
            relay.post(json.dumps({**sent, "stream": True}).encode(), "/v1/messages", *secret)
            live = relay.trace.read_bytes()
    for path in (tmp_path / "down", tmp_path / "up"):
        written = b"".join(file.read_bytes() for file in path.rglob("*") if file.is_file()) + live
        assert CANARY.encode() not in written
        assert account.encode() not in written
    told = capfd.readouterr()
    assert CANARY not in told.out + told.err
    (session,) = read_sessions([str(relay.trace)])
    assert session.id == "abc"
    assert len(session.requests) == 2


def test_what_cannot_be_understood_passes_and_is_counted(tmp_path: Path) -> None:
    with serving(tmp_path) as upstream:
        endpoint = recording(upstream.url, trace=str(tmp_path / "recorded.jsonl"))
        with endpoint.server.beside():
            relay = Served(endpoint.server.url, endpoint.server.port, tmp_path / "recorded.jsonl")
            assert status_of(relay.post(b"not json")) == 400
            assert status_of(relay.post(b"{}", "/v1/responses")) == 400
        assert endpoint.recorder.unread == 2
        endpoint.recorder.sessions.finish()
        assert not (tmp_path / "recorded.jsonl").exists(), "nothing came that belongs in a trace"


def test_answers_that_end_out_of_order_are_put_in_order(tmp_path: Path) -> None:
    slow = json.dumps(body("slow", stream=True, max_tokens=100)).encode()
    quick = json.dumps(body("quick", stream=True, max_tokens=5)).encode()
    with (
        serving(tmp_path, replier=AnswerScript(after="word " * 90), pace=Pace.of(20, 150)) as upstream,
        passing(tmp_path, upstream.url) as relay,
    ):
        thread = threading.Thread(target=relay.post, args=(slow,))
        thread.start()
        time.sleep(0.2)
        relay.post(quick)
        thread.join()
        live = relay.sessions()[0].requests
    (session,) = relay.sessions()
    assert [request.usage and request.usage.output for request in live] == [100, 5], "in order of their start"
    assert live == session.requests
    assert len(session.lanes) == 2, "one request at a time in a lane"
