"""``agentsim tui --web``: the same app in a browser, for this machine only."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.conftest import ATLAS
from tests.tui.terminal import CODE, ROOT

pytest.importorskip("textual_serve", reason="textual-serve is not installed (extra: web)")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("127.0.0.1:8013", True),
        ("localhost:8013", True),
        ("LOCALHOST:8013", True),
        ("localhost.:8013", True),
        ("[::1]:8013", True),
        ("127.0.0.1", False),
        ("127.0.0.1:80", False),
        ("127.0.0.1.evil.example:8013", False),
        ("evil.example:8013", False),
        ("evil.example", False),
        ("", False),
        (None, False),
        ("[::1]", False),
        ("127.0.0.1:8013:8013", False),
    ],
)
def test_hosts(host, ours):
    from tui.web import is_ours

    assert is_ours(host, 8013) is ours


@pytest.fixture
def server() -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TZ": "UTC"}
    command = [sys.executable, "-c", CODE, "tui", "--web", "--port", str(port), ATLAS]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == f"agentsim is at http://127.0.0.1:{port} (Ctrl-C ends it)\n"
            yield port
        finally:
            process.terminate()
            process.wait(10)


def ask(port: int, path: str = "/", **headers: str) -> tuple[int, bytes]:
    for _ in range(50):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.putrequest("GET", path, skip_host=True)
            for name, value in ({"Host": f"127.0.0.1:{port}"} | headers).items():
                if value:
                    connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.read()
        except ConnectionRefusedError:
            time.sleep(0.1)
        finally:
            connection.close()
    raise AssertionError("the server does not answer")


@pytest.mark.harness
def test_it_answers_this_machine_and_no_other_site(server):
    status, page = ask(server)
    assert status == 200
    assert b"agentsim" in page
    assert ask(server, Host="evil.example")[0] == 421
    assert ask(server, Host=f"127.0.0.1.evil.example:{server}")[0] == 421
    assert ask(server, Host="")[0] in (400, 421)
    assert ask(server, Origin="https://evil.example")[0] == 403
    assert ask(server, "/ws", Origin="https://evil.example")[0] == 403
    assert ask(server, Origin=f"http://127.0.0.1:{server}")[0] == 200
    # Nothing on the page is fetched from elsewhere.
    links = re.findall(rb'(?:src|href)="(https?://[^"/]+)', page)
    assert set(links) <= {f"http://127.0.0.1:{server}".encode()}
    assert not _listens_beyond_loopback(server)


def _listens_beyond_loopback(port: int) -> bool:
    with contextlib.suppress(OSError):
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            address, state = line.split()[1], line.split()[3]
            if state == "0A" and int(address.split(":")[1], 16) == port:
                return not address.startswith("0100007F")
    return False


@pytest.mark.harness
@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_in_a_browser(server, tmp_path):
    """Chromium draws the rows into the page: the picture has the colours of the app's table."""
    assert CHROMIUM is not None
    ask(server)
    picture = tmp_path / "page.png"
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={tmp_path}/profile",
        "--window-size=1200,800", "--timeout=8000", "--virtual-time-budget=60000", f"--screenshot={picture}",
        f"http://127.0.0.1:{server}/",
    ]  # fmt: skip
    subprocess.run(command, capture_output=True, timeout=90, check=False)
    assert picture.exists()
    assert picture.stat().st_size > 20_000
