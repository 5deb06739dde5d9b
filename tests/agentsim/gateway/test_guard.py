"""Only programs of this machine that mean this endpoint are served."""

import ast
from pathlib import Path

import pytest

from agentsim.gateway.loopback_guard import is_loopback_origin, is_own_host
from tests.agentsim.gateway.serving import serving, status_of

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    "host",
    ["localhost:80", "127.0.0.1:80", "[::1]:80", "localhost.:80", "LOCALHOST:80", "LocalHost.:80", " localhost:80 "],
)
def test_loopback_names_with_our_port_are_ours(host: str) -> None:
    assert is_own_host(host.encode(), 80)
    assert not is_own_host(host.encode(), 81)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1.evil.example:80",
        "evil.example:80",
        "localhost.evil.example:80",
        "evil.example@localhost:80",
        "localhost:80@evil.example",
        "localhost:80:80",
        "localhost..:80",
        "[::1]evil:80",
        "[::1]x",
        "[::ffff:7f00:1]:80",
        "0.0.0.0:80",
        "2130706433:80",
        "127.1:80",
        "",
        ":80",
        "localhost:",
        "localhost:080",
        "locälhost:80",
    ],
)
def test_other_names_are_not(host: str) -> None:
    assert not is_own_host(host.encode(), 80)


def test_a_host_without_a_port_means_port_80() -> None:
    assert is_own_host(b"localhost", 80)
    assert is_own_host(b"[::1]", 80)
    assert not is_own_host(b"localhost", 8123)


def test_origins() -> None:
    ours = (b"http://localhost:3000", b"https://127.0.0.1", b"http://[::1]:1", b"HTTP://LOCALHOST")
    others = (b"null", b"http://evil.example", b"http://localhost.evil.example", b"file://localhost", b"http://", b"")
    assert all(is_loopback_origin(origin) for origin in ours)
    assert not any(is_loopback_origin(origin) for origin in others)


@pytest.mark.loopback
def test_what_is_refused_on_the_wire(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        own = f"Host: 127.0.0.1:{served.port}\r\n"

        def ask(head: str, method: str = "GET", path: str = "/v1/models") -> bytes:
            return served.raw(f"{method} {path} HTTP/1.1\r\n{head}Connection: close\r\n\r\n".encode())

        assert status_of(ask(own)) == 200
        assert status_of(ask(f"Host: localhost.:{served.port}\r\n")) == 200
        assert status_of(ask(f"Host: [::1]:{served.port}\r\n")) == 200
        assert status_of(ask("")) in (400, 421), "no Host"
        assert status_of(ask(own + own)) in (400, 421), "two Hosts"
        assert status_of(ask(f"Host: 127.0.0.1.evil.example:{served.port}\r\n")) == 421
        assert status_of(ask(f"Host: 127.0.0.1:{served.port + 1}\r\n")) == 421
        assert status_of(ask(own + "Origin: http://evil.example\r\n")) == 403
        assert status_of(ask(own + "Origin: null\r\n")) == 403
        assert status_of(ask(own + "Origin: http://localhost:3000\r\n")) == 200
        for method in ("OPTIONS", "PUT", "DELETE", "TRACE"):
            assert status_of(ask(own, method)) == 405
        form = own + "Content-Type: text/plain\r\nContent-Length: 2\r\n"
        refused = served.raw(f"POST /v1/messages HTTP/1.1\r\n{form}Connection: close\r\n\r\n{{}}".encode())
        assert status_of(refused) == 415, "a form of a web page can send this"
        zipped = own + "Content-Type: application/json\r\nContent-Encoding: compress\r\nContent-Length: 2\r\n"
        refused = served.raw(f"POST /v1/messages HTTP/1.1\r\n{zipped}Connection: close\r\n\r\nxx".encode())
        assert status_of(refused) == 415
        preflight = own + "Origin: http://localhost:3000\r\nAccess-Control-Request-Method: POST\r\n"
        assert b"access-control" not in ask(preflight, "OPTIONS").lower()
        assert b"access-control" not in ask(own + "Origin: http://localhost:3000\r\n").lower()


@pytest.mark.loopback
def test_paths_are_exact(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        for path in (
            "/v1/messages/",
            "//v1/messages",
            "/v1//messages",
            "/v1/../v1/messages",
            "/v1/messages/..",
            "/V1/messages",
            "/v1/messages%2f",
            "/../../etc/passwd",
            "/v1/%6dessages%00",
            "/static/x",
        ):
            assert status_of(served.post(b"{}", path)) in (400, 404), path
        assert status_of(served.post(b"{}", "/v1/messages?beta=true")) == 400, "the right path, a body that is none"


@pytest.mark.loopback
def test_both_loopback_addresses_are_listened_on_and_no_other(tmp_path: Path) -> None:
    from agentsim.gateway.serve.loopback_server import loopback_sockets

    made = loopback_sockets(0)
    try:
        assert {one.getsockname()[0] for one in made} <= {"127.0.0.1", "::1"}
        assert len({one.getsockname()[1] for one in made}) == 1
    finally:
        for one in made:
            one.close()


def test_nobody_else_imports_the_web_framework() -> None:
    heavy = {"starlette", "uvicorn", "httpx2", "httpx", "httptools", "uvloop"}
    may = {"agentsim/commands/options/endpoint_options.py": "asks whether they are installed, inside a function"}
    for folder in ("agentsim", "traces", "scenarios", "tui"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if name.startswith("agentsim/gateway/") or name in may:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom):
                    modules = [node.module or ""]
                assert not {module.split(".")[0] for module in modules} & heavy, name
