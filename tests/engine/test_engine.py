"""The engine on a model whose continuation is known: whatever runs beside it, each sequence gets its own."""

from __future__ import annotations

import random

import pytest
import torch

from agentsim.engine.inference_engine import Engine, uniform
from agentsim.engine.sequence import SequenceState
from tests.engine.stub import StubModel, continued

torch.set_num_threads(1)


def engine_of(pages: int = 40, **options) -> Engine:
    options.setdefault("page_size", 4)
    return Engine(StubModel(), pages=pages, paranoid=True, **options)


def prompt_of(length: int, seed: int = 0) -> list[int]:
    dice = random.Random(seed)
    return [dice.randrange(100) for _ in range(length)]


def test_one_sequence() -> None:
    engine = engine_of()
    prompt = prompt_of(10)
    sequence = engine.submit(prompt, 5)
    assert engine.run() == [sequence]
    assert sequence.generated == continued(prompt, 5)
    # 10 tokens of the prompt, and 4 of the 5 generated: the last is not put through the model.
    assert (sequence.reused, sequence.computed_tokens) == (0, 14)
    assert sequence.state is SequenceState.FINISHED
    assert engine.pool.referenced == 0


@pytest.mark.parametrize("length", range(1, 14))
def test_every_length_with_and_without_the_cache(length: int) -> None:
    prompt = prompt_of(length)
    cached, bare = engine_of(), engine_of(prefix_cache=False)
    for _ in range(2):
        assert cached.generate([prompt], 6) == bare.generate([prompt], 6) == [continued(prompt, 6)]


def test_a_prefix_is_computed_once() -> None:
    engine = engine_of()
    document = prompt_of(22)
    engine.submit([*document, 1], 1)
    engine.run()
    second = engine.submit([*document, 2, 3], 1)
    engine.run()
    assert second.reused == 20  # 5 pages of 4
    assert second.computed_tokens == 24 - 20


def test_the_last_token_is_computed_even_when_all_is_cached() -> None:
    engine = engine_of()
    prompt = prompt_of(16)
    engine.generate([prompt], 1)
    again = engine.submit(prompt, 1)
    engine.run()
    assert again.reused == 12
    assert again.generated == continued(prompt, 1)


def test_what_was_generated_is_kept_for_the_next_turn() -> None:
    engine = engine_of()
    prompt = prompt_of(10)
    first = engine.submit(prompt, 7)
    engine.run()
    # The next turn repeats the 10 + 7 tokens; 16 of them were computed: 4 pages.
    second = engine.submit([*prompt, *first.generated, 5], 1)
    engine.run()
    assert second.reused == 16
    forgetful = engine_of(keep_generated=False)
    first = forgetful.submit(prompt, 7)
    forgetful.run()
    second = forgetful.submit([*prompt, *first.generated, 5], 1)
    forgetful.run()
    assert second.reused == 8


def test_namespaces_share_nothing() -> None:
    engine = engine_of()
    prompt = prompt_of(12)
    engine.submit(prompt, 1, namespace=b"a")
    engine.run()
    other = engine.submit(prompt, 1, namespace=b"b")
    same = engine.submit(prompt, 1, namespace=b"a")
    engine.run()
    assert (other.reused, same.reused) == (0, 8)


def test_many_together_each_get_their_own() -> None:
    engine = engine_of(pages=200, step_tokens=16)
    prompts = [prompt_of(3 + 5 * number, seed=number % 3) for number in range(9)]
    assert engine.generate(prompts, 8) == [continued(prompt, 8) for prompt in prompts]
    # Continuous batching: far fewer passes than tokens.
    assert engine.steps < 9 * 8


def test_a_long_prompt_does_not_stop_the_others() -> None:
    engine = engine_of(pages=200, step_tokens=16)
    short = engine.submit(prompt_of(4), 30)
    engine.step()
    long = engine.submit(prompt_of(150, seed=1), 1)
    generated_while = 0
    while long.first_token is None:
        engine.step()
        generated_while += 1
    # 15 of the 16 tokens of a step are left for the prompt: 150 / 15 = 10 steps, and a token of the other in each.
    assert generated_while == 10
    assert len(short.generated) == 1 + 10
    engine.run()
    assert short.generated == continued(prompt_of(4), 30)


