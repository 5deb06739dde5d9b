"""What clients may do to the endpoint: send too much, too little, nonsense or nothing. It says so and stays alive."""

from __future__ import annotations

import json
import resource
import socket
import struct
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from agentsim.gateway import request_receiving, response_sending
from agentsim.gateway.answer_pace import Pace
from agentsim.gateway.answer_script import AnswerScript
from agentsim.gateway.serve import http_connections
from tests.agentsim.gateway.serving import MODEL, Served, read_all, serving, status_of

pytestmark = pytest.mark.loopback

GOOD = json.dumps({"model": MODEL, "max_tokens": 9, "messages": [{"role": "user", "content": "go"}]}).encode()


def is_alive(served: Served) -> bool:
    """Whether a good client is answered within a second."""
    begun = time.monotonic()
    return status_of(served.post(GOOD)) == 200 and time.monotonic() - begun < 1


def head(served: Served, *lines: str) -> bytes:
    own = ["POST /v1/messages HTTP/1.1", f"Host: localhost:{served.port}", "Content-Type: application/json"]
    return "\r\n".join([*own, *lines, "", ""]).encode()


def test_bad_bodies_are_refused_without_repeating_them(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    secret = b"PRIVATE-WORDS"
    bodies = {
        b"": 400,
        secret: 400,
        b'{"model": "' + secret: 400,
        b'"' + secret + b'"': 400,
        b"[]": 400,
        b'{"messages": []}': 400,
        b'{"model": 3, "max_tokens": 1, "messages": []}': 400,
        b'{"model": "m", "max_tokens": "' + secret + b'", "messages": []}': 400,
        b'{"model": "m", "max_tokens": 1, "messages": [{"role": "' + secret + b'", "content": ""}]}': 400,
        b'{"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": {"' + secret + b'": 1}}]}': 400,
        b'{"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [{"type": 1}]}]}': 400,
        b'{"model": "m", "max_tokens": 1e999, "messages": []}': 400,
        b'{"model": "\xff\xfe", "max_tokens": 1, "messages": []}': 400,
        b'{"a":' * 100_000: 400,
        b"[" * 1_000_000: 400,
    }
    with serving(tmp_path) as served:
        openai = ("/v1/chat/completions", "/v1/responses", "/v1/responses/compact")
        for path in ("/v1/messages", "/v1/messages/count_tokens", *openai):
            for body, status in bodies.items():
                answer = served.post(body, path)
                assert status_of(answer) == status, (path, body[:60])
                assert secret not in answer
        assert is_alive(served)
    told = capfd.readouterr()
    assert (told.out, told.err) == ("", "")


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1/responses"])
def test_odd_but_legal_json_crashes_nothing(tmp_path: Path, path: str) -> None:
    odd: list[Any] = [None, True, 1.5, "", [], {}, [None], [[]], [{}], {"type": None}, {"type": "text"}, "x" * 10_000]
    with serving(tmp_path) as served:
        for value in odd:
            for field in ("messages", "input", "tools", "system", "model", "metadata", "thinking", "text", "stream"):
                body = {"model": MODEL, "max_tokens": 5, "messages": [{"role": "user", "content": "go"}], "input": "go"}
                body[field] = value
                assert status_of(served.post(json.dumps(body).encode(), path)) in (200, 400), (field, value)
            for content in (value, [value], {"type": "tool_result", "content": value}):
                message = {"role": "user", "content": content}
                body = {"model": MODEL, "max_tokens": 5, "messages": [message], "input": [message]}
                assert status_of(served.post(json.dumps(body).encode(), path)) in (200, 400), content
        assert is_alive(served)


def test_large_bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_receiving, "MOST_BYTES", 2**20)
    monkeypatch.setattr(request_receiving, "MOST_DISCARDED", 4 * 2**20)
    with serving(tmp_path) as served:
        assert status_of(served.post(GOOD + b" " * (2**20 - len(GOOD)))) == 200, "exactly the limit"
        assert status_of(served.post(b" " * (2**20 + 1))) == 413
        declared = served.raw(head(served, "Content-Length: 50000000000"))
        assert status_of(declared) == 413, "refused by what it declares"
        assert b"connection: close" in declared.lower()
        chunk = b"100000\r\n" + b" " * 2**20 + b"\r\n"
        chunked = served.raw(head(served, "Transfer-Encoding: chunked", "Connection: close") + chunk * 2 + b"0\r\n\r\n")
        assert status_of(chunked) == 413, "a body of unknown length is counted"
        whole = head(served, "Transfer-Encoding: chunked", "Connection: close")
        whole += f"{len(GOOD):x}\r\n".encode() + GOOD + b"\r\n0\r\n\r\n"
        assert status_of(served.raw(whole)) == 200
        assert is_alive(served)


