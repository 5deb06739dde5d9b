"""SmolLM2 beside an independent implementation that reads the same file: tokens and scores of twenty beginnings."""

from __future__ import annotations

import logging
import os
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from agentsim.engine.decoder import Decoder
from agentsim.engine.forward_batch import Batch, TokenRun
from agentsim.engine.kv_pages import KVPages
from agentsim.engine.tokenizer import Tokenizer
from agentsim.engine.weights.find_model import find_model, load_weights
from agentsim.engine.weights.weights import Weights, WeightsError
from benchmarks.dense_loop import Dense
from tests.engine.prompts import PROMPTS

transformers = pytest.importorskip("transformers", reason="needs the engine-test extra")
torch.set_num_threads(1)
NEW_TOKENS = 64
LONG = bool(os.environ.get("LONG_TESTS"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.xdist_group("smollm2")]


@pytest.fixture(scope="module")
def path() -> Path:
    try:
        return find_model()
    except WeightsError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def weights(path: Path) -> Weights:
    return load_weights(str(path))


@pytest.fixture(scope="module")
def theirs(path: Path) -> Any:
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)


def generated(weights: Weights, prompts: list[list[int]]) -> tuple[list[list[int]], list[torch.Tensor]]:
    """The most likely continuations of all prompts, in one batch, with the scores they were chosen by."""
    model = Decoder(weights)
    pages = [list(range(8 * n, 8 * n + 8)) for n in range(len(prompts))]
    kv = KVPages(model.config, 8 * len(prompts), 16)
    texts = [list(prompt) for prompt in prompts]
    found = [model.forward(Batch.of([TokenRun(text, 0, own) for text, own in zip(texts, pages, strict=True)], 16), kv)]
    for _ in range(NEW_TOKENS - 1):
        for text, token in zip(texts, found[-1].argmax(-1).tolist(), strict=True):
            text.append(token)
        pieces = [TokenRun(text[-1:], len(text) - 1, own) for text, own in zip(texts, pages, strict=True)]
        found.append(model.forward(Batch.of(pieces, 16), kv))
    for text, token in zip(texts, found[-1].argmax(-1).tolist(), strict=True):
        text.append(token)
    return texts, list(torch.stack(found, dim=1))


def test_twenty_beginnings(weights: Weights, theirs: Any, path: Path) -> None:
    tokenizer = Tokenizer.from_gguf(path)
    prompts = [tokenizer.encode(text) for text in PROMPTS]
    texts, ours = generated(weights, prompts)
    for prompt, text, scores in zip(prompts, texts, ours, strict=True):
        # All steps in one pass: that each is the most likely one after those before is what greedy decoding means.
        with torch.inference_mode():
            expected = theirs(torch.tensor([text[:-1]])).logits[0, len(prompt) - 1 :]
        assert expected.shape[0] == NEW_TOKENS
        assert expected.argmax(-1).tolist() == text[len(prompt) :]
        assert (expected - scores).abs().max() < 1e-3  # measured: 0.9e-4


@pytest.mark.skipif(not LONG, reason="takes minutes; LONG_TESTS=1 runs it")
@pytest.mark.parametrize("number", range(len(PROMPTS)))
def test_their_own_decoding(weights: Weights, theirs: Any, path: Path, number: int) -> None:
    """With their cache and their loop, and with ours that is no engine."""
    prompt = Tokenizer.from_gguf(path).encode(PROMPTS[number])
    options = {"max_new_tokens": NEW_TOKENS, "do_sample": False, "eos_token_id": None, "pad_token_id": 2}
    expected = theirs.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)), **options)[0].tolist()
    assert Dense(weights).generate(prompt, NEW_TOKENS) == expected[len(prompt) :]
