"""The eight outcomes of a prefix cache, measured on one machine with one model.

They are kept apart because one may get better while another gets worse: how much is stored and how much memory that
peaks at; how much of repeated input is found; how long it takes to bring it back; the time to the first token; the
speed of generation; throughput when several ask at once; what it all costs; and whether the answers are still right.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from statistics import median
from typing import TypeVar

from agentsim.engine.inference_engine import Engine
from agentsim.engine.model_loading import LoadedModel
from agentsim.engine.restore_costs import RestoredPrompt, measure_restore
from agentsim.engine.sequence import Sequence
from agentsim.engine.single_passes import drawn_tokens

PAGE = 16
LONG = 2_048
"""Tokens of a history whose keys any device splits among its processors."""

Prompts = list[list[int]]
_Part = TypeVar("_Part")


@dataclass(frozen=True)
class Throughput:
    """Requests that come together: tokens generated a second over all, and the median time to their first tokens."""

    concurrency: int
    tokens_per_second: float
    uncached_tokens_per_second: float
    time_to_first_token: int
    uncached_time_to_first_token: int


@dataclass(frozen=True)
class Answers:
    """Greedy answers compared with those of an engine without a cache: token by token, over several prompts."""

    prompts: int
    tokens: int
    cached: int
    """How many tokens are the same when the prefix is read from the cache."""
    restored: int
    """... when it came back from the host."""
    together: int
    """... when all prompts run together."""


@dataclass(frozen=True)
class Outcomes:
    """All eight. Sizes are bytes, times nanoseconds, rates tokens a second."""

    model: str
    precision: str
    device: str
    threads: int
    prefix: int
    question: int
    new_tokens: int
    bytes_per_token: int
    stored_bytes: int
    peak_bytes: int
    repeated: int
    """Tokens of input that had been there before."""
    hits: int
    """How many of them were found."""
    restored: RestoredPrompt
    time_to_first_token: int
    uncached_time_to_first_token: int
    rate: float
    uncached_rate: float
    throughput: tuple[Throughput, ...]
    seconds: float
    """What the questions about one document took the machine, with the cache."""
    uncached_seconds: float
    questions: int
    answers: Answers

    def dollars(self, hourly: float, *, cached: bool) -> float:
        """What 1,000 of these questions cost on a machine that costs so many dollars an hour."""
        seconds = self.seconds if cached else self.uncached_seconds
        return seconds / self.questions * 1000 / 3600 * hourly


@dataclass(frozen=True)
class BenchLoad:
    """What is measured on: questions about one document. ``concurrent_prefix`` is how much of it those share that come
    together."""

    prefix: int = 1_000
    question: int = 30
    new_tokens: int = 16
    questions: int = 4
    concurrent_prefix: int = 128
    concurrency: tuple[int, ...] = (1, 2, 4, 8, 16)


def measure_outcomes(
    loaded: LoadedModel, load: BenchLoad, progress: Callable[[int, int], object] | None = None
) -> Outcomes:
    """Measure all eight. Deterministic but for times. ``progress`` is told how many measurements of how many are
    through."""
    parts, done = 5 + len(load.concurrency), 0

    def measured(part: _Part) -> _Part:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, parts)
        return part

    prompts = _prompts(loaded, load, load.prefix, load.questions)
    pages = -(-(load.prefix + load.question + load.new_tokens) // PAGE) * 2 + load.questions * 4
    _warm_up(loaded)
    measured(None)
    cached, engine, seconds = measured(_one_by_one(loaded, load, prompts, pages, cache=True))
    bare, _, uncached_seconds = measured(_one_by_one(loaded, load, prompts, pages, cache=False))
    first_hits = [sequence.time_to_first_token or 0 for sequence in cached[1:]]
    first_bare = [sequence.time_to_first_token or 0 for sequence in bare[1:]]
    return Outcomes(
        model=loaded.name,
        precision=loaded.precision,
        device=loaded.model.device.type,
        threads=loaded.threads,
        prefix=load.prefix,
        question=load.question,
        new_tokens=load.new_tokens,
        bytes_per_token=loaded.bytes_per_token,
        stored_bytes=engine.stored_bytes,
        peak_bytes=engine.peak_bytes,
        repeated=load.prefix * (load.questions - 1),
        hits=sum(sequence.reused for sequence in cached[1:]),
        restored=measured(measure_restore(loaded.model, prompts[0], PAGE)),
        time_to_first_token=round(median(first_hits)),
        uncached_time_to_first_token=round(median(first_bare)),
        rate=median([sequence.token_rate or 0.0 for sequence in cached]),
        uncached_rate=median([sequence.token_rate or 0.0 for sequence in bare]),
        throughput=tuple(measured(_together(loaded, load, number)) for number in load.concurrency),
        seconds=seconds,
        uncached_seconds=uncached_seconds,
        questions=load.questions,
        answers=measured(_answers(loaded, load, prompts, [sequence.generated for sequence in bare], cached, pages)),
    )


def document(loaded: LoadedModel, tokens: int) -> list[int]:
    """So many tokens of text that reads like text, where the model has a tokenizer for it; else drawn ones."""
    if loaded.encoder is None or loaded.model.config.vocab < 1_000:
        return drawn_tokens(tokens, loaded.model.config.vocab, 1)
    text = resources.files("agentsim.engine.lab").joinpath("document.txt").read_text(encoding="utf-8")
    words = loaded.encoder.encode(text)
    return (words * (tokens // len(words) + 1))[:tokens]


def _prompts(loaded: LoadedModel, load: BenchLoad, prefix: int, number: int) -> list[list[int]]:
    """Questions about one document."""
    front = document(loaded, prefix)
    vocabulary = loaded.model.config.vocab
    return [[*front, *drawn_tokens(load.question, vocabulary, 100 + at)] for at in range(number)]


def _warm_up(loaded: LoadedModel) -> None:
    """The first passes of a process pay for what the later ones find ready: on a device with kernels, for compiling
    those of short histories, of long ones (whose keys are split), and of a question behind a long cached one."""
    config = loaded.model.config
    Engine(loaded.model, pages=8).generate([drawn_tokens(40, config.vocab, 0)], 4)
    if loaded.model.device.type != "cpu":
        long = drawn_tokens(min(LONG, config.context - 64), config.vocab, 1)
        engine = Engine(loaded.model, pages=2 * (LONG + 64) // PAGE)
        for question in (0, 1):
            engine.generate([[*long, *drawn_tokens(30, config.vocab, 2 + question)]], 4)


def _one_by_one(
    loaded: LoadedModel, load: BenchLoad, prompts: Prompts, pages: int, *, cache: bool
) -> tuple[list[Sequence], Engine, float]:
    """The sequences of prompts that come one after the other, the engine, and the seconds that they took."""
    engine = Engine(loaded.model, pages=pages, page_size=PAGE, prefix_cache=cache)
    began = time.perf_counter()
    sequences = []
    for prompt in prompts:
        sequences.append(engine.submit(prompt, load.new_tokens, stop=()))
        engine.run()
    return sequences, engine, time.perf_counter() - began


def _together(loaded: LoadedModel, load: BenchLoad, number: int) -> Throughput:
    """So many questions at once about a document that was read before, and the same without a cache."""
    prompts = _prompts(loaded, load, load.concurrent_prefix, number + 1)
    need = -(-(load.concurrent_prefix + load.question + load.new_tokens) // PAGE) + 1
    rates, firsts = [], []
    for cache in (True, False):
        engine = Engine(loaded.model, pages=need * (number + 2), page_size=PAGE, prefix_cache=cache, step_sequences=16)
        if cache:
            engine.generate(prompts[:1], 1)
        began = time.perf_counter()
        sequences = [engine.submit(prompt, load.new_tokens, stop=()) for prompt in prompts[1:]]
        engine.run()
        rates.append(number * load.new_tokens / (time.perf_counter() - began))
        firsts.append(round(median([sequence.time_to_first_token or 0 for sequence in sequences])))
    return Throughput(number, rates[0], rates[1], firsts[0], firsts[1])


def _answers(
    loaded: LoadedModel, load: BenchLoad, prompts: Prompts, right: Prompts, cached: list[Sequence], pages: int
) -> Answers:
    engine = Engine(loaded.model, pages=pages, page_size=PAGE, host_pages=pages)
    engine.submit(prompts[0], 1, stop=())
    engine.run()
    restored = []
    for prompt in prompts:
        engine.cache.offload()
        sequence = engine.submit(prompt, load.new_tokens, stop=())
        engine.run()
        restored.append(sequence.generated)
    crowd = Engine(loaded.model, pages=pages * 2, page_size=PAGE)
    sequences = [crowd.submit(prompt, load.new_tokens, stop=()) for prompt in prompts]
    crowd.run()

    def same(answers: Prompts) -> int:
        return sum(a == b for one, two in zip(answers, right, strict=True) for a, b in zip(one, two, strict=True))

    return Answers(
        prompts=len(prompts),
        tokens=sum(len(answer) for answer in right),
        cached=same([sequence.generated for sequence in cached]),
        restored=same(restored),
        together=same([sequence.generated for sequence in sequences]),
    )