def test_fifty_megabytes_are_refused_in_bounded_memory(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        body = bytes(50_000_000)
        assert status_of(served.post(body)) == 413
        del body
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 160_000, "kilobytes: 50 MB here, at most 32 MiB there, and their pieces"
        assert is_alive(served)


def test_the_client_is_told_to_go_on_before_it_sends_a_body(tmp_path: Path) -> None:
    with serving(tmp_path) as served, socket.create_connection(("127.0.0.1", served.port), timeout=5) as client:
        client.sendall(head(served, f"Content-Length: {len(GOOD)}", "Expect: 100-continue", "Connection: close"))
        assert client.recv(100).startswith(b"HTTP/1.1 100")
        client.sendall(GOOD)
        assert status_of(read_all(client)) == 200


def test_a_head_has_a_size_and_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "HEAD_SECONDS", 0.5)
    with serving(tmp_path) as served:
        filler = "X-Filler: " + "a" * 70_000
        assert status_of(served.raw(head(served, filler))) == 431
        assert served.raw(head(served)[:-2] + b"X-More: ") == b"", "a head that never ends is dropped"
        begun = time.monotonic()
        with socket.create_connection(("127.0.0.1", served.port), timeout=5) as silent:
            assert read_all(silent) == b""
        assert 0.3 < time.monotonic() - begun < 3
        assert is_alive(served)


def test_a_body_that_stops_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_receiving, "PATIENCE", 0.3)
    with serving(tmp_path) as served:
        assert status_of(served.raw(head(served, "Content-Length: 100") + b"{")) == 408
        assert is_alive(served)


