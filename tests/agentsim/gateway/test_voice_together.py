"""Many clients of one real model at once: each hears what it would have heard alone, in far fewer steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'engine' is not installed")
pytest.importorskip("anthropic")
pytest.importorskip("openai")

import torch

from agentsim.engine.decoder import Decoder
from agentsim.engine.forward_batch import Batch
from agentsim.engine.kv_pages import PageRoom
from agentsim.engine.model_answers import Speaker
from agentsim.engine.model_loading import LoadedModel
from agentsim.engine.trace_tokens import ByteTokens
from agentsim.engine.weights.find_model import load_weights
from agentsim.gateway.model_voice import Voice
from tests.agentsim.gateway.serving import MODEL, Served, serving

pytestmark = pytest.mark.loopback

PAGE = 16
SYSTEM = "You keep the log of a small harbour. " * 8
NAMES = ("Ada", "Brook", "Cyrus", "Dora", "Edda", "Finn")
TOKENS = 10


class Gated(Decoder):
    """A model whose passes wait at a gate, and fail over a forbidden token. Its bits do not depend on the batch, so
    that nothing but a defect makes answers differ."""

    def __init__(self) -> None:
        super().__init__(load_weights("tiny"), row_by_row=True)
        self.gate = threading.Event()
        self.gate.set()
        self.pause = 0.0
        self.forbidden: int | None = None

    def forward(self, batch: Batch, kv: PageRoom) -> torch.Tensor:
        assert self.gate.wait(60)
        time.sleep(self.pause)
        if self.forbidden is not None and self.forbidden in batch.tokens.tolist():
            raise RuntimeError("these words are in no error")
        return super().forward(batch, kv)


class Counting(Speaker):
    """Counts who came."""

    def __init__(self, model: Decoder, pages: int, most: int) -> None:
        super().__init__(
            LoadedModel(model, ByteTokens(), marks=False, threads=1), pages=pages, most=most, paranoid=True
        )
        self.came = 0

    def say(self, *given: Any) -> Any:
        self.came += 1
        return super().say(*given)


class Stage:
    def __init__(self, served: Served, model: Gated, speaker: Counting) -> None:
        self.served = served
        self.model = model
        self.speaker = speaker

    def together(self, asks: list[Callable[[], Any]]) -> list[Any]:
        """The answers to requests that come one after the other while the engine stands still, and run together."""
        self.model.gate.clear()
        before = self.speaker.came
        with ThreadPoolExecutor(len(asks)) as pool:
            answers = []
            for number, ask in enumerate(asks, 1):
                answers.append(pool.submit(ask))
                wait_for(partial(self._came, before + number))
            self.model.gate.set()
            return [answer.result(60) for answer in answers]

    def _came(self, count: int) -> bool:
        return bool(self.speaker.came == count)

    def is_at_rest(self) -> bool:
        return self.speaker.engine.is_idle and not self.speaker.engine.pool.referenced


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "this takes too long"
        time.sleep(0.002)


@contextmanager
def staged(folder: Path, *, pages: int = 400, most: int = 3000) -> Iterator[Stage]:
    folder.mkdir(exist_ok=True)
    model = Gated()
    speaker = Counting(model, pages, most)
    with serving(folder, voice=Voice(speaker)) as served:
        try:
            yield Stage(served, model, speaker)
        finally:
            model.gate.set()
    speaker.engine.scheduler.check_integrity()
    assert speaker.engine.pool.referenced == 0


def questions(client: Any, openai: Any) -> list[Callable[[], tuple[str, int, int]]]:
    """Questions to three APIs, whole and as streams. Each gives its text, the tokens that it read, and others."""

    def message(name: str) -> tuple[str, int, int]:
        said = client.messages.create(**body(name))
        return said.content[0].text, said.usage.cache_read_input_tokens, said.usage.input_tokens

    def streamed(name: str) -> tuple[str, int, int]:
        with client.messages.stream(**body(name)) as stream:
            text = "".join(stream.text_stream)
            said = stream.get_final_message()
        assert said.content[0].text == text
        return text, said.usage.cache_read_input_tokens, said.usage.input_tokens

    def chat(name: str) -> tuple[str, int, int]:
        stream = openai.chat.completions.create(
            model=MODEL,
            messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": f"Is {name} in?"}],
            max_completion_tokens=TOKENS,
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = list(stream)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert chunks[-2].choices[0].finish_reason in ("stop", "length")
        usage = chunks[-1].usage
        return text, usage.prompt_tokens_details.cached_tokens, usage.prompt_tokens

    def response(name: str) -> tuple[str, int, int]:
        asked: Any = {"model": MODEL, "instructions": SYSTEM, "input": f"Is {name} in?", "max_output_tokens": 16}
        events = list(openai.responses.create(**asked, stream=True))
        assert [event.sequence_number for event in events] == list(range(len(events)))
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        said = events[-1].response
        assert said.output_text == text
        return text, said.usage.input_tokens_details.cached_tokens, said.usage.input_tokens

    kinds = (message, streamed, chat, response, streamed, message)
    return [partial(kind, name) for kind, name in zip(kinds, NAMES, strict=True)]


def body(name: str, tokens: int = TOKENS) -> dict[str, Any]:
    asked = [{"role": "user", "content": f"Is {name} in?"}]
    return {"model": MODEL, "max_tokens": tokens, "system": SYSTEM, "messages": asked}


def test_together_each_hears_what_it_hears_alone_in_far_fewer_steps(tmp_path: Path) -> None:
    with staged(tmp_path / "alone") as stage, stage.served.anthropic() as client, stage.served.openai() as openai:
        alone = [ask() for ask in questions(client, openai)]
        steps_alone = stage.speaker.engine.steps
    with staged(tmp_path / "together") as stage, stage.served.anthropic() as client, stage.served.openai() as openai:
        # While the engine is busy with somebody else all of them come, so that it finds them together.
        busy: Any = {"model": MODEL, "max_tokens": 1, "messages": [{"role": "user", "content": "?"}]}
        _, *together = stage.together([lambda: client.messages.create(**busy), *questions(client, openai)])
        steps = stage.speaker.engine.steps
    assert together == alone
    # Nobody computed the shared beginning twice: it is read as if the requests had come one after the other.
    shared = len(f"system: {SYSTEM}\nuser: Is ".encode()) // PAGE * PAGE
    assert [read for _, read, _ in together] == [0] + [shared] * 5
    # 6 answers of 10 tokens (one of up to 16): a step for each token alone, about one for each of the longest together.
    assert steps_alone > 50
    assert steps <= 20


def test_a_stream_comes_token_by_token_and_beside_others(tmp_path: Path) -> None:
    with staged(tmp_path) as stage, stage.served.anthropic() as client:
        stage.model.pause = 0.002
        with client.messages.stream(**body("Ada", 2000)) as long:
            first = next(iter(long.text_stream))
            # The long answer has hardly begun, and another one is asked and answered meanwhile.
            short = client.messages.create(**body("Brook", 3))
            assert long.current_message_snapshot.stop_reason is None
            assert stage.speaker.engine.steps < 1000
        assert first
        assert short.usage.output_tokens <= 3
        wait_for(stage.is_at_rest)


def test_a_client_that_hangs_up_frees_its_pages_and_the_others_go_on(tmp_path: Path) -> None:
    with staged(tmp_path) as stage, stage.served.anthropic() as client:
        expected = client.messages.create(**body("Ada", 60)).content[0].text
        stage.model.pause = 0.005
        with client.messages.stream(**body("Brook", 2500)) as stream:
            next(iter(stream.text_stream))
            with ThreadPoolExecutor(1) as pool:
                other = pool.submit(lambda: client.messages.create(**body("Ada", 60)).content[0].text)
                wait_for(lambda: len(stage.speaker.engine.scheduler.running) == 2)
                stream.close()
                wait_for(lambda: len(stage.speaker.engine.scheduler.running) == 1)
                assert other.result(60) == expected
        wait_for(stage.is_at_rest)
        # 2,500 tokens were asked for; those after the end of the connection were never computed.
        assert stage.speaker.engine.steps < 500
    (session,) = stage.served.sessions()
    assert [event.kind for event in session.events] == ["interrupted"]
    broken = next(one for one in session.requests if one.stop_reason is None)
    assert broken.usage is not None
    assert 0 < (broken.usage.output or 0) < 500


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_hangs_up_before_it_hears_anything(tmp_path: Path, stream: bool) -> None:
    import anthropic

    with staged(tmp_path) as stage, stage.served.anthropic(timeout=0.3) as client:
        stage.model.gate.clear()
        with pytest.raises(anthropic.APITimeoutError):
            client.messages.create(**body("Ada", 2000), stream=stream)
        time.sleep(0.2)  # the endpoint has seen that the connection is closed
        stage.model.gate.set()
        wait_for(stage.is_at_rest)
        # No more than the pass that was under way.
        assert stage.speaker.engine.steps <= 2
        with stage.served.anthropic() as patient:
            assert patient.messages.create(**body("Ada", 2)).usage.output_tokens == 2
    (session,) = stage.served.sessions()
    assert len(session.requests) == 1


def test_a_request_that_fails_is_an_error_for_its_client_alone(tmp_path: Path) -> None:
    import anthropic

    with staged(tmp_path) as stage, stage.served.anthropic() as client:
        alone = [client.messages.create(**body(name)).content[0].text for name in ("Ada", "Brook")]
    with staged(tmp_path / "broken") as stage, stage.served.anthropic() as client:
        stage.model.forbidden = ord("~")

        def fails(**more: Any) -> anthropic.InternalServerError:
            asked = {**body("Cyrus"), "messages": [{"role": "user", "content": "Is ~ in?"}], **more}
            with pytest.raises(anthropic.InternalServerError) as caught:
                client.messages.create(**asked)
            return caught.value

        ask = [
            lambda: client.messages.create(**body("Ada")).content[0].text,
            fails,
            lambda: fails(stream=True),
            lambda: client.messages.create(**body("Brook")).content[0].text,
        ]
        first, error, streamed, last = stage.together(ask)
        too_long = [{"role": "user", "content": "x" * 5_000}]
        with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
            client.messages.create(model=MODEL, max_tokens=4, messages=too_long)
    assert [first, last] == alone
    assert "the engine failed: RuntimeError" in str(error)
    assert "the engine failed: RuntimeError" in str(streamed)
    assert "these words" not in str(error)
    (session,) = stage.served.sessions()
    assert len(session.requests) == 2


def test_when_the_pages_do_not_suffice_for_all_they_come_one_after_the_other(tmp_path: Path) -> None:
    asks = [f"{name} " * 60 for name in NAMES[:4]]

    def ask(client: Any, text: str) -> str:
        said = client.messages.create(model=MODEL, max_tokens=40, messages=[{"role": "user", "content": text}])
        return str(said.content[0].text)

    with staged(tmp_path / "alone") as stage, stage.served.anthropic() as client:
        alone = [ask(client, text) for text in asks]
    # Each takes up to 26 pages: two fit at once, but not to their end.
    with staged(tmp_path / "together", pages=44) as stage, stage.served.anthropic() as client:
        together = stage.together([partial(ask, client, text) for text in asks])
    assert together == alone


def test_answers_of_the_responses_api_are_kept_once_they_are_whole(tmp_path: Path) -> None:
    with staged(tmp_path) as stage, stage.served.openai() as client:
        first = client.responses.create(model=MODEL, input="Who is in?", max_output_tokens=16)
        second = client.responses.create(
            model=MODEL, input="And who left?", previous_response_id=first.id, max_output_tokens=16
        )
    asked = f"user: Who is in?\nassistant: {first.output_text}\nuser: And who left?\nassistant: "
    assert second.usage.input_tokens == len(asked.encode())


def test_what_is_compacted_or_answered_in_the_background_is_the_models_too(tmp_path: Path) -> None:
    with staged(tmp_path, most=16) as stage, stage.served.openai() as client:
        said = client.responses.create(model=MODEL, input="Who is in?", max_output_tokens=16)
        later = client.responses.create(model=MODEL, input="Who is in?", max_output_tokens=16, background=True)
        compacted = client.responses.compact(model=MODEL, input=[{"role": "user", "content": "Who is in?"}])
        assert client.responses.retrieve(later.id).output_text == said.output_text
    assert compacted.usage.input_tokens == said.usage.input_tokens
    assert [item.type for item in compacted.output] == ["message", "compaction"]


def test_a_request_for_no_tokens_fills_the_cache_and_says_nothing(tmp_path: Path) -> None:
    with staged(tmp_path) as stage, stage.served.anthropic() as client:
        filled = client.messages.create(**body("Ada", 0))
        after = client.messages.create(**body("Ada", 2))
    assert (filled.content, filled.usage.output_tokens, filled.stop_reason) == ([], 0, "max_tokens")
    assert after.usage.cache_read_input_tokens == filled.usage.input_tokens // PAGE * PAGE
