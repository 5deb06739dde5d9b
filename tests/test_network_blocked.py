"""Nothing here talks to the network: not at import, not in the tests, not by default."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.request

import pytest

BLOCK = """
import socket
def refuse(*args, **kwargs):
    raise SystemExit(f"network used: {args!r}")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = refuse
"""

IMPORT_ALL = """
import importlib, pkgutil
for name in ("agentsim", "traces", "scenarios"):
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
from agentsim.rules.prices import rate_card
assert rate_card("anthropic", "claude-opus-5", 0, 1)
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_importing_every_module_and_pricing_a_request_opens_no_connection():
    done = run(BLOCK + IMPORT_ALL)
    assert done.returncode == 0, done.stderr


def test_the_block_notices_a_connection():
    done = run(BLOCK + "import urllib.request\nurllib.request.urlopen('http://192.0.2.1/')")
    assert done.returncode != 0
    assert "network used" in done.stderr


def test_tests_cannot_open_connections():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client, pytest.raises(AssertionError, match="network"):
        client.connect(("127.0.0.1", 9))
    with pytest.raises(AssertionError, match="network"):
        urllib.request.urlopen("http://192.0.2.1/", timeout=1)
    with pytest.raises(AssertionError, match="network"):
        socket.getaddrinfo("example.invalid", 80)
