"""Answers in the background: asked for again, followed late, cancelled; by the official client and by hostile ones."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from agentsim.core.prompt import Prompt
from agentsim.core.session import Usage
from agentsim.gateway.answer_pace import Pace
from agentsim.gateway.answer_script import AnswerScript
from agentsim.gateway.answer_script import ScriptedTurn as Said
from agentsim.gateway.emulated_answer import EmulatedAnswer
from agentsim.gateway.openai.background_responses import BackgroundRun
from agentsim.gateway.openai.response_store import ResponseStore, StoredTurn
from agentsim.gateway.scripted_reply import ChatRequest, Say, ScriptedReply
from tests.agentsim.gateway.serving import WORDS, Served, serving, status_of

loopback = pytest.mark.loopback
openai = pytest.importorskip("openai")

MODEL = "gpt-5.6-sol"
SCRIPT = AnswerScript(turn=(Said(thinking="Let me see. " * 5, text="word " * 60),), after="Over.")
"""About 15 tokens of thought and 60 of text."""

SLOW = Pace.of(600, 100)
"""The first token after 0.6 seconds, the last of some 75 after about 1.4 seconds."""


def get(served: Served, path: str, method: str = "GET") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost:{served.port}\r\nConnection: close\r\n\r\n"
    return served.raw(head.encode())


def error_of(answer: bytes) -> dict[str, Any]:
    error: dict[str, Any] = json.loads(answer.split(b"\r\n\r\n", 1)[1])["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return error


@loopback
def test_it_is_queued_then_on_its_way_then_there(tmp_path: Path) -> None:
    with serving(tmp_path, replier=SCRIPT, pace=SLOW) as served, served.openai() as client:
        client.responses.create(model=MODEL, input=WORDS, prompt_cache_key="other")  # what is loaded once is there now
        begun = time.monotonic()
        first = client.responses.create(model=MODEL, input=WORDS, background=True)
        assert time.monotonic() - begun < 0.5, "at once"
        assert (first.status, first.background, first.output, first.usage) == ("queued", True, [], None)
        seen, parts = ["queued"], [0]
        while seen[-1] in ("queued", "in_progress"):
            answer = client.responses.retrieve(first.id)
            if answer.status != seen[-1]:
                seen.append(answer.status)
            if len(answer.output) != parts[-1]:
                parts.append(len(answer.output))
            time.sleep(0.02)
        took = time.monotonic() - begun
        assert seen == ["queued", "in_progress", "completed"]
        assert parts == [0, 1, 2], "the thought is whole before the text"
        assert 1.2 < took < 5
        assert answer.output_text == "word " * 60
        assert answer.usage.input_tokens > 3_000
        again = client.responses.create(model=MODEL, input="on", previous_response_id=first.id)
        assert again.output_text == "Over."
        assert again.usage.input_tokens_details.cached_tokens == answer.usage.input_tokens - 2
    _, session = served.sessions()
    assert [request.lane for request in session.requests] == ["main", "main"]
    assert session.requests[1].parent == first.id


@loopback
def test_nothing_follows_it_before_its_end(tmp_path: Path) -> None:
    with serving(tmp_path, replier=SCRIPT, pace=SLOW) as served, served.openai() as client:
        first = client.responses.create(model=MODEL, input="go", background=True)
        with pytest.raises(openai.BadRequestError, match="on its way") as caught:
            client.responses.create(model=MODEL, input="on", previous_response_id=first.id)
        assert caught.value.param == "previous_response_id"
        client.responses.cancel(first.id)
        with pytest.raises(openai.BadRequestError, match="was cancelled"):
            client.responses.create(model=MODEL, input="on", previous_response_id=first.id)


@loopback
def test_it_is_cancelled_once_and_for_all(tmp_path: Path) -> None:
    async def main(served: Served) -> tuple[Any, Any, Any]:
        async with served.openai_async() as client:
            first = await client.responses.create(model=MODEL, input="go", background=True)
            await asyncio.sleep(0.9)
            once = await client.responses.cancel(first.id)
            await asyncio.sleep(0.6)
            again = await client.responses.cancel(first.id)
            return once, again, await client.responses.retrieve(first.id)

    with serving(tmp_path, replier=SCRIPT, pace=SLOW) as served:
        once, again, later = asyncio.run(main(served))
    assert (once.status, once.usage) == ("cancelled", None)
    assert [item.type for item in once.output] == ["reasoning"], "what was whole by then"
    assert once == again == later, "time does not go on for it"
    (session,) = served.sessions()
    assert [event.kind for event in session.events] == ["interrupted"], "once"


@loopback
def test_the_lane_of_a_cancelled_answer_is_free(tmp_path: Path) -> None:
    with serving(tmp_path, replier=SCRIPT, pace=Pace.of(0, 5)) as served, served.openai() as client:
        first = client.responses.create(model=MODEL, input=WORDS, background=True)  # fifteen seconds long
        client.responses.cancel(first.id)
        told = [{"role": "user", "content": WORDS}, {"role": "user", "content": "Something else, please."}]
        second = client.responses.create(model=MODEL, input=told, background=True)
        client.responses.cancel(second.id)
    (session,) = served.sessions()
    assert [request.lane for request in session.requests] == ["main", "main"]
    assert session.requests[1].parent == first.id


@loopback
def test_whoever_cancels_too_late_is_told_how_it_ended(tmp_path: Path) -> None:
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:
        first = client.responses.create(model=MODEL, input="go", background=True)
        assert first.status == "queued"
        done = client.responses.cancel(first.id)
        assert (done.status, done.output_text) == ("completed", "word " * 60)
        plain = client.responses.create(model=MODEL, input="go")
        with pytest.raises(openai.BadRequestError, match="in the background can be cancelled"):
            client.responses.cancel(plain.id)
        with pytest.raises(openai.NotFoundError):
            client.responses.cancel("resp_nobody")
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.create(model=MODEL, input="go", background=True, store=False)
        assert caught.value.param == "background"
    (session,) = served.sessions()
    only = "response_id: only answers that are given in the background can be cancelled"
    assert [event.detail for event in session.events if event.kind == "api_error"] == [
        f"HTTP 400 /v1/responses/{plain.id}/cancel: {only}",
        "HTTP 404 /v1/responses/resp_nobody/cancel: no response with this id is kept",
        "HTTP 400 /v1/responses: background: an answer in the background has to be stored",
    ]


@loopback
def test_a_stream_that_broke_off_is_followed_from_where_it_was(tmp_path: Path) -> None:
    with serving(tmp_path, replier=SCRIPT, pace=SLOW) as served, served.openai() as client:
        begun = time.monotonic()
        early = []
        with client.responses.create(model=MODEL, input="go", background=True, stream=True) as stream:
            for event in stream:
                early.append(event)
                if len(early) == 2:
                    assert time.monotonic() - begun < 0.5
                if len(early) == 3:  # created and queued come at once, the next with the first token
                    assert time.monotonic() - begun > 0.5
                if len(early) == 6:
                    break
        assert [event.type for event in early[:3]] == ["response.created", "response.queued", "response.in_progress"]
        assert [event.response.status for event in early[:3]] == ["queued", "queued", "in_progress"]
        id = early[0].response.id
        late = list(client.responses.retrieve(id, stream=True, starting_after=early[-1].sequence_number))
        assert time.monotonic() - begun > 1.2, "it was followed to its end"
        numbers = [event.sequence_number for event in early + late]
        assert numbers == list(range(len(numbers)))
        assert late[-1].type == "response.completed"
        assert late[-1].response.background is True
        texts = [event.delta for event in early + late if event.type == "response.output_text.delta"]
        assert "".join(texts) == "word " * 60
        with client.responses.stream(response_id=id) as whole:
            assert whole.get_final_response().output_text == "word " * 60
        with client.responses.stream(response_id=id, starting_after=numbers[-2]) as rest:
            assert [event.type for event in rest] == ["response.completed"]
    (session,) = served.sessions()
    assert not session.events, "a client that leaves does not end it"


@loopback
def test_a_cancelled_stream_ends_for_those_who_follow_it(tmp_path: Path) -> None:
    async def main(served: Served) -> tuple[list[Any], list[Any], float]:
        async with served.openai_async() as client:
            stream = await client.responses.create(model=MODEL, input="go", background=True, stream=True)
            seen = [await anext(stream)]

            async def rest() -> None:
                async for event in stream:
                    seen.append(event)

            follower = asyncio.create_task(rest())
            await asyncio.sleep(0.5)
            begun = time.monotonic()
            await client.responses.cancel(seen[0].response.id)
            await follower
            took = time.monotonic() - begun
            late = [event async for event in await client.responses.retrieve(seen[0].response.id, stream=True)]
            return seen, late, took

    with serving(tmp_path, replier=SCRIPT, pace=Pace.of(100, 20)) as served:  # four seconds in all
        seen, late, took = asyncio.run(main(served))
    assert took < 1, "and not when it would have ended"
    assert 4 <= len(seen) < 20
    assert not any(event.type == "response.completed" for event in seen)
    assert [event.sequence_number for event in late] == [event.sequence_number for event in seen]


@loopback
def test_hostile_requests_are_answered_in_the_shape_of_the_api(tmp_path: Path) -> None:
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:
        streamed = list(client.responses.create(model=MODEL, input="go", background=True, stream=True))
        id = streamed[0].response.id
        unstreamed = client.responses.create(model=MODEL, input="go", background=True).id
        last = streamed[-1].sequence_number
        for after in (last, last + 1, 10**9):
            answer = get(served, f"/v1/responses/{id}?stream=true&starting_after={after}")
            assert (status_of(answer), b"data:" in answer) == (200, False), "there is nothing more to come"
        for after in ("-1", "x", "", "1e3", "%31%00", "9" * 5_000, str(10**9 + 1), "\u0661".encode().hex("%")):
            answer = get(served, f"/v1/responses/{id}?stream=true&starting_after={after}")
            assert status_of(answer) == 400, after
            assert error_of(answer)["param"] == "starting_after"
        answer = get(served, f"/v1/responses/{unstreamed}?stream=true")
        assert (status_of(answer), error_of(answer)["param"]) == (400, "stream")
        for path in ("resp_nobody", "%00", "..", "x" * 10_000):
            for rest in ("", "/input_items", "?stream=true"):
                answer = get(served, f"/v1/responses/{path}{rest}")
                assert status_of(answer) == 404, (path[:20], rest)
                error_of(answer)
        assert status_of(get(served, f"/v1/responses/{id}?" + "a&" * 2_000)) == 400
        assert status_of(get(served, f"/v1/responses/{id}/cancel")) == 405
        assert status_of(get(served, f"/v1/responses/{id}/input_items", "DELETE")) == 405
        assert status_of(served.post(b"not json", f"/v1/responses/{id}/cancel")) == 200, "its body says nothing"
        odd: list[Any] = [0, "true", [], {}]
        for value in odd:
            body = json.dumps({"model": MODEL, "input": "go", "background": value}).encode()
            assert error_of(served.post(body, "/v1/responses"))["param"] == "background"
        assert status_of(get(served, f"/v1/responses/{id}", "DELETE")) == 200
        assert status_of(get(served, f"/v1/responses/{id}", "DELETE")) == 404
        assert status_of(served.post(b"", f"/v1/responses/{id}/cancel")) == 404


def run_of(size: int) -> BackgroundRun:
    asked = ChatRequest(
        dialect="responses",
        provider="openai",
        model=MODEL,
        session="s",
        prompt=Prompt.of(()),
        settings=(),
        tools=(),
        turn=0,
        messages=1,
        heard="x" * 1_000_000,
    )
    reply = ScriptedReply((Say("x" * size),), "end_turn", 10)
    return BackgroundRun(
        EmulatedAnswer(id="r", request_id="q", asked=asked, reply=reply, usage=Usage(), time=0, pace=Pace())
    )


def test_what_is_kept_of_an_answer_is_counted() -> None:
    store = ResponseStore(most_bytes=100_000)
    for number in range(100):  # 100 answers of 10,000 bytes, each kept as a response and as its run
        run = run_of(10_000)
        assert run.answer.asked.heard == "", "the request is not kept for its sake"
        store.keep(str(number), StoredTurn(None, (), (), b"x" * 10_000, run))
        assert store.size <= 100_000
    kept = [number for number in range(100) if store.turn(str(number)) is not None]
    assert kept == [95, 96, 97, 98, 99]
