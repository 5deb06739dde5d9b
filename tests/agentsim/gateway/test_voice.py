"""A real model behind the endpoint, asked through the official clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'engine' is not installed")
pytest.importorskip("anthropic")
pytest.importorskip("openai")

from agentsim.engine.model_answers import Speaker
from agentsim.engine.model_loading import LoadedModel, load
from agentsim.gateway.model_voice import Voice
from tests.agentsim.gateway.serving import MODEL, serving

pytestmark = pytest.mark.loopback

PAGE = 16
SYSTEM = "You keep the log of a small harbour. " * 8


@pytest.fixture(scope="module")
def tiny() -> LoadedModel:
    return load("tiny", threads=1)


def voice(loaded: LoadedModel, most: int = 12) -> Voice:
    return Voice(Speaker(loaded, pages=400, most=most))


def expected(loaded: LoadedModel, text: str, tokens: int) -> str:
    """What the model says to these bytes, without an endpoint or a cache."""
    from agentsim.engine.inference_engine import Engine

    engine = Engine(loaded.model, pages=400, prefix_cache=False)
    sequence = engine.submit(list(text.encode()), tokens)
    engine.run()
    words = sequence.generated[:-1] if sequence.stopped else sequence.generated
    return bytes(words).decode("utf-8", "replace")


def test_anthropic_hears_the_models_own_tokens(tiny: LoadedModel, tmp_path: Path) -> None:
    with serving(tmp_path, voice=voice(tiny)) as served, served.anthropic() as client:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "Who is in?"}]
        first = client.messages.create(model=MODEL, max_tokens=8, system=SYSTEM, messages=messages)
        messages += [
            {"role": "assistant", "content": first.content[0].text},
            {"role": "user", "content": "And who left?"},
        ]
        second = client.messages.create(model=MODEL, max_tokens=8, system=SYSTEM, messages=messages)
    asked = f"system: {SYSTEM}\nuser: Who is in?\nassistant: "
    said = first.content[0].text
    assert said == expected(tiny, asked, 8)
    assert first.stop_reason in ("max_tokens", "end_turn")
    assert (first.usage.input_tokens, first.usage.cache_read_input_tokens) == (len(asked.encode()), 0)
    assert first.usage.output_tokens <= 8
    again = f"{asked}{said}\nuser: And who left?\nassistant: "
    # All full pages that both prompts begin with; what was generated was computed as well, but for its last token.
    shared = len(asked.encode()) // PAGE * PAGE
    assert second.usage.cache_read_input_tokens >= shared
    assert second.usage.cache_read_input_tokens + second.usage.input_tokens == len(again.encode())
    assert second.content[0].text == expected(tiny, again, 8)


def test_anthropic_streams(tiny: LoadedModel, tmp_path: Path) -> None:
    body: Any = {"model": MODEL, "max_tokens": 6, "messages": [{"role": "user", "content": "Who?"}]}
    with serving(tmp_path, voice=voice(tiny)) as served, served.anthropic() as client:
        whole = client.messages.create(**body)
        with client.messages.stream(**body) as stream:
            text = "".join(stream.text_stream)
    assert text == whole.content[0].text == expected(tiny, "user: Who?\nassistant: ", 6)


def test_openai_hears_the_same(tiny: LoadedModel, tmp_path: Path) -> None:
    messages: Any = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Who is in?"}]
    with serving(tmp_path, voice=voice(tiny)) as served, served.openai() as client:
        first, second = (
            client.chat.completions.create(model="gpt-5.5", messages=messages, max_completion_tokens=8)
            for _ in range(2)
        )
        answer = client.responses.create(model="gpt-5.5", instructions=SYSTEM, input="Who is in?", max_output_tokens=16)
    assert first.choices[0].message.content == second.choices[0].message.content
    assert first.usage.prompt_tokens == second.usage.prompt_tokens > len(SYSTEM)
    assert first.usage.prompt_tokens_details.cached_tokens == 0
    # The same prompt again: everything but the page of its last token.
    assert second.usage.prompt_tokens_details.cached_tokens == (first.usage.prompt_tokens - 1) // PAGE * PAGE
    assert answer.usage.output_tokens <= 12


def test_a_prompt_beyond_the_context_is_refused(tiny: LoadedModel, tmp_path: Path) -> None:
    import anthropic

    with serving(tmp_path, voice=voice(tiny)) as served, served.anthropic() as client:
        with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: .* tokens > 4095 maximum"):
            client.messages.create(model=MODEL, max_tokens=8, messages=[{"role": "user", "content": "x" * 5_000}])
        after = client.messages.create(model=MODEL, max_tokens=2, messages=[{"role": "user", "content": "still?"}])
    assert after.usage.output_tokens <= 2


def test_the_trace_tells_what_was_measured(tiny: LoadedModel, tmp_path: Path) -> None:
    with serving(tmp_path, voice=voice(tiny)) as served, served.anthropic() as client:
        for _ in range(2):
            client.messages.create(
                model=MODEL, max_tokens=4, system=SYSTEM, messages=[{"role": "user", "content": "Who?"}]
            )
    (session,) = served.sessions()
    first, second = session.requests
    assert first.provider == "vllm"
    assert (first.usage.read, second.usage.read > 0) == (0, True)  # type: ignore[union-attr, operator]
    assert first.start < first.first_token <= first.end  # type: ignore[operator]


@pytest.mark.slow
def test_smollm2_answers(tmp_path: Path) -> None:
    from agentsim.engine.weights.weights import WeightsError

    try:
        loaded = load(None, threads=1)
    except WeightsError as error:
        pytest.skip(str(error))
    asked: Any = [{"role": "user", "content": "What is the capital of France?"}]
    system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
    with serving(tmp_path, voice=voice(loaded, 24)) as served, served.anthropic() as client:
        first, again = (
            client.messages.create(model=MODEL, max_tokens=24, system=system, messages=asked) for _ in range(2)
        )
    assert first.content[0].text == again.content[0].text == "The capital of France is Paris."
    assert first.stop_reason == "end_turn"
    assert (first.usage.cache_read_input_tokens, again.usage.cache_read_input_tokens) == (0, 32)
