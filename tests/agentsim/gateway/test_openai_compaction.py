"""Compaction on the server, asked for by the official client: what it answers, what it reads, and how it is judged."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from agentsim.bodies.openai_items import item_of
from agentsim.bodies.sealed_summary import SealedSummary, opened, sealed
from agentsim.core.session import Session
from agentsim.diagnose import diagnose
from agentsim.gateway.answer_script import AnswerScript, ScriptedToolCall, ScriptedTurn
from tests.agentsim.gateway.serving import WORDS, Served, serving, status_of

loopback = pytest.mark.loopback
openai = pytest.importorskip("openai")

OLD, NEW = "gpt-5.1", "gpt-5.6-sol"
TOOL: dict[str, Any] = {"type": "function", "name": "bash", "parameters": {"type": "object"}, "strict": False}
SHORT = "It went well so far. " * 10
SCRIPT = AnswerScript(
    turn=(
        ScriptedTurn(text="First.", call=(ScriptedToolCall("bash", {"command": "ls"}),)),
        ScriptedTurn(text="Second."),
        ScriptedTurn(text="Third."),
    ),
    after="Over.",
    summary=SHORT,
)
LONG_RESULT = "a file with a long name " * 300


class Agent:
    """A client that keeps its own history, as Codex does."""

    def __init__(self, client: Any, model: str) -> None:
        self.client = client
        self.common: dict[str, Any] = {"model": model, "instructions": WORDS, "prompt_cache_key": "one"}
        self.history: list[Any] = [{"role": "user", "content": "go"}]

    def ask(self) -> Any:
        answer = self.client.responses.create(input=self.history, tools=[TOOL], **self.common)
        for item in answer.output:
            self.history.append(item.to_dict(warnings=False))
            if item.type == "function_call":
                result = {"type": "function_call_output", "call_id": item.call_id, "output": LONG_RESULT}
                self.history.append(result)
        return answer

    def compact(self) -> Any:
        # The client's method has no tools; Codex sends them, so that the summary is made behind the same prefix.
        answer = self.client.responses.compact(input=self.history, extra_body={"tools": [TOOL]}, **self.common)
        # The library's types know no message of a user in an output, and warn of it.
        self.history = [item.to_dict(warnings=False) for item in answer.output]
        return answer


def read_of(usage: Any) -> int:
    read: int = usage.input_tokens_details.cached_tokens
    return read


def only(served: Served) -> Session:
    (session,) = served.sessions()
    return session


@loopback
@pytest.mark.parametrize("model", [OLD, NEW])
def test_a_session_that_is_compacted_goes_on_behind_its_summary(tmp_path: Path, model: str) -> None:
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:
        agent = Agent(client, model)
        first, second = agent.ask(), agent.ask()
        assert second.output_text == "Second."
        folded = agent.compact()
        assert folded.object == "response.compaction"
        assert [item.type for item in folded.output] == ["message", "compaction"]
        assert (folded.output[0].role, folded.output[0].content[0].text) == ("user", "go")
        agent.history.append({"role": "user", "content": "go on"})
        third = agent.ask()
        assert third.output_text == "Third.", "the summary knows how often the assistant had spoken"
        fourth = agent.ask()
    # What the summary was made of is the prompt before, read to its end: in steps of 128, or to the last breakpoint.
    whole = second.usage.input_tokens
    assert read_of(folded.usage) == (whole // 128 * 128 if model == OLD else whole - 2)
    assert folded.usage.total_tokens == folded.usage.input_tokens + folded.usage.output_tokens
    # Behind it the front is still there: tools, instructions and the first message.
    front = first.usage.input_tokens
    assert read_of(third.usage) == (front // 128 * 128 if model == OLD else front - 2)
    assert third.usage.input_tokens < second.usage.input_tokens - 1_000
    assert third.usage.input_tokens > front + folded.usage.output_tokens, "the summary is part of it"
    assert read_of(fourth.usage) > read_of(third.usage) - 1
    session = only(served)
    assert [request.purpose for request in session.requests] == ["main", "main", "summary", "main", "main"]
    assert {request.lane for request in session.requests} == {"main"}
    assert [(event.kind, event.before) for event in session.events] == [("compaction", third.id)]
    found = diagnose(session)
    assert [verdict.kind for verdict in found.verdicts] == ["first", "hit", "hit", "compaction", "hit"]
    assert found.verdicts[3].cause == "AS140"
    assert found.totals.lost_cost == 0, "a compaction is no loss"
    row = session.requests[2].usage
    assert row is not None
    assert (row.total_input, row.output) == (folded.usage.input_tokens, folded.usage.output_tokens)


@loopback
def test_it_may_be_compacted_again_and_again(tmp_path: Path) -> None:
    events = []
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:
        agent = Agent(client, NEW)
        for _ in range(3):
            agent.ask(), agent.ask()
            folded = agent.compact()
            assert [item.type for item in folded.output] == ["message", "compaction"], "one summary, the newest"
            events.append(("compaction", agent.ask().id))  # the same words sum it up each time
    session = only(served)
    assert [(event.kind, event.before) for event in session.events] == events
    assert [request.purpose for request in session.requests] == ["main", "main", "summary", "main"] * 3
    assert {request.lane for request in session.requests} == {"main"}
    assert diagnose(session).totals.lost_cost == 0


@loopback
def test_without_the_tools_the_summary_reads_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:
        agent = Agent(client, NEW)
        agent.ask(), agent.ask()
        folded = client.responses.compact(input=agent.history, **agent.common)
        assert read_of(folded.usage) == 0, "tools stand in front of everything"
    summary = only(served).requests[-1]
    assert (summary.purpose, summary.lane) == ("summary", "main")


@loopback
def test_a_kept_history_is_compacted_by_the_id_of_its_last_response(tmp_path: Path) -> None:
    async def main(served: Served) -> tuple[Any, Any]:
        async with served.openai_async() as client:
            first = await client.responses.create(model=NEW, instructions=WORDS, input="go")
            told = {"role": "user", "content": [{"type": "input_text", "text": "more"}]}
            folded = await client.responses.compact(
                model=NEW, instructions=WORDS, input=[told], previous_response_id=first.id
            )
            return first, folded

    with serving(tmp_path, replier=SCRIPT) as served:
        first, folded = asyncio.run(main(served))
    assert [item.type for item in folded.output] == ["message", "message", "compaction"]
    assert [item.content[0].text for item in folded.output[:2]] == ["go", "more"]
    assert read_of(folded.usage) == first.usage.input_tokens - 2


@loopback
@pytest.mark.parametrize("stream", [False, True])
def test_the_last_item_of_an_input_may_ask_for_it(tmp_path: Path, stream: bool) -> None:
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:
        agent = Agent(client, NEW)
        agent.ask(), agent.ask()
        body: dict[str, Any] = {"input": [*agent.history, {"type": "compaction_trigger"}], "tools": [TOOL]}
        if stream:
            kinds = []
            for event in client.responses.create(stream=True, **body, **agent.common):
                kinds.append(event.type)
            answer = event.response
            assert kinds[2:] == [
                *("response.output_item.added", "response.compaction.compacting", "response.output_item.done"),
                "response.completed",
            ]
        else:
            answer = client.responses.create(**body, **agent.common)
        assert [item.type for item in answer.output] == ["compaction"]
        assert read_of(answer.usage) > 3_000
        after = client.responses.create(input="go on", previous_response_id=answer.id, tools=[TOOL], **agent.common)
        assert after.output_text == "Third."
        items = client.responses.input_items.list(after.id, order="asc").data
        assert [item.type for item in items] == ["message", "compaction", "message"], "what the server goes on from"
        once = client.responses.create(
            input=[{"type": "compaction_trigger"}], previous_response_id=after.id, tools=[TOOL], **agent.common
        )
        assert [item.type for item in client.responses.input_items.list(once.id, order="asc")] == ["message", "message"]
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.create(model=NEW, input=[{"type": "compaction_trigger"}, {"role": "user", "content": "x"}])
        assert caught.value.param == "input[0]"
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.create(model=NEW, input=[{"type": "compaction_trigger"}])
        assert caught.value.param == "input"
    session = only(served)
    assert [request.purpose for request in session.requests] == ["main", "main", "summary", "main", "summary"]
    assert diagnose(session).verdicts[3].cause == "AS140"


@loopback
def test_the_provider_says_that_the_context_was_compacted(tmp_path: Path) -> None:
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:
        agent = Agent(client, NEW)
        agent.ask()
        second = agent.ask()
        agent.compact()
        agent.common["prompt_cache_options"] = {"comparison_response_id": second.id}
        third = agent.ask()
        assert third.prompt_cache_diagnostics.reason == "context_compacted"


@loopback
def test_what_cannot_be_compacted_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:
        refused: list[tuple[dict[str, Any], str | None]] = [
            ({"input": []}, "input"),
            ({"input": ""}, "input"),
            ({}, "input"),
            ({"input": "go", "previous_response_id": "resp_nobody"}, "previous_response_id"),
            ({"input": [{"role": "nobody", "content": "x"}]}, "input[0].role"),
            ({"input": "go", "prompt_cache_key": "x" * 65}, "prompt_cache_key"),
            ({"input": "go", "prompt_cache_options": {"ttl": "12h"}}, "prompt_cache_options.ttl"),
            (
                {"input": "go", "extra_body": {"prompt_cache_options": {"prewarm": True}}},
                "prompt_cache_options.prewarm",
            ),
        ]
        for body, path in refused:
            with pytest.raises(openai.BadRequestError) as caught:
                client.responses.compact(model=NEW, **body)
            assert (caught.value.param, caught.value.type) == (path, "invalid_request_error"), body
        with pytest.raises(openai.BadRequestError):
            client.responses.compact(model=None, input="go")
        for raw in (b"", b"[]", b'{"model":', b'{"model": "m", "input": [[]]}', b'{"model": "m", "input": {"a": 1}}'):
            answer = served.post(raw, "/v1/responses/compact")
            assert status_of(answer) == 400
            assert b'"error"' in answer
        get = served.raw(
            f"GET /v1/responses/compact HTTP/1.1\r\nHost: localhost:{served.port}\r\n\r\n".encode(), seconds=1
        )
        assert status_of(get) == 405
    (session,) = served.sessions()
    assert not session.requests, "nothing was served"
    assert len(session.events) == len(refused) + 7, "and each refusal was told"


@loopback
def test_a_foreign_summary_is_taken_as_it_is(tmp_path: Path) -> None:
    odd: list[Any] = ["x" * 50, "", None, 5, [], {"a": 1}, "agentsim1.", "agentsim1.%%%", "agentsim1.W10="]
    with serving(tmp_path, replier=SCRIPT) as served:
        for content in odd:
            for kind in ("compaction", "compaction_summary"):
                item = {"type": kind, "encrypted_content": content}
                body = {"model": NEW, "tools": [TOOL], "input": [item, {"role": "user", "content": "go"}]}
                answer = served.post(json.dumps(body).encode(), "/v1/responses")
                assert status_of(answer) == 200, content
                assert b"First." in answer, "it stands for no turn that anybody knows of"


def test_a_sealed_summary_can_be_opened_again_and_no_other() -> None:
    summary = SealedSummary(7, "Ünïcode 🙂 and more")
    content = sealed(summary)
    assert "more" not in content, "clients see that it is not theirs to read"
    assert opened(content) == summary

    def forged(value: object) -> str:
        return "agentsim1." + base64.urlsafe_b64encode(json.dumps(value).encode()).decode()

    assert opened(forged([7, "text"])) == SealedSummary(7, "text")
    bad: list[Any] = [[-1, "text"], [10**7, "text"], [10**40, "text"], ["7", "text"], [7], {}, None]
    for value in bad:
        assert opened(forged(value)) is None, value
    foreign: list[Any] = ["", "agentsim1.", "agentsim1.é", "gAAAAAB", "agentsim2." + content, None, 3]
    for value in foreign:
        assert opened(value) is None, value


def test_a_sealed_summary_weighs_what_it_says() -> None:
    text = "alpha bravo charlie delta " * 50
    item = item_of(
        {"type": "compaction", "id": "cmp_1", "encrypted_content": sealed(SealedSummary(3, text))}, "input[0]", NEW
    )
    plain = item_of({"role": "user", "content": text}, "input[0]", NEW)
    assert item.pieces[0].tokens == plain.pieces[0].tokens
    assert (item.turns, item.spoken, item.pieces[0].kind) == (3, False, "compaction")
