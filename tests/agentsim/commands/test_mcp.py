"""``agentsim mcp``, asked by the official SDK's own client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from agentsim.cli import main
from agentsim.commands.mcp import explain, next_costs, replay, summary
from agentsim.report.exits import ExitCode

SAMPLES = Path(__file__).resolve().parents[3] / "traces" / "samples"
ATLAS = str(SAMPLES / "atlas-14.jsonl")


def asked(*calls: tuple[str, dict[str, Any]]) -> tuple[Any, list[Any]]:
    """The list of tools, and the answers to calls, from a server in a process of its own."""
    mcp = pytest.importorskip("mcp", reason="the official SDK is an extra")

    async def talk() -> tuple[Any, list[Any]]:
        from mcp.client.stdio import StdioServerParameters

        server = StdioServerParameters(command=sys.executable, args=["-m", "agentsim", "mcp"], env=dict(os.environ))
        async with mcp.Client(server) as client:
            tools = await client.list_tools()
            return tools.tools, [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(talk())


def test_the_sdk_s_client_finds_read_only_tools_and_gets_documents() -> None:
    tools, answers = asked(
        ("replay", {"path": ATLAS}),
        ("next", {"path": ATLAS, "seconds_after_the_last_row": 0}),
        ("summary", {"path": ATLAS}),
        ("context", {"path": ATLAS}),
        ("explain", {"code": "AS301"}),
        ("explain", {"code": "AS999"}),
        ("replay", {"path": "/nowhere.jsonl"}),
    )
    assert {tool.name for tool in tools} == {"summary", "replay", "next", "context", "explain"}
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert not tool.annotations.destructive_hint
    replayed, priced, summed, filled, explained, unknown, missing = answers
    assert json.loads(replayed.content[0].text) == replayed.structured_content
    assert {row["verdict"]["cause"] for row in replayed.structured_content["rows"]} >= {"AS301", "AS201"}
    assert priced.structured_content["acts"][0]["cost"]["expected"] == "0.02781"
    assert summed.structured_content["sessions"] == 1
    assert filled.structured_content
    assert explained.structured_content["code"] == "AS301"
    assert unknown.is_error
    assert missing.is_error
    assert "no such file" in missing.content[0].text


def test_what_the_tools_return() -> None:
    found = replay(ATLAS, most=2)
    assert len(found["rows"]) == 2
    assert found["rows_left_out"] == len(replay(ATLAS)["rows"]) - 2
    assert next_costs(ATLAS, seconds_after_the_last_row=0)["warmth"] == "warm"
    assert summary(ATLAS)["sessions"] == 1
    assert explain("lookback-exceeded")["code"] == "AS301"
    assert {one["harness"] for one in explain("AS201")["settings"]} >= {"claude-code", "pi", "qwen-code"}


def test_no_tool_returns_words_of_a_conversation() -> None:
    log = str(SAMPLES / "claude-code.jsonl")
    words = json.dumps([replay(log, rows="all"), next_costs(log, seconds_after_the_last_row=0), summary(log)])
    for line in Path(log).read_text().splitlines():
        content = json.loads(line).get("message", {}).get("content")
        for part in content if isinstance(content, list) else []:
            text = part.get("text") or ""
            assert len(text) < 40 or text not in words


def test_without_the_sdk_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    assert main(["mcp"]) == ExitCode.USAGE
    assert "pip install 'agentsim-cache[mcp]'" in capsys.readouterr().err
