"""Prompts in the logs of gateways and tracers: compared where all rows have them, and never paid for with a row."""

from __future__ import annotations

from typing import Any

import pytest

from agentsim.diagnose import diagnose
from agentsim.traces.readers import langsmith, litellm
from tests.traces.captures import jsonl
from tests.traces.log_checks import sound

STAMP = "2026-05-28T20:2{}:00Z"
SYSTEM = {"role": "system", "content": "You write tests. " * 900}
PROJECT = {"role": "user", "content": "The project stays as it is. " * 1500}
MARKED = {"role": "system", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}


def said(role: str, words: str) -> dict[str, Any]:
    return {"role": role, "content": f"{words} " * 400}


def row(number: int, messages: Any, sent: int, read: int, written: int, **fields: Any) -> dict[str, Any]:
    return {
        "request_id": f"r{number}",
        "call_type": "acompletion",
        "model": "claude-sonnet-4-6",
        "custom_llm_provider": "anthropic",
        "prompt_tokens": sent,
        "completion_tokens": 9,
        "startTime": STAMP.format(number),
        "endTime": STAMP.format(number),
        "messages": messages,
        "usage": {"cache_read_input_tokens": read, "cache_creation_input_tokens": written},
        **fields,
    }


HISTORY = [SYSTEM, PROJECT, *(said("assistant" if n % 2 else "user", f"turn {n}") for n in range(1, 6))]
SUMMARY = said("user", "Summary of the conversation so far:")


def compacted(*front: dict[str, Any]) -> list[dict[str, Any]]:
    return [row(1, HISTORY, 16_000, 0, 15_990), row(2, [SYSTEM, *front, said("user", "go on")], 16_700, 3_500, 13_190)]


def read(reader: Any, path: Any, *rows: dict[str, Any]) -> Any:
    path.write_bytes(jsonl(*rows))
    (session,) = sound(list(reader.read_sessions([str(path)])))
    return session


def test_text_behind_a_summary_is_named_and_text_in_front_of_it_was_kept(tmp_path):
    session = read(litellm, tmp_path / "x", *compacted(SUMMARY, PROJECT))
    assert session.completeness == "messages"
    verdict = diagnose(session).verdicts[1]
    assert (verdict.kind, verdict.cause) == ("miss", "AS131")
    assert "stand behind it word for word" in verdict.established[0]
    size = next(b.tokens for b in session.requests[1].prompt if b.text and b.text.startswith("The project"))
    assert abs(verdict.lost - size) * 50 <= size
    # Without it behind the summary there is nothing that could have been kept.
    gone = diagnose(read(litellm, tmp_path / "y", *compacted(SUMMARY))).verdicts[1]
    assert (gone.kind, gone.lost) == ("compaction", 0)


@pytest.mark.parametrize(
    ("messages", "fields", "completeness"),
    [
        ([SYSTEM, PROJECT], {}, "messages"),
        ([SYSTEM, PROJECT], {"model_parameters": {"max_tokens": 9}}, "messages"),  # who set the markers is not known
        ([MARKED, PROJECT], {"model_parameters": {"max_tokens": 9}}, "full"),
        ([SYSTEM, PROJECT], {"model_parameters": {"max_tokens": 9}, "model": "gpt-5.4"}, "full"),
        ("redacted", {}, "usage"),
        ([], {}, "usage"),
    ],
)
def test_what_all_rows_hold_decides(tmp_path, messages, fields, completeness):
    session = read(litellm, tmp_path / "x", row(1, messages, 9_000, 0, 0, **fields))
    assert session.completeness == completeness


@pytest.mark.parametrize("odd", [[{"role": "user", "content": 7}], [{"content": "x"}], [{"role": 1, "content": "x"}]])
def test_a_prompt_of_no_known_shape_costs_no_row(tmp_path, odd):
    good, bad = row(1, [SYSTEM], 9_000, 0, 0), row(2, odd, 9_000, 0, 0)
    session = read(litellm, tmp_path / "x", good, bad)
    assert session.accounting.used == 2


def run(number: int, clock: str, kind: str) -> dict[str, Any]:
    text = f"Now it is 15:09:{clock}. " + SYSTEM["content"]
    content = [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
    stored = {
        "library": {"id": ["langchain", "schema", "messages", "SystemMessage"], "kwargs": {"content": content}},
        "chat": {"role": "system", "content": content},
    }
    usage = {"input_tokens": 4000, "output_tokens": 9, "input_token_details": {"cache_creation": 3990, "cache_read": 0}}
    return {
        "id": f"r{number}",
        "run_type": "llm",
        "start_time": STAMP.format(number)[:-1],
        "end_time": STAMP.format(number)[:-1],
        "extra": {"invocation_params": {"model": "claude-sonnet-4-5"}, "metadata": {"thread_id": "t"}},
        "inputs": {"messages": [[stored[kind], {"type": "human", "content": f"turn {number}"}]]},
        "outputs": {"usage_metadata": usage},
    }


@pytest.mark.parametrize("kind", ["library", "chat"])
def test_a_clock_in_the_system_text_of_a_run_is_found(tmp_path, kind):
    session = read(langsmith, tmp_path / "x", run(1, "20", kind), run(2, "34", kind))
    verdict = diagnose(session).verdicts[1]
    assert (verdict.kind, verdict.cause, verdict.evidence) == ("miss", "AS111", "proved")
    same = read(langsmith, tmp_path / "y", run(1, "20", kind), run(2, "20", kind))
    assert diagnose(same).verdicts[1].cause != "AS111"
