"""Conversations that the server holds: continued by the id of a response, or by a conversation's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentsim.gateway.answer_script import AnswerScript, ScriptedToolCall
from agentsim.gateway.answer_script import ScriptedTurn as Said
from agentsim.gateway.openai.response_store import ResponseStore, StoredTurn
from tests.agentsim.gateway.serving import WORDS, serving

loopback = pytest.mark.loopback
openai = pytest.importorskip("openai")

MODEL = "gpt-5.6-sol"
TOOL: dict[str, Any] = {"type": "function", "name": "bash", "parameters": {"type": "object"}, "strict": False}
SCRIPT = AnswerScript(
    turn=(Said(thinking="Hm.", text="First.", call=(ScriptedToolCall("bash", {"command": "ls"}),)),), after="Over."
)


def result_of(answer: Any) -> list[dict[str, Any]]:
    return [
        {"type": "function_call_output", "call_id": item.call_id, "output": "a file"}
        for item in answer.output
        if item.type == "function_call"
    ]


@loopback
@pytest.mark.parametrize("stream", [False, True])
def test_a_kept_history_is_the_same_prompt_as_one_that_is_sent(tmp_path: Path, stream: bool) -> None:
    common: dict[str, Any] = {"model": MODEL, "instructions": WORDS, "tools": [TOOL]}
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:

        def ask(**body: Any) -> Any:
            if not stream:
                return client.responses.create(**common, **body)
            with client.responses.stream(**common, **body) as events:
                return events.get_final_response()

        first = ask(input="go")
        kept = ask(input=result_of(first), previous_response_id=first.id)
        assert (kept.output_text, kept.previous_response_id) == ("Over.", first.id)
        history = [{"role": "user", "content": "go"}]
        history += [item.model_dump(exclude_none=True) for item in first.output]
        sent = ask(input=history + result_of(first))
        assert sent.usage.input_tokens == kept.usage.input_tokens
        assert sent.usage.input_tokens_details.cached_tokens == kept.usage.input_tokens - 2, "read to the last message"
    requests = served.sessions()[0].requests
    assert requests[1].prompt is not None
    assert requests[2].prompt is not None
    assert requests[1].prompt.digest == requests[2].prompt.digest
    assert requests[1].parent == requests[0].id


@loopback
def test_a_response_is_found_again_until_it_is_deleted(tmp_path: Path) -> None:
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:
        first = client.responses.create(model=MODEL, input="go", tools=[TOOL])
        again = client.responses.retrieve(first.id)
        assert (again.id, again.output_text, again.usage) == (first.id, "First.", first.usage)
        second = client.responses.create(model=MODEL, input=result_of(first), previous_response_id=first.id)
        items = client.responses.input_items.list(second.id, order="asc").data
        assert [item.type for item in items] == [
            "message",
            "reasoning",
            "message",
            "function_call",
            "function_call_output",
        ]
        client.responses.delete(first.id)
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(first.id)
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.create(model=MODEL, input="on", previous_response_id=first.id)
        assert (caught.value.param, caught.value.code) == ("previous_response_id", "previous_response_not_found")
        third = client.responses.create(model=MODEL, input="on", previous_response_id=second.id)
        assert third.usage.input_tokens > second.usage.input_tokens, "what only the deleted one held is still there"


@loopback
def test_what_is_not_stored_is_not_found(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.openai() as client:
        first = client.responses.create(model=MODEL, input="go", store=False)
        assert first.store is False
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(first.id)
        with pytest.raises(openai.BadRequestError):
            client.responses.create(model=MODEL, input="on", previous_response_id=first.id)


@loopback
def test_a_conversation_grows_by_what_is_said_in_it(tmp_path: Path) -> None:
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:
        thread = client.conversations.create(
            metadata={"topic": "demo"}, items=[{"type": "message", "role": "user", "content": WORDS}]
        )
        first = client.responses.create(model=MODEL, input="go", conversation=thread.id, tools=[TOOL])
        assert first.conversation.id == thread.id
        second = client.responses.create(
            model=MODEL, input=result_of(first), conversation={"id": thread.id}, tools=[TOOL]
        )
        assert second.output_text == "Over."
        assert second.usage.input_tokens_details.cached_tokens == first.usage.input_tokens - 2
        client.conversations.items.create(thread.id, items=[{"type": "message", "role": "user", "content": "and"}])
        kinds = [item.type for item in client.conversations.items.list(thread.id, order="asc").data]
        assert kinds == [
            *("message", "message"),
            *("reasoning", "message", "function_call"),
            *("function_call_output", "message", "message"),
        ]
        newest = client.conversations.items.list(thread.id).data[0]
        assert newest.content[0].text == "and"
        assert client.conversations.retrieve(thread.id).metadata == {"topic": "demo"}
        with pytest.raises(openai.BadRequestError):
            client.responses.create(model=MODEL, input="x", conversation=thread.id, previous_response_id=second.id)
        client.conversations.delete(thread.id)
        with pytest.raises(openai.NotFoundError):
            client.responses.create(model=MODEL, input="x", conversation=thread.id)


def chained(store: ResponseStore, count: int, size: int) -> StoredTurn:
    turn: StoredTurn | None = None
    for number in range(count):
        turn = StoredTurn(turn, (b"x" * size,), (), b"")
        store.keep(f"r{number}", turn)
    assert turn is not None
    return turn


def test_a_long_conversation_costs_its_content_once() -> None:
    store = ResponseStore()
    last = chained(store, 1_000, 1_000)
    assert store.size == 1_000 * 1_000
    assert len(last.history()) == 1_000


def test_the_oldest_are_forgotten_when_all_together_grow_too_large() -> None:
    store = ResponseStore(most_bytes=100_000)
    for number in range(50):  # 50 conversations of 4 turns of 1,000 bytes: 200,000 in all
        turn: StoredTurn | None = None
        for part in range(4):
            turn = StoredTurn(turn, (b"x" * 1_000,), (), b"")
            store.keep(f"{number}.{part}", turn)
        assert store.size <= 100_000
    assert store.turn("0.3") is None
    newest = store.turn("49.3")
    assert newest is not None
    assert len(newest.history()) == 4


def test_what_a_later_turn_needs_is_counted_as_long_as_that_lives() -> None:
    store = ResponseStore(most_bytes=10_000)
    chained(store, 8, 1_000)
    for number in range(7):
        assert store.forget(f"r{number}")
    assert store.size == 8_000, "the last one still needs them all"
    assert store.forget("r7")
    assert store.size == 0
    assert not store.forget("r7")


def test_conversations_give_back_what_they_held() -> None:
    store = ResponseStore()
    thread = store.new_thread(0, {}, (b"x" * 100,))
    store.keep("r", StoredTurn(thread.last, (b"y" * 50,), (), b""), thread)
    assert store.size == 150
    assert store.forget_thread(thread.id)
    assert store.size == 150, "the response is still kept by its own id"
    assert store.forget("r")
    assert store.size == 0


@loopback
def test_items_come_page_by_page_the_newest_first(tmp_path: Path) -> None:
    sent = [{"type": "message", "role": "user", "content": f"number {number}"} for number in range(45)]
    with serving(tmp_path) as served, served.openai() as client:
        first = client.responses.create(model=MODEL, input=sent)

        def texts(**more: Any) -> list[str]:
            return [item.content[0].text for item in client.responses.input_items.list(first.id, **more)]

        page = client.responses.input_items.list(first.id)
        assert (len(page.data), page.has_more, page.data[0].content[0].text) == (20, True, "number 44")
        assert (page.first_id, page.last_id) == (page.data[0].id, page.data[-1].id)
        assert texts() == [f"number {number}" for number in reversed(range(45))], "the client goes through all pages"
        assert texts(order="asc", limit=7) == [f"number {number}" for number in range(45)]
        whole = client.responses.input_items.list(first.id, limit=100, order="asc")
        assert (len(whole.data), whole.has_more) == (45, False)
        assert texts(after=whole.data[2].id) == ["number 1", "number 0"]
        for wrong in ({"limit": 0}, {"limit": 101}, {"order": "up"}, {"after": "nobody"}):
            with pytest.raises(openai.BadRequestError) as caught:
                client.responses.input_items.list(first.id, **wrong)
            assert caught.value.param == next(iter(wrong))


@loopback
def test_the_count_of_an_input_is_what_is_billed(tmp_path: Path) -> None:
    common: dict[str, Any] = {"model": MODEL, "instructions": WORDS, "tools": [TOOL]}
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:
        counted = client.responses.input_tokens.count(input="go", **common)
        assert counted.object == "response.input_tokens"
        first = client.responses.create(input="go", **common)
        assert counted.input_tokens == first.usage.input_tokens
        more: dict[str, Any] = {"input": result_of(first), "previous_response_id": first.id}
        assert (
            client.responses.input_tokens.count(**more, **common).input_tokens
            == client.responses.create(**more, **common).usage.input_tokens
        )
        text = {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object", "title": "A title"}}}
        formed = client.responses.input_tokens.count(input="go", text=text, **common)
        assert formed.input_tokens > counted.input_tokens, "the format stands in front"
        assert client.responses.input_tokens.count(input="go on").input_tokens == 2, "a model need not be named"
        assert client.responses.input_tokens.count(model=None, input=None).input_tokens == 0
        for wrong in ({"input": 5}, {"input": [5]}, {"input": "go", "previous_response_id": "resp_nobody"}):
            with pytest.raises(openai.BadRequestError):
                client.responses.input_tokens.count(**wrong)
    assert len(served.sessions()[0].requests) == 2, "counting is no request of the session"