@pytest.mark.parametrize("running", [1, 2])
@pytest.mark.parametrize("missing", [0, 1])
def test_a_newcomer_leaves_a_spare_page_for_each_that_runs(running: int, missing: int) -> None:
    # Who runs has four tokens and one generated, in two pages; the newcomer needs two, and each other one more later.
    engine = engine_of(pages=2 * running + 2 + running - missing, prefix_cache=False)
    others = [engine.submit(prompt_of(4, seed), 8) for seed in range(running)]
    engine.step()
    newcomer = engine.submit(prompt_of(8, seed=9), 1)
    engine.step()
    assert newcomer.is_over == (not missing)
    assert [len(other.pages) for other in others] == [2] * running
    engine.run()
    assert newcomer.generated == continued(prompt_of(8, seed=9), 1)


def test_preemption_changes_no_token() -> None:
    # 3 sequences of 8 + 20 tokens take 7 pages each; 12 pages are not enough for two of them.
    engine = engine_of(pages=12, step_tokens=64)
    prompts = [prompt_of(8, seed=number) for number in range(3)]
    sequences = [engine.submit(prompt, 20) for prompt in prompts]
    engine.run()
    assert [sequence.generated for sequence in sequences] == [continued(prompt, 20) for prompt in prompts]
    assert sum(sequence.preemptions for sequence in sequences) > 0
    assert sequences[0].preemptions == 0  # the oldest is never given up


def test_forks_share_pages_until_they_write() -> None:
    engine = engine_of()
    prompt = prompt_of(9)
    sequence = engine.submit(prompt, 12)
    engine.step()
    before = engine.pool.referenced
    twins = [engine.fork(sequence, seed) for seed in (1, 2)]
    assert engine.pool.referenced == before
    engine.run()
    for one in (sequence, *twins):
        assert one.generated == continued(prompt, 12)


def test_forks_of_one_luck_part_where_their_seeds_do() -> None:
    engine = engine_of()
    sequence = engine.submit(prompt_of(6), 40, temperature=1.0, seed=3)
    engine.step()
    same, other = engine.fork(sequence, 3), engine.fork(sequence, 4)
    engine.run()
    assert same.generated == sequence.generated
    assert other.generated != sequence.generated


def test_luck_does_not_depend_on_what_runs_beside() -> None:
    prompt = prompt_of(6)
    alone = engine_of()
    first = alone.submit(prompt, 10, temperature=1.0, seed=5)
    alone.run()
    crowded = engine_of(pages=14)
    crowd = [crowded.submit(prompt_of(7, seed=number), 12) for number in range(1, 4)]
    second = crowded.submit(prompt, 10, temperature=1.0, seed=5)
    crowded.run()
    assert first.generated == second.generated
    assert all(one.is_over for one in crowd)


def test_uniform_numbers_are_uniform() -> None:
    drawn = [uniform(1, position) for position in range(4_000)]
    assert all(0 <= number < 1 for number in drawn)
    # The mean of n uniform numbers lies within 4 standard deviations: 4 * sqrt(1 / (12 * 4000)) = 0.018.
    assert abs(sum(drawn) / len(drawn) - 0.5) < 0.019


def test_a_stop_token_ends_a_sequence() -> None:
    prompt = prompt_of(5)
    expected = continued(prompt, 6)
    engine = engine_of()
    sequence = engine.submit(prompt, 50, stop=[expected[3]])
    engine.run()
    assert sequence.stopped
    assert sequence.generated == expected[: expected.index(expected[3]) + 1]


def test_a_step_that_fails_can_be_tried_again() -> None:
    engine = engine_of(pages=12)
    prompt = prompt_of(9)
    sequence = engine.submit(prompt, 6)
    assert isinstance(engine.model, StubModel)
    for _ in range(4):
        engine.model.failing = 1
        with pytest.raises(RuntimeError, match="gone"):
            engine.step()
        engine.scheduler.check_integrity()
        engine.step()
    engine.run()
    assert sequence.generated == continued(prompt, 6)


def test_an_aborted_sequence_leaves_nothing_behind() -> None:
    engine = engine_of(pages=10)
    running = engine.submit(prompt_of(20), 10)
    waiting = engine.submit(prompt_of(24, seed=1), 10)
    engine.step()
    assert waiting.state is SequenceState.WAITING
    for sequence in (waiting, running, running):
        engine.abort(sequence)
    assert engine.is_idle
    assert engine.pool.referenced == 0
    engine.scheduler.check_integrity()


