"""The engine on real arithmetic: whatever is cached, batched, cut or preempted, the tokens are the same."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from agentsim.engine.decoder import Decoder
from agentsim.engine.inference_engine import Engine
from agentsim.engine.single_passes import drawn_tokens
from agentsim.engine.weights.tiny import tiny_weights
from agentsim.engine.weights.weights import WeightsError

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def tiny() -> Decoder:
    return Decoder(tiny_weights())


def conversation(engine: Engine, turns: int, vocabulary: int, new_tokens: int = 6) -> tuple[list[list[int]], int]:
    """Turns that each repeat all before them. Returns what was generated, and how many tokens were reused."""
    history = drawn_tokens(50, vocabulary, 1)
    generated, reused = [], 0
    for turn in range(turns):
        sequence = engine.submit(history, new_tokens, stop=())
        engine.run()
        generated.append(sequence.generated)
        reused += sequence.reused
        history += [*sequence.generated, *drawn_tokens(20, vocabulary, 100 + turn)]
    return generated, reused


@pytest.mark.parametrize("step_tokens", [7, 512])
def test_cache_on_and_off_give_the_same_tokens(tiny: Decoder, step_tokens: int) -> None:
    options: dict[str, Any] = {"pages": 40, "page_size": 16, "step_tokens": step_tokens, "paranoid": True}
    with_cache, reused = conversation(Engine(tiny, **options), 6, tiny.config.vocab)
    without, none = conversation(Engine(tiny, prefix_cache=False, **options), 6, tiny.config.vocab)
    assert with_cache == without
    assert none == 0
    # Turn n has 50 + 26 (n - 1) tokens, and repeats those of the turn before, all but the last of which were computed.
    assert reused == sum((50 + 26 * turn - 21) // 16 * 16 for turn in range(1, 6))


def test_a_crowd_generates_what_each_generates_alone(tiny: Decoder) -> None:
    prompts = [drawn_tokens(10 + 9 * number, tiny.config.vocab, number % 4) for number in range(8)]
    alone = [Engine(tiny, pages=20).generate([prompt], 10)[0] for prompt in prompts]
    crowded = Engine(tiny, pages=24, step_tokens=20, paranoid=True)
    assert crowded.generate(prompts, 10) == alone


def test_pages_that_went_to_the_host_and_back(tiny: Decoder) -> None:
    engine = Engine(tiny, pages=12, host_pages=12, paranoid=True)
    prompt = drawn_tokens(100, tiny.config.vocab, 5)
    before = engine.submit(prompt, 8, stop=())
    engine.run()
    engine.cache.offload()
    # What was on the device is gone. (Not NaN: a value that nobody attends to is still multiplied by 0.)
    for part in engine.kv.parts:
        part.zero_()
    after = engine.submit(prompt, 8, stop=())
    engine.run()
    assert after.restored == 96
    assert after.generated == before.generated


def test_branches_of_one_prompt_go_their_own_ways(tiny: Decoder) -> None:
    engine = Engine(tiny, pages=30, paranoid=True)
    prompt = drawn_tokens(37, tiny.config.vocab, 6)
    first = engine.submit(prompt, 12, temperature=1.0, seed=1, stop=())
    engine.step()
    twin = engine.fork(first, 2)
    engine.run()
    alone = Engine(tiny, pages=30)
    again = alone.submit(prompt, 12, temperature=1.0, seed=1, stop=())
    alone.run()
    assert first.generated == again.generated
    assert twin.generated != first.generated
    assert twin.generated[0] == first.generated[0]


@pytest.mark.slow
def test_smollm2_with_the_cache_on_and_off() -> None:
    from agentsim.engine.weights.find_model import load_weights

    try:
        model = Decoder(load_weights())
    except WeightsError as error:
        pytest.skip(str(error))
    options: dict[str, Any] = {"pages": 24, "page_size": 16}
    with_cache, reused = conversation(Engine(model, **options), 3, model.config.vocab, new_tokens=8)
    without, _ = conversation(Engine(model, prefix_cache=False, **options), 3, model.config.vocab, new_tokens=8)
    assert with_cache == without
    assert reused > 0
