"""Small captures written by hand in the wire shape of each provider's documentation, and what is right of each row.

They come from no generator of ours: a judge that fits those only would show here.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from agentsim.core.verdict import Verdict
from agentsim.diagnose import diagnose
from agentsim.traces.format_registry import read

Json = dict[str, Any]
MARK = {"cache_control": {"type": "ephemeral"}}
NAMES = ("amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "harbor", "inlet", "jasper", "knoll", "lagoon")
BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0"
VERTEX = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models"
CHAT = {
    "xai": ("grok-4.5", "https://api.x.ai/v1/chat/completions"),
    "moonshotai": ("kimi-k3", "https://api.moonshot.ai/v1/chat/completions"),
    "deepseek": ("deepseek-v4-pro", "https://api.deepseek.com/chat/completions"),
    "zai": ("glm-5.3", "https://api.z.ai/api/paas/v4/chat/completions"),
    "minimax": ("MiniMax-M3", "https://api.minimax.io/v1/chat/completions"),
    "qwen": ("qwen3.5-plus", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions"),
    "mistral": ("mistral-large-3", "https://api.mistral.ai/v1/chat/completions"),
    "openrouter": ("moonshotai/kimi-k3", "https://openrouter.ai/api/v1/chat/completions"),
}


def words(count: int, seed: int) -> str:
    """So many words that no other seed gives."""
    return " ".join(NAMES[(seed * 31 + at * (seed % 7 + 1) + at * at) % len(NAMES)] + str(seed) for at in range(count))


def said(text: str, **more: Any) -> Json:
    return {"type": "text", "text": text, **more}


SYSTEM = [said(words(2_000, 1), **MARK)]


def turns(count: int, *last: Json) -> list[Json]:
    """A conversation whose last block is marked; ``last`` are blocks behind its end."""
    roles = ("user", "assistant")
    found: list[Json] = [{"role": roles[at % 2], "content": [said(words(250, 100 + at))]} for at in range(count)]
    found[-1]["content"] += [copy.deepcopy(block) for block in last]
    found[-1]["content"][-1].update(MARK)
    return found


def messages_api(*rows: tuple[int, Json, int, int], url: str | None = None, model: str = "claude-opus-5") -> list[Json]:
    """Calls: seconds, body, written, read. Two tokens open the reply behind the last breakpoint."""
    return [
        {
            "start": 1_789_000_000 + at,
            "end": 1_789_000_004 + at,
            **({} if url is None else {"url": url}),
            "request": {"max_tokens": 1_000, **({"model": model} if url is None else {}), **body},
            "response": {
                "id": f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "model": model,
                "content": [said("ok")],
                "stop_reason": "end_turn",
                "usage": {
                    "input_tokens": 2,
                    "cache_creation_input_tokens": written,
                    "cache_read_input_tokens": cached,
                    "output_tokens": 50,
                },
            },
        }
        for number, (at, body, written, cached) in enumerate(rows)
    ]


def chat_api(whose: str, *rows: tuple[int, Json, int, int], **model: str) -> list[Json]:
    """Calls of chat completions: seconds, body, prompt tokens, cached tokens among them."""
    name, url = CHAT.get(whose, ("gpt-5.1", "https://api.openai.com/v1/chat/completions"))
    return [
        {
            "start": 1_789_000_000 + at,
            "end": 1_789_000_004 + at,
            "url": url,
            "request": {"model": model.get("model", name), **body},
            "response": {
                "id": f"c{number}",
                "object": "chat.completion",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
                "usage": {
                    "prompt_tokens": total,
                    "completion_tokens": 5,
                    "total_tokens": total + 5,
                    "prompt_tokens_details": {"cached_tokens": cached},
                },
            },
        }
        for number, (at, body, total, cached) in enumerate(rows)
    ]


def judged(path: Path, rows: list[Json]) -> tuple[Verdict, ...]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (session,) = read([str(path)], [])
    diagnosis = diagnose(session)
    for row, verdict in zip(diagnosis.rows, diagnosis.verdicts, strict=True):
        assert verdict.lost <= (row.usage.write or 0) + (row.usage.fresh or 0)
    return diagnosis.verdicts


def reminded(count: int, number: int) -> Json:
    return {"system": SYSTEM, "messages": turns(count, said(f"state {number}: {words(50, 900 + number)}"))}


def test_a_marked_reminder_that_the_next_request_drops(tmp_path: Path) -> None:
    rows = [(0, reminded(1, 1), 2_600, 0), (20, reminded(3, 2), 1_000, 2_100), (40, reminded(21, 3), 9_000, 2_100)]
    first, *others = judged(tmp_path / "a.jsonl", messages_api(*rows))
    assert first.kind == "first"
    for verdict, address in zip(others, ("messages[0].content[1]", "messages[2].content[1]"), strict=True):
        assert (verdict.kind, verdict.cause, verdict.evidence) == ("miss", "AS306", "proved")
        assert verdict.place is not None
        assert verdict.place.address == address


def test_siblings_with_a_common_front_that_nobody_marked(tmp_path: Path) -> None:
    def sibling(number: int) -> Json:
        content = [said(words(1_800, 200)), said(words(60, 300 + number), **MARK)]
        return {"system": SYSTEM, "messages": [{"role": "user", "content": content}]}

    rows = [(0, sibling(1), 4_300, 0), (30, sibling(2), 2_200, 2_100), (60, sibling(3), 2_200, 2_100)]
    first, *others = judged(tmp_path / "a.jsonl", messages_api(*rows))
    assert first.kind == "first"
    for verdict in others:
        assert (verdict.kind, verdict.cause, verdict.evidence) == ("miss", "AS502", "proved")
        assert verdict.fix == "Set a breakpoint on messages[0].content[0] in both requests."


SAME = [said(words(3_000, 400))]
TOLD = said("This session is being continued from a previous conversation. Summary: " + words(500, 500))
"""What stays the same, and a summary that takes the place of what was said."""


@pytest.mark.parametrize(
    ("content", "behind"),
    [
        ([TOLD, *SAME, said(words(40, 402), **MARK)], True),
        ([said(words(20, 410)), TOLD, *SAME, said(words(40, 402), **MARK)], True),
        ([*SAME, TOLD, said(words(40, 402), **MARK)], False),
    ],
    ids=["in front", "in the middle", "at the end"],
)
def test_a_summary_makes_what_stays_the_same_new(content: list[Json], behind: bool, tmp_path: Path) -> None:
    history = [{"role": "user", "content": [*SAME, said(words(80, 401))]}, *turns(9)[1:]]
    new = [{"role": "user", "content": content}]
    rows = [
        (0, {"system": SYSTEM, "messages": history}, 10_000, 0),
        (30, {"system": SYSTEM, "messages": new}, 5_100, 1_960),
    ]
    verdict = judged(tmp_path / "a.jsonl", messages_api(*rows))[1]
    assert (verdict.kind, verdict.cause, verdict.evidence) == ("miss", "AS131", "proved")
    assert abs(verdict.lost - 4_350) < 450, "what stays the same, by its estimated size"
    assert verdict.lost_cost is not None
    assert verdict.fix is not None
    assert "in front of the summary" in verdict.fix
    assert verdict.fix.startswith("Put what stays") is behind


def test_keys_in_another_order(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    tool = {"name": "grep", "description": words(200, 5), "input_schema": schema}
    other = {**tool, "input_schema": {name: schema[name] for name in ("properties", "type")}}

    def asked(given: Json, more: int) -> list[Json]:
        found: list[Json] = [
            {"role": "user", "content": [said(words(200, 6))]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "grep", "input": given}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": words(400, 7)}]},
            {"role": "assistant", "content": [said(words(100, 8))]},
            {"role": "user", "content": [said(words(100, 9))]},
        ][: 3 + more]
        found[-1]["content"][-1].update(MARK)
        return found

    one, two = {"path": "a", "query": "b"}, {"query": "b", "path": "a"}
    for tools, given, read_, address in (([tool], two, 2_500, "messages[1].content[0]"), ([other], one, 0, "tools[0]")):
        rows = [
            (0, {"tools": [tool], "system": SYSTEM, "messages": asked(one, 0)}, 3_400, 0),
            (20, {"tools": tools, "system": SYSTEM, "messages": asked(given, 2)}, 3_800 - read_, read_),
        ]
        verdict = judged(tmp_path / "a.jsonl", messages_api(*rows))[1]
        assert (verdict.kind, verdict.cause, verdict.evidence) == ("miss", "AS129", "proved")
        assert verdict.place is not None
        assert verdict.place.address == address


def spoken(count: int, thought: bool = False) -> Json:
    found: list[Json] = [{"role": "system", "content": words(1_200, 11)}]
    for at in range(count):
        if at % 2:
            more = {"reasoning_content": words(250, 700 + at)} if thought else {}
            found.append({"role": "assistant", "content": words(60, 650 + at), **more})
        else:
            found.append({"role": "user", "content": words(150, 600 + at)})
    return {"messages": found}


@pytest.mark.parametrize("whose", sorted(CHAT))
def test_an_edit_and_a_pause_at_each_automatic_cache(whose: str, tmp_path: Path) -> None:
    edited = spoken(5)
    edited["messages"][1]["content"] = edited["messages"][1]["content"].replace("o", "u", 3)
    after = {"messages": [*edited["messages"], *spoken(7)["messages"][-2:]]}
    rows = [(0, spoken(1), 3_700, 0), (20, spoken(3), 4_250, 3_584), (40, edited, 4_800, 3_200), (900, after, 5_300, 0)]
    verdicts = judged(tmp_path / "a.jsonl", chat_api(whose, *rows))
    assert [(verdict.kind, verdict.cause) for verdict in verdicts] == [
        ("first", None),
        ("hit", None),
        ("miss", "AS120"),
        ("miss", "AS205"),
    ]


@pytest.mark.parametrize(("whose", "setting"), [("zai", "clear_thinking"), ("qwen", "preserve_thinking")])
def test_a_server_that_leaves_out_the_thinking_of_earlier_turns(whose: str, setting: str, tmp_path: Path) -> None:
    rows = [(0, spoken(1, True), 3_900, 0), (20, spoken(3, True), 4_800, 3_840), (40, spoken(5, True), 5_700, 3_840)]
    first, second, third = judged(tmp_path / "a.jsonl", chat_api(whose, *rows))
    assert (first.kind, second.kind) == ("first", "hit")
    assert (third.kind, third.cause, third.evidence) == ("miss", "AS402", "likely")
    assert third.fix is not None
    assert setting in third.fix


def test_another_format_of_the_answer(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "grep", "description": words(300, 5), "parameters": {}}}]
    format = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object", "properties": {}}}}
    body, other = {"tools": tools, **spoken(3)}, {"tools": tools, **spoken(5), "response_format": format}
    verdict = judged(tmp_path / "a.jsonl", chat_api("openai", (0, body, 4_250, 0), (20, other, 4_900, 0)))[1]
    assert (verdict.kind, verdict.cause) == ("miss", "AS407")
    assert verdict.place is not None
    assert verdict.place.address == "response_format"


def converse(count: int, seed: int) -> Json:
    spoken_ = [{"role": one["role"], "content": [{"text": one["content"][0]["text"]}]} for one in turns(count)]
    spoken_[-1]["content"].append({"cachePoint": {"type": "default"}})
    system = [{"text": words(2_000, seed)}, {"cachePoint": {"type": "default"}}]
    return {"system": system, "messages": spoken_, "inferenceConfig": {"maxTokens": 1_000}}


@pytest.mark.parametrize("wire", ["invoke", "converse", "vertex"])
def test_claude_on_clouds(wire: str, tmp_path: Path) -> None:
    figures = ((0, 1, 1, 2_500, 0), (20, 3, 1, 700, 2_500), (40, 5, 2, 3_700, 0), (700, 7, 2, 4_300, 0))
    if wire == "converse":
        rows = [
            {
                "start": 1_789_000_000 + at,
                "end": 1_789_000_004 + at,
                "url": f"{BEDROCK}/converse",
                "request": converse(count, seed),
                "response": {
                    "output": {"message": {"role": "assistant", "content": [{"text": "ok"}]}},
                    "stopReason": "end_turn",
                    "usage": {
                        "inputTokens": 2,
                        "outputTokens": 5,
                        "cacheReadInputTokens": cached,
                        "cacheWriteInputTokens": written,
                    },
                },
            }
            for at, count, seed, written, cached in figures
        ]
    else:
        version = {"anthropic_version": "bedrock-2023-05-31" if wire == "invoke" else "vertex-2023-10-16"}
        url = f"{BEDROCK}/invoke" if wire == "invoke" else f"{VERTEX}/claude-sonnet-4-5@20250929:rawPredict"
        bodies = [
            (at, {**version, "system": [said(words(2_000, seed), **MARK)], "messages": turns(count)}, written, cached)
            for at, count, seed, written, cached in figures
        ]
        rows = messages_api(*bodies, url=url, model="claude-sonnet-4-5")
    verdicts = judged(tmp_path / "a.jsonl", rows)
    assert [(one.kind, one.cause, one.evidence) for one in verdicts] == [
        ("first", None, None),
        ("hit", None, None),
        ("miss", "AS110", "proved"),
        ("miss", "AS201", "proved"),
    ]


def test_reads_of_gemini_within_a_block_are_hits(tmp_path: Path) -> None:
    def body(count: int, seed: int) -> Json:
        spoken_ = [
            {"role": ("user", "model")[at % 2], "parts": [{"text": words(250, 800 + at)}]} for at in range(count)
        ]
        return {"systemInstruction": {"parts": [{"text": words(2_000, seed)}]}, "contents": spoken_}

    rows = [
        {
            "start": 1_789_000_000 + at,
            "end": 1_789_000_004 + at,
            "url": "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
            "request": asked,
            "response": {
                "candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}, "finishReason": "STOP"}],
                "usageMetadata": {
                    "promptTokenCount": total,
                    "candidatesTokenCount": 5,
                    "cachedContentTokenCount": cached,
                },
            },
        }
        for at, asked, total, cached in (
            (0, body(1, 1), 4_600, 0),
            (20, body(3, 1), 5_400, 4_060),
            (40, body(5, 1), 6_200, 4_061),
            (60, body(7, 2), 7_000, 0),
        )
    ]
    verdicts = judged(tmp_path / "a.jsonl", rows)
    assert [(one.kind, one.cause) for one in verdicts] == [
        ("first", None),
        ("hit", None),
        ("hit", None),
        ("miss", "AS110"),
    ]


def test_a_setting_whose_reach_nobody_documents_comes_before_chance(tmp_path: Path) -> None:
    format = {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}}
    bodies: list[dict[str, Any]] = [{"system": SYSTEM, "messages": turns(count)} for count in (1, 3)]
    rows = [(0, bodies[0], 2_300, 0), (20, {**format, **bodies[1]}, 2_800, 0)]
    verdict = judged(tmp_path / "a.jsonl", messages_api(*rows))[1]
    assert (verdict.kind, verdict.cause, verdict.alternatives) == ("miss", "AS902", ("AS407", "AS503"))
