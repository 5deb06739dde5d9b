"""Answers as recorded: the same session run again hears what it heard before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentsim.bodies.sealed_summary import opened
from agentsim.gateway.answer_script import AnswerScript, ScriptedToolCall, ScriptedTurn
from agentsim.gateway.recorded_answers import OVER, NoRecordedAnswers, RecordedAnswers
from agentsim.traces.readers.agentsim1 import read_sessions
from tests.agentsim.gateway.serving import BASH, MODEL, Served, serving

pytestmark = pytest.mark.loopback
pytest.importorskip("anthropic")
pytest.importorskip("openai")

SCRIPT = AnswerScript(
    turn=(
        ScriptedTurn(
            thinking="Hm.", text="One.", call=(ScriptedToolCall("Bash", {"command": "ls", "n": [1, {"a": None}]}),)
        ),
        ScriptedTurn(
            text="Two.",
            call=(ScriptedToolCall("Bash", {"command": "pwd"}), ScriptedToolCall("Bash", {"command": "id"})),
        ),
    ),
    after="Over.",
)


def loop(served: Served, opening: str) -> list[Any]:
    """What the assistant says in a tool loop that begins so, message by message."""
    messages: list[Any] = [{"role": "user", "content": opening}]
    said = []
    with served.anthropic() as client:
        for _ in range(4):
            answer = client.messages.create(model=MODEL, max_tokens=500, tools=[BASH], messages=messages)
            content = [block.to_dict() for block in answer.content]
            said.append(content)
            messages.append({"role": "assistant", "content": content})
            results = [
                {"type": "tool_result", "tool_use_id": block["id"], "content": "done"}
                for block in content
                if block["type"] == "tool_use"
            ]
            messages.append({"role": "user", "content": results or "more"})
    return said


def test_the_same_session_and_a_like_one(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    with serving(tmp_path / "one", replier=SCRIPT) as served:
        told = loop(served, "go")
    sessions = list(read_sessions([str(served.trace)]))
    for name, opening in (("two", "go"), ("three", "go on another day")):
        (tmp_path / name).mkdir()
        with serving(tmp_path / name, replier=RecordedAnswers(sessions)) as served:
            again = loop(served, opening)
        assert again[:3] == told[:3], "the last answer is in no later prompt"
        assert again[3] == [{"type": "text", "text": OVER}]


def test_responses_too(tmp_path: Path) -> None:
    script = AnswerScript(
        turn=(ScriptedTurn(text="One.", call=(ScriptedToolCall("bash", {"command": "ls"}),)), ScriptedTurn(text="Two."))
    )
    tool = {"type": "function", "name": "bash", "parameters": {}, "strict": False}

    def run(served: Served) -> list[list[tuple[str, Any]]]:
        history: list[Any] = [{"role": "user", "content": "go"}]
        said = []
        with served.openai() as client:
            for _ in range(3):
                answer = client.responses.create(model="gpt-5.1", input=history, tools=[tool])
                said.append([(i.type, i.arguments if i.type == "function_call" else None) for i in answer.output])
                history += [item.to_dict() for item in answer.output]
                history += [
                    {"type": "function_call_output", "call_id": item.call_id, "output": "done"}
                    for item in answer.output
                    if item.type == "function_call"
                ]
        return said

    (tmp_path / "one").mkdir()
    with serving(tmp_path / "one", replier=script) as served:
        told = run(served)
    (tmp_path / "two").mkdir()
    with serving(
        tmp_path / "two", replier=RecordedAnswers(read_sessions([str(tmp_path / "one" / "trace.jsonl")]))
    ) as served:
        assert run(served)[:2] == told[:2]


def test_summaries_too(tmp_path: Path) -> None:
    turns = (
        ScriptedTurn(text="One."),
        ScriptedTurn(text="Two."),
        ScriptedTurn(text="Three."),
        ScriptedTurn(text="Four."),
    )
    script = AnswerScript(turn=turns, summary="All went well up to turn ${turn}.")

    def run(served: Served, opening: str) -> list[str]:
        history: list[Any] = [{"role": "user", "content": opening}]
        said = []
        with served.openai() as client:
            for turn in range(4):
                answer = client.responses.create(model="gpt-5.1", input=history)
                said.append(answer.output_text)
                history += [*(item.to_dict() for item in answer.output), {"role": "user", "content": f"more {turn}"}]
                if turn == 1:
                    folded = client.responses.compact(model="gpt-5.1", input=history)
                    history = [item.to_dict(warnings=False) for item in folded.output]
                    summary = opened(folded.output[-1].encrypted_content)
                    assert summary is not None
                    said.append(summary.text)
        return said

    (tmp_path / "one").mkdir()
    with serving(tmp_path / "one", replier=script) as served:
        told = run(served, "go")
    assert told == ["One.", "Two.", "All went well up to turn 3.", "Three.", "Four."]
    sessions = list(read_sessions([str(served.trace)]))
    for name, opening in (("two", "go"), ("three", "go on another day")):
        (tmp_path / name).mkdir()
        with serving(tmp_path / name, replier=RecordedAnswers(sessions)) as served:
            assert run(served, opening)[:4] == told[:4]


def test_a_trace_without_words_cannot_be_replayed(tmp_path: Path) -> None:
    with serving(tmp_path, replier=SCRIPT, fingerprint=True) as served:
        loop(served, "go")
    with pytest.raises(NoRecordedAnswers):
        RecordedAnswers(served.sessions())
