"""Controls: what must come out the same, and what must not, when keys and values are read instead of computed.

A cached prefix is right because a token's keys and values depend on the tokens up to it and on nothing else. The first
layer's depend on the token alone; from the second layer on they depend on all that stands before. So the same document
behind another context of equal length has the same keys in layer 1 and others in layer 2, and splicing it in changes
what comes next, although no position moved. Computing it again behind the new context repairs that.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from agentsim.engine.inference_engine import Engine, EngineModel
from agentsim.engine.kv_pages import KVPages
from agentsim.engine.single_passes import Passes, WatchedModel, difference, drawn_tokens

PAGE = 16
DOCUMENT = 40
QUESTIONS = (2, 5, 7)
"""Three requests ask about one document of 40 tokens: 42, 45 and 47 tokens. Two full pages of it are reused."""


@dataclass(frozen=True)
class CachedControl:
    """One prompt on three ways: read from the cache as far as it goes, all at once, and split at the same place.

    Differences are the largest absolute ones, over the scores of the next token and all keys and values.
    """

    inputs: tuple[int, ...]
    hit: int
    computed: int
    cached_against_full: float
    cached_against_split: float


@dataclass(frozen=True)
class SpliceControl:
    """One document behind two contexts of equal length. All figures are largest absolute differences."""

    first_layer_keys: float
    """Of the document's keys in layer 1, behind the one and behind the other."""
    second_layer_keys: float
    invalid_splice: float
    """Of the scores after the document, when its pages are taken over from behind the other context."""
    full_replay: float
    """Of the scores after the document, when it is computed again behind the new context."""


def cached_control(model: EngineModel, seed: int = 0) -> CachedControl:
    """Ask about one document three times; the third request is compared."""
    vocabulary = model.config.vocab
    document = drawn_tokens(DOCUMENT, vocabulary, seed)
    prompts = [[*document, *drawn_tokens(count, vocabulary, seed + 1 + count)] for count in QUESTIONS]
    watched = WatchedModel(model)
    engine = Engine(watched, pages=16, page_size=PAGE)
    for prompt in prompts[:-1]:
        engine.submit(prompt, 1)
        engine.run()
    prompt = prompts[-1]
    last = engine.submit(prompt, 2, stop=())
    engine.step()
    scores = watched.scores
    assert scores is not None
    held = Passes(model, 1, PAGE)
    assert isinstance(engine.kv, KVPages)
    held.kv = engine.kv  # to look at the engine's own pages
    pages = len(last.pages)
    full, split = Passes(model, pages, PAGE), Passes(model, pages, PAGE)
    table = range(pages)
    full_scores = full.run(prompt, 0, table)
    split.run(prompt[: last.reused], 0, table, logits=0)
    split_scores = split.run(prompt[last.reused :], last.reused, table)

    def against(passes: Passes, other: torch.Tensor) -> float:
        found = difference(scores, other)
        for layer in range(model.config.layers):
            for take in (Passes.keys, Passes.values):
                mine = take(held, layer, last.pages, 0, len(prompt))
                found = max(found, difference(mine, take(passes, layer, table, 0, len(prompt))))
        return found

    return CachedControl(
        inputs=tuple(len(prompt) for prompt in prompts),
        hit=last.reused,
        computed=last.computed_tokens,
        cached_against_full=against(full, full_scores),
        cached_against_split=against(split, split_scores),
    )


def splice_control(model: EngineModel, seed: int = 0) -> SpliceControl:
    """Put one document of two pages behind two contexts of one page, and splice it from one to the other."""
    vocabulary = model.config.vocab
    here, there = (drawn_tokens(PAGE, vocabulary, seed + number) for number in (10, 11))
    document = drawn_tokens(2 * PAGE, vocabulary, seed)
    question = drawn_tokens(7, vocabulary, seed + 12)
    start, stop = PAGE, PAGE + len(document)
    passes = Passes(model, 16, PAGE)
    one, other, replayed = [0, 1, 2, 3], [4, 5, 6, 7], [4, 8, 9, 10]
    passes.run([*here, *document], 0, one, logits=0)
    right = passes.run([*there, *document, *question], 0, other)

    def keys(layer: int) -> float:
        return difference(passes.keys(layer, one, start, stop), passes.keys(layer, other, start, stop))

    spliced = [other[0], one[1], one[2], 11]
    wrong = passes.run(question, stop, spliced)
    passes.run(document, start, replayed, logits=0)
    repaired = passes.run(question, stop, replayed)
    return SpliceControl(
        first_layer_keys=keys(0),
        second_layer_keys=keys(1),
        invalid_splice=difference(wrong, right),
        full_replay=difference(repaired, right),
    )
