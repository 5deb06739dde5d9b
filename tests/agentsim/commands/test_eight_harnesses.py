"""A home with the logs of eight harnesses: what the first page adds up, against sums taken from the raw logs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentsim.cli import main
from agentsim.report.exits import ExitCode

CLINE = ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/a.messages.json"
PLACES = {
    "claude-code/packmind__2.1.49-opus46.jsonl": ".claude/projects/-home-me-shop/a.jsonl",
    "codex/agentv__gpt54-10req.jsonl": ".codex/sessions/2026/06/18/rollout-a.jsonl",
    "codex/agentv__gpt55-173req-compacted.jsonl": ".codex/sessions/2026/06/29/rollout-b.jsonl",
    "pi/pi-mono__large-session.jsonl": ".pi/agent/sessions/p/a.jsonl",
    "opencode/nimbus__opencode-1.2.24-parent-122req.json": ".local/share/opencode/storage/a.json",
    "gemini-qwen/agentsview__gemini-standard_session.json": ".gemini/tmp/h/chats/session-a.json",
    "gemini-qwen/splitrail__qwen_code.jsonl": ".qwen/projects/p/chats/a.jsonl",
    "copilot-cli/agentv__copilot-small.jsonl": ".copilot/session-state/a/events.jsonl",
    "cline/cline__sdk-session.messages.json": CLINE,
}


@pytest.fixture
def home(own_home: Path, shared_data: Path) -> Path:
    """The logs at the places where their harnesses keep them."""
    for source, place in PLACES.items():
        (own_home / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(shared_data / source, own_home / place)
    return own_home


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def claude_code(home: Path) -> int:
    calls: dict[Any, dict[str, Any]] = {}
    for line in lines(home / ".claude/projects/-home-me-shop/a.jsonl"):
        if line["type"] == "assistant" and line["message"].get("usage"):
            calls[line["message"]["id"], line.get("requestId")] = line["message"]["usage"]
    parts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(usage.get(part, 0) for usage in calls.values() for part in parts)


def codex(home: Path) -> int:
    """The running total that Codex itself keeps, at the end of each rollout."""
    totals = []
    for path in (home / ".codex").rglob("*.jsonl"):
        counts = [line["payload"] for line in lines(path) if line["payload"].get("type") == "token_count"]
        totals.append([one["info"] for one in counts if one.get("info")][-1]["total_token_usage"]["input_tokens"])
    return sum(totals)


def pi(home: Path) -> int:
    messages = [line.get("message", {}) for line in lines(home / ".pi/agent/sessions/p/a.jsonl")]
    usages = [message["usage"] for message in messages if message.get("usage")]
    return sum(usage["input"] + usage["cacheRead"] + usage["cacheWrite"] for usage in usages)


def opencode(home: Path) -> int:
    messages = json.loads((home / ".local/share/opencode/storage/a.json").read_text())["messages"]
    tokens = [message["info"]["tokens"] for message in messages if message["info"].get("tokens")]
    return sum(one["input"] + one["cache"]["read"] + one["cache"]["write"] for one in tokens)


def gemini(home: Path) -> int:
    messages = json.loads((home / ".gemini/tmp/h/chats/session-a.json").read_text())["messages"]
    return sum(message["tokens"]["input"] for message in messages if message.get("tokens"))


def qwen(home: Path) -> int:
    usages = [line.get("usageMetadata") for line in lines(home / ".qwen/projects/p/chats/a.jsonl")]
    return sum(usage["promptTokenCount"] for usage in usages if usage)


def cline(home: Path) -> int:
    messages = json.loads((home / CLINE).read_text())["messages"]
    return sum(message["metrics"]["inputTokens"] for message in messages if message.get("metrics"))


SUMS: dict[str, Callable[[Path], int]] = {
    "claude-code": claude_code,
    "codex": codex,
    "pi": pi,
    "opencode": opencode,
    "gemini-cli": gemini,
    "qwen-code": qwen,
    "cline": cline,
}


def test_the_first_page_names_all_eight(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == ExitCode.OK
    page = capsys.readouterr().out
    for name in ("Claude Code", "Codex", "Pi", "OpenCode", "Gemini CLI", "Qwen Code", "Copilot CLI", "Cline"):
        assert f"\n{name} " in page


def test_the_sums_are_those_of_the_raw_logs(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", "--by", "harness", "--json"]) == ExitCode.OK
    groups = {group["name"]: group for group in json.loads(capsys.readouterr().out)["groups"]}
    assert set(groups) == {*SUMS, "copilot-cli"}
    assert {name: groups[name]["input_tokens"] for name in SUMS} == {name: add(home) for name, add in SUMS.items()}


def test_the_page_adds_the_same_up(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", "--by", "harness", "--json"]) == ExitCode.OK
    total = json.loads(capsys.readouterr().out)["total"]
    assert main(["summary", "--quick", "--json"]) == ExitCode.OK
    page = json.loads(capsys.readouterr().out)
    assert page["hit_rate"]["total_input"] == total["input_tokens"]
    assert (page["requests"], page["cost"], page["lost_cost"]) == (total["requests"], total["cost"], total["lost_cost"])
    assert page["sessions"] == 9
