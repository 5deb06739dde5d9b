"""The official npm clients against the emulated endpoint, streaming included.

They are taken from AGENTSIM_NPM, a folder made by ``npm i --prefix FOLDER @anthropic-ai/sdk openai``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentsim.gateway.answer_script import AnswerScript, ScriptedToolCall, ScriptedTurn
from tests.agentsim.gateway.serving import serving

pytestmark = pytest.mark.loopback
pytest.importorskip("starlette")

FOLDER = os.environ.get("AGENTSIM_NPM", "")
CLIENTS = Path(__file__).with_name("npm_clients.mjs")
SCRIPT = AnswerScript(
    turn=(
        ScriptedTurn(
            text="First.",
            call=(ScriptedToolCall("Bash", {"command": "ls"}), ScriptedToolCall("bash", {"command": "ls"})),
        ),
    ),
    after="Over.",
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    if not (Path(FOLDER) / "node_modules" / "@anthropic-ai" / "sdk").is_dir() or not FOLDER:
        pytest.skip("AGENTSIM_NPM names no folder with @anthropic-ai/sdk and openai")
    with serving(tmp_path_factory.mktemp("npm"), replier=SCRIPT) as served:
        done = subprocess.run(
            ["node", str(CLIENTS), FOLDER, served.url], capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_messages_whole_and_streamed(found: dict[str, Any]) -> None:
    whole, streamed = found["messages"]
    for message in (whole, streamed):
        assert [block["type"] for block in message["content"]] == ["text", "tool_use"]
        assert message["content"][0]["text"] == "First."
        assert message["content"][1]["input"] == {"command": "ls"}
        assert message["stop_reason"] == "tool_use"
    assert found["text"] == "First."
    written = whole["usage"]["cache_creation_input_tokens"]
    assert written > 1024
    assert streamed["usage"]["cache_read_input_tokens"] == written
    assert streamed["usage"]["cache_creation_input_tokens"] == 0
    total = sum(whole["usage"][name] for name in ("input_tokens", "cache_creation_input_tokens"))
    assert found["count"] == {"input_tokens": total}
    assert found["refused"] == ["BadRequestError", 400]
    assert "claude-sonnet-4-6" in found["models"]


def test_chats_whole_and_streamed(found: dict[str, Any]) -> None:
    whole, streamed = found["chats"]
    for completion in (whole, streamed):
        (choice,) = completion["choices"]
        assert choice["message"]["content"] == "First."
        assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {"command": "ls"}
        assert choice["finish_reason"] == "tool_calls"
    prompt = whole["usage"]["prompt_tokens"]
    assert whole["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
    assert streamed["usage"]["prompt_tokens_details"]["cached_tokens"] == prompt // 128 * 128


def test_responses_whole_and_streamed(found: dict[str, Any]) -> None:
    whole, streamed = found["responses"]
    for response in (whole, streamed):
        assert response["status"] == "completed"
        assert [item["type"] for item in response["output"]] == ["message", "function_call"]
        assert response["output"][0]["content"][0]["text"] == "First."
    total = whole["usage"]["input_tokens"]
    assert whole["usage"]["input_tokens_details"]["cached_tokens"] == 0
    assert streamed["usage"]["input_tokens_details"]["cached_tokens"] == total // 128 * 128
