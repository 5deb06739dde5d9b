"""The same input gives the same bytes: whatever the hash seed, the time zone, the order of files, the workers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agentsim.hostile import claude_code_log

ROOT = Path(__file__).resolve().parents[2]
SURROUNDINGS = [
    {"PYTHONHASHSEED": "0", "TZ": "UTC"},
    {"PYTHONHASHSEED": "1", "TZ": "Asia/Kolkata"},
    {"PYTHONHASHSEED": "2", "TZ": "America/St_Johns", "LC_ALL": "C"},
]


def output(arguments: list[str], surroundings: dict[str, str]) -> bytes:
    return subprocess.run(
        [sys.executable, "-m", "agentsim", *arguments],
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, **surroundings},
        check=True,
    ).stdout


@pytest.fixture
def logs(tmp_path: Path) -> list[str]:
    return [str(claude_code_log(tmp_path, f"{name}.jsonl", name)) for name in ("one", "two", "three")]


@pytest.mark.parametrize("command", ["replay", "summary", "agree", "formats"])
def test_json_is_the_same_everywhere(command: str, logs: list[str]) -> None:
    files = logs[:1] if command == "replay" else logs
    outputs = {output([command, *files, "--json"], surroundings) for surroundings in SURROUNDINGS}
    assert len(outputs) == 1
    assert outputs.pop()


def test_a_summary_depends_neither_on_order_nor_on_workers(logs: list[str]) -> None:
    ways = [
        ["summary", *logs, "--json", "--workers", "1"],
        ["summary", *logs, "--json", "--workers", "2"],
        ["summary", *reversed(logs), "--json"],
        ["summary", str(Path(logs[0]).parent), "--json"],
    ]
    assert len({output(way, {}) for way in ways}) == 1


def test_pages_differ_only_in_local_time(logs: list[str]) -> None:
    pages = [output(["replay", logs[0]], {"TZ": zone, "COLUMNS": "100"}) for zone in ("UTC", "Asia/Kolkata")]
    assert b"  1  10:00:00" in pages[0]
    assert b"  1  15:30:00" in pages[1]  # five and a half hours later
    assert pages[0].replace(b"10:0", b"15:3") == pages[1]