def test_a_body_that_drips_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte each 50 ms never lets the patience end; the whole body has a time of its own."""
    monkeypatch.setattr(request_receiving, "PATIENCE", 0.4)
    monkeypatch.setattr(request_receiving, "LONGEST", 1.0)
    with serving(tmp_path) as served, socket.create_connection(("127.0.0.1", served.port), timeout=5) as client:
        client.sendall(head(served, "Content-Length: 1000"))
        begun = time.monotonic()
        client.settimeout(0.05)
        answer = b""
        while not answer and time.monotonic() < begun + 5:
            client.sendall(b" ")
            try:
                answer = client.recv(65536)
            except TimeoutError:
                continue
        assert status_of(answer) == 408
        assert 0.8 < time.monotonic() - begun < 3
        assert is_alive(served)


def test_half_open_connections(tmp_path: Path) -> None:
    """Clients that end their sending side in the middle of a head or a body, or vanish without a word."""
    with serving(tmp_path) as served:
        for data in (b"", b"POST /v1/mess", head(served)[:-2], head(served, "Content-Length: 100") + b'{"model"'):
            for _ in range(20):
                with socket.create_connection(("127.0.0.1", served.port), timeout=5) as client:
                    client.sendall(data)
                    client.shutdown(socket.SHUT_WR)
                    read_all(client)
                with socket.create_connection(("127.0.0.1", served.port), timeout=5) as client:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
                    client.sendall(data)
        assert is_alive(served)
    (session,) = served.sessions()
    assert len(session.requests) == 1, "the one that was whole"


def test_a_thousand_silent_connections_keep_nobody_out(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2500:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(2500, hard), hard))
    silent = []
    with serving(tmp_path) as served:
        try:
            for _ in range(1000):
                silent.append(socket.create_connection(("127.0.0.1", served.port), timeout=5))
            assert is_alive(served)
        finally:
            for one in silent:
                one.close()


def test_many_clients_that_connect_before_any_of_them_speaks(tmp_path: Path) -> None:
    """None of them is taken for an idle one and dropped, though more of them wait than may be idle."""
    assert http_connections.MOST_IDLE < 300
    with serving(tmp_path) as served:
        clients = [socket.create_connection(("127.0.0.1", served.port), timeout=5) for _ in range(300)]
        try:
            for client in clients:
                client.sendall(_closing(served, GOOD))
            assert [status_of(read_all(client)) for client in clients] == [200] * 300
        finally:
            for client in clients:
                client.close()


def test_silent_connections_make_room_when_they_are_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "GRACE_SECONDS", 0.2)
    with serving(tmp_path) as served:
        silent = [socket.create_connection(("127.0.0.1", served.port), timeout=5) for _ in range(150)]
        try:
            time.sleep(0.4)
            assert is_alive(served)
            dropped = 0
            for one in silent:
                one.settimeout(0.02)
                try:
                    dropped += one.recv(1) == b""
                except TimeoutError:
                    continue
            assert 50 <= dropped < 150, "the oldest"
        finally:
            for one in silent:
                one.close()


def test_two_hundred_streams_at_once(tmp_path: Path) -> None:
    """Each is read to its end, all of them side by side; memory stays bounded."""
    count = 200
    body = json.dumps({**json.loads(GOOD), "stream": True, "max_tokens": 2000}).encode()
    answers: list[bytes] = []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with serving(tmp_path, replier=AnswerScript(after="word " * 400), pace=Pace.of(500, 400)) as served:
        threads = [
            threading.Thread(target=lambda: answers.append(served.raw(_closing(served, body), seconds=30)))
            for _ in range(count)
        ]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - begun
    assert len(answers) == count
    assert all(status_of(answer) == 200 and b"message_stop" in answer for answer in answers)
    assert took < 15, "side by side: one after the other they would take 300 seconds"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
    assert sum(len(session.requests) for session in served.sessions()) == count


def _closing(served: Served, body: bytes) -> bytes:
    return head(served, f"Content-Length: {len(body)}", "Connection: close") + body


def test_a_client_that_leaves_ends_its_stream(tmp_path: Path) -> None:
    body = json.dumps({**json.loads(GOOD), "stream": True, "max_tokens": 2000}).encode()
    with serving(tmp_path, replier=AnswerScript(after="word " * 1000), pace=Pace.of(0, 20)) as served:
        with socket.create_connection(("127.0.0.1", served.port), timeout=5) as client:
            client.sendall(_closing(served, body))
            got = b""
            while b"message_start" not in got:
                got += client.recv(65536)
        deadline = time.monotonic() + 1.5
        while b'"interrupted"' not in served.trace.read_bytes() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert b'"interrupted"' in served.trace.read_bytes(), "within a second"
        assert is_alive(served)
    assert [event.kind for event in served.sessions()[0].events] == ["interrupted"]


def test_a_client_that_reads_nothing_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_sending, "STALLED", 0.5)
    body = json.dumps({**json.loads(GOOD), "stream": True, "max_tokens": 4_000_000}).encode()
    with serving(tmp_path, replier=AnswerScript(after="word " * 3_000_000)) as served, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", served.port))
        client.sendall(_closing(served, body))
        time.sleep(1.5)
        assert is_alive(served)


def test_a_large_body_sent_ahead_is_no_large_head(tmp_path: Path) -> None:
    large = GOOD + b" " * 300_000
    with serving(tmp_path) as served, socket.create_connection(("127.0.0.1", served.port), timeout=5) as client:
        client.sendall(head(served, f"Content-Length: {len(GOOD)}") + GOOD + _closing(served, large)[:2000])
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
        client.sendall(_closing(served, large)[2000:])
        assert b"HTTP/1.1 200" in read_all(client)


def test_many_requests_on_one_connection(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        data = head(served, f"Content-Length: {len(GOOD)}") + GOOD
        answer = served.raw(data * 20 + _closing(served, GOOD))
    assert answer.count(b"HTTP/1.1 200") == 21, "sent ahead of the answers"
