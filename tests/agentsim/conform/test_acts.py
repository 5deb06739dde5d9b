"""Acts and adapters as files, and a small harness of our own run through an act."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

from agentsim.cli import main
from agentsim.conform.act_files import act, act_names, parse_act, script_of
from agentsim.conform.act_run import run_act
from agentsim.conform.conformance import Conformance, HarnessVersion, regressions
from agentsim.conform.harness_adapters import adapter, adapter_names, adapter_of_command
from agentsim.core.file_problems import WrittenFileError
from agentsim.report.json.conform_json import conform_document, conform_of
from agentsim.report.web.conform_markdown import conform_markdown

AGENT = """
import json, os, pathlib, subprocess, sys, urllib.request
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
kept = pathlib.Path(os.environ["HOME"], "history.json")
step = os.environ["AGENTSIM_STEP"]
head = [f"You work at step {step if 'volatile' in sys.argv else 1}.", "word " * 3000]
messages = json.loads(kept.read_text()) if kept.exists() else []
messages.append({"role": "user", "content": [{"type": "text", "text": sys.argv[1]}]})
while True:
    body = {"model": "claude-sonnet-4-6", "max_tokens": 500,
            "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
            "system": [{"type": "text", "text": head[0]},
                       {"type": "text", "text": head[1], "cache_control": {"type": "ephemeral"}}],
            "messages": messages, "cache_control": {"type": "ephemeral"}}
    headers = {"content-type": "application/json"}
    answer = json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)))
    messages.append({"role": "assistant", "content": answer["content"]})
    calls = [block for block in answer["content"] if block["type"] == "tool_use"]
    if not calls:
        break
    messages.append({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": call["id"],
         "content": subprocess.run(call["input"]["command"], shell=True, capture_output=True, text=True).stdout}
        for call in calls]})
kept.write_text(json.dumps(messages))
"""


def test_every_act_can_be_read_and_says_what_is_friendly() -> None:
    assert len(act_names()) >= 20
    for name in act_names():
        found = act(name)
        assert found.friendly.strip()
        assert not found.title.endswith(".")
        assert found.needs, "what cannot be done is not asked for"
        assert script_of(found).turn
        assert any(step.goes_on for step in found.step) is ("resume" in found.needs), name
        assert any(step.fork for step in found.step) is ("fork" in found.needs), name
        assert found.mcp is ("mcp" in found.needs), name


def test_every_adapter_can_be_read() -> None:
    assert len(adapter_names()) >= 7
    for name in adapter_names():
        found = adapter(name)
        assert "${prompt}" in " ".join(found.start)
        assert found.models[0] != found.models[1]


def test_an_act_with_an_unknown_need_is_refused() -> None:
    with pytest.raises(WrittenFileError, match=r"x.toml:3: needs.0: must be one of shell, "):
        parse_act("x", 'title = "x"\nfriendly = "x"\nneeds = ["wings"]\n[[step]]\nprompt = "go"')


@pytest.mark.loopback
def test_a_friendly_harness_loses_nothing_and_a_volatile_one_does(tmp_path: Path) -> None:
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    friendly = adapter_of_command((sys.executable, str(path), "{prompt}"))
    volatile = adapter_of_command((sys.executable, str(path), "{prompt}", "volatile"))
    good = run_act(act("resume"), friendly)
    assert (good.status, good.requests, good.lost, good.note) == ("ran", 6, 0, "")
    assert good.habits is not None
    assert good.habits.markers == (2, 2)
    assert good.habits.lifetimes == (300,)
    bad = run_act(act("resume"), volatile)
    assert bad.lost > 3000
    assert [loss.cause for loss in bad.losses] == ["AS111"]
    assert bad.habits is not None
    assert bad.habits.system_changed == 1
    now, before = (
        Conformance("2026-11-30", (HarnessVersion("own", "own", ""),), (("resume", "x"),), (result,))
        for result in (bad, good)
    )
    assert [(one.before, one.now) for one in regressions(now, before)] == [(0, bad.lost)]
    assert not regressions(before, now)
    assert conform_of(msgspec.json.encode(conform_document(now))) == now
    assert f"| {bad.lost:,} |" in conform_markdown(now)


@pytest.mark.loopback
def test_a_command_of_ones_own_against_a_baseline(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    figures = tmp_path / "figures.json"
    words = ["conform", "--act", "resume"]
    child = ["--", sys.executable, str(path), "{prompt}"]
    assert main([*words, "-o", str(figures), *child]) == 0
    assert json.loads(figures.read_text())["results"][0]["lost"] == 0
    assert main([*words, "--baseline", str(figures), *child]) == 0
    assert main([*words, "--baseline", str(figures), *child, "volatile"]) == 1
    assert "own, resume: loses" in capfd.readouterr().out
    assert main(["conform", "--list"]) == 0
    assert "parallel-twelve" in capfd.readouterr().out
    assert main([*words, "--baseline", str(path), *child]) == 3
    assert main(["conform", "--act", "nothing"]) == 2
    assert main([*words, "--", "/no/such/program"]) == 2
