"""``agentsim tui --web``: the same app in a browser, for this machine only."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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
    from agentsim.tui.web_server import is_ours

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
    """A headless Chromium opens the page, is sent the rows, and a key pressed in the page moves the cursor."""
    ask(server)
    asyncio.run(_browse(f"http://127.0.0.1:{server}/", tmp_path))


async def _browse(address: str, folder: Path) -> None:
    import aiohttp

    assert CHROMIUM is not None
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={folder}/profile",
        "--window-size=1200,800", "--remote-debugging-port=0", "about:blank",
    ]  # fmt: skip
    browser = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    try:
        assert browser.stderr is not None
        port = 0
        async with asyncio.timeout(40):
            while not port:
                found = re.search(rb"ws://127\.0\.0\.1:(\d+)/", await browser.stderr.readline())
                port = int(found[1]) if found else 0
            async with aiohttp.ClientSession() as client:
                async with client.get(f"http://127.0.0.1:{port}/json/list") as answer:
                    pages = await answer.json()
                url = next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page")
                async with client.ws_connect(url, max_msg_size=0) as socket:
                    await _look(socket, address)
    finally:
        browser.terminate()
        await browser.wait()


async def _look(socket: Any, address: str) -> None:
    sent = 0
    received = b""
    answers: dict[int, Any] = {}

    async def call(method: str, **parameters: Any) -> int:
        nonlocal sent
        sent += 1
        await socket.send_json({"id": sent, "method": method, "params": parameters})
        return sent

    async def until(done: Callable[[], bool]) -> None:
        nonlocal received
        while not done():
            message = (await socket.receive()).json()
            if "id" in message:
                answers[message["id"]] = message
            elif message.get("method") == "Network.webSocketFrameReceived":
                data = message["params"]["response"]["payloadData"]
                received += b64decode(data) if message["params"]["response"]["opcode"] == 2 else data.encode()

    await call("Network.enable")
    await call("Page.enable")
    await call("Page.bringToFront")
    await call("Page.navigate", url=address)
    await until(lambda: b"AS502" in received)
    assert b"r02" not in received  # the id of a row is in its story only
    # Headless browsers that draw in software may never answer the protocol's own key events. The key goes to what has
    # the keyboard, into which nobody has clicked.
    key = "new KeyboardEvent('keydown', {key: 'ArrowDown', keyCode: 40, which: 40, bubbles: true})"
    await call("Runtime.evaluate", expression=f"document.activeElement.dispatchEvent({key})")
    await until(lambda: b"r02" in received)
    state = await call("Runtime.evaluate", expression="document.body.className + document.body.innerText.length")
    await until(lambda: state in answers)
    assert "-first-byte" in answers[state]["result"]["result"]["value"]  # the page shows the terminal