def test_a_restored_prefix_reads_as_before() -> None:
    engine = engine_of(pages=12, host_pages=20)
    prompt = prompt_of(33)
    engine.generate([prompt], 2)
    assert engine.cache.offload() == 8
    for part in engine.kv.parts:
        part.fill_(99.0)  # whatever was on the device is gone
    sequence = engine.submit(prompt, 4)
    engine.run()
    assert sequence.generated == continued(prompt, 4)
    assert (sequence.reused, sequence.restored) == (32, 32)
    assert engine.mover.restored_bytes == 8 * engine.kv.bytes_per_page


def test_a_lifetime_is_imposed_by_the_starts_of_requests() -> None:
    engine = engine_of(lifetime=300)
    prompt = prompt_of(9)
    reused = []
    for start in (0, 299, 598, 898, 898):
        sequence = engine.submit(prompt, 1, start=start)
        engine.run()
        reused.append(sequence.reused)
    # Each read keeps it for 300 more; at 898 that has just run out.
    assert reused == [0, 8, 8, 0, 8]


@pytest.mark.parametrize(
    ("tokens", "new", "reason"),
    [([], 1, "at least one"), ([1], 0, "at least one"), ([1] * 9_999, 2, "context"), ([1] * 200, 1, "do not fit"),
     ([101], 1, "not one of")],
)  # fmt: skip
def test_what_cannot_run_is_refused(tokens: list[int], new: int, reason: str) -> None:
    engine = engine_of()
    with pytest.raises(ValueError, match=reason):
        engine.submit(tokens, new)
    assert engine.is_idle


def test_one_that_just_fits_is_run() -> None:
    engine = engine_of(pages=5)  # 20 positions: 15 tokens and 5 of the 6 new ones
    prompt = prompt_of(15)
    assert engine.generate([prompt], 6) == [continued(prompt, 6)]


@pytest.mark.parametrize("seed", range(12))
def test_any_crowd_in_any_pool(seed: int) -> None:
    """Random sizes, arrivals, forks and aborts: what is finished is right, and nothing is left."""
    dice = random.Random(seed)
    pages = dice.randint(8, 30)
    engine = engine_of(
        pages=pages,
        step_tokens=dice.choice((1, 3, 8, 64)),
        step_sequences=dice.choice((1, 2, 5)),
        host_pages=dice.choice((0, 0, 6)),
        prefix_cache=dice.random() < 0.8,
    )
    asked = []
    for _ in range(60):
        if dice.random() < 0.4:
            prompt = prompt_of(dice.randint(1, pages * 4 - 14), seed=dice.randrange(3))
            asked.append(engine.submit(prompt, dice.randint(1, 12)))
        running = engine.scheduler.running
        if running and dice.random() < 0.1 and len(running[0].chain) > running[0].prompt_length:
            asked.append(engine.fork(running[0], 0))
        if asked and dice.random() < 0.1:
            engine.abort(dice.choice(asked))
        engine.step()
    engine.run()
    assert any(one.state is SequenceState.FINISHED for one in asked)
    for one in asked:
        assert one.is_over
        assert one.generated == continued(one.prompt, len(one.generated))
        if one.state is SequenceState.FINISHED:
            assert len(one.generated) == one.new_tokens
    assert engine.pool.referenced == 0


@pytest.mark.parametrize("step_tokens", [6, 512])
def test_whoever_comes_while_its_prefix_is_computed_reads_it(step_tokens: int) -> None:
    document = prompt_of(22)
    prompts = [[*document, 1], [*document, 2, 3], prompt_of(9, 1)]
    engine = engine_of(await_prefixes=True, step_tokens=step_tokens)
    together = [engine.submit(prompt, 4) for prompt in prompts]
    engine.run()
    # As one after the other: 5 pages of 4 tokens are shared, and computed once.
    assert [sequence.reused for sequence in together] == [0, 20, 0]
    assert [sequence.generated for sequence in together] == [continued(prompt, 4) for prompt in prompts]
    side_by_side = engine_of(step_tokens=512)
    twins = [side_by_side.submit(prompt, 4) for prompt in prompts]
    side_by_side.run()
    assert [sequence.reused for sequence in twins] == [0, 0, 0]


def test_whoever_waits_for_a_prefix_computes_it_when_the_other_is_gone() -> None:
    document = prompt_of(22)
    engine = engine_of(await_prefixes=True, step_tokens=8)
    first, second = engine.submit([*document, 1], 4), engine.submit([*document, 2], 4)
    engine.step()
    assert second.state is SequenceState.WAITING
    engine.abort(first)
    engine.run()
    assert second.reused == 8
    assert second.generated == continued([*document, 2], 4)
    assert engine.pool.referenced == 0
