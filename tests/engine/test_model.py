"""The forward pass against a plain dense loop, and row-by-row arithmetic against itself in every split and batch."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.engine.decoder import Decoder
from agentsim.engine.forward_batch import Batch, TokenRun
from agentsim.engine.kv_pages import KVPages
from agentsim.engine.weights.tiny import TINY, tiny_weights
from agentsim.engine.weights.weights import Weights, WeightsError
from benchmarks.dense_loop import Dense

torch.set_num_threads(1)
PAGE = 16
EXACT = Decoder(tiny_weights(), torch.float32, row_by_row=True)


def tokens(count: int, seed: int = 1) -> list[int]:
    return torch.randint(0, TINY.vocab, (count,), generator=torch.Generator().manual_seed(seed)).tolist()


def scores(model: Decoder, text: list[int], cuts: list[int], pages: list[int], pool: int = 12, page: int = PAGE):
    """Scores after every token, the text computed in the pieces that the cuts make."""
    kv = KVPages(model.config, pool, page, model.dtype)
    kv.all_k.fill_(float("nan"))  # what was never written must never count
    kv.all_v.fill_(float("nan"))
    found = [
        model.forward(Batch.of([TokenRun(text[start:end], start, pages, end - start)], page), kv)
        for start, end in pairwise([0, *cuts, len(text)])
    ]
    return torch.cat(found)


@pytest.mark.parametrize("changes", [{}, {"rope_interleaved": True}, {"window": 9}, {"rope_factors": (1.0, 1, 2, 4)}])
@pytest.mark.parametrize("row_by_row", [False, True])
def test_equals_a_dense_loop(changes: dict[str, Any], row_by_row: bool) -> None:
    config = replace(TINY, **changes)
    weights = tiny_weights(config=config)
    text = tokens(50)
    ours = scores(Decoder(weights, torch.float64, row_by_row=row_by_row), text, [20, 21, 40], [7, 2, 3, 0])
    dense = Dense(weights, torch.float64)
    assert (ours[30] - dense.forward(text[:31])).abs().max() < 1e-12
    for number in range(31, 50):
        assert (ours[number] - dense.forward([text[number]])).abs().max() < 1e-12


@given(
    cuts=st.lists(st.integers(1, 46), max_size=5, unique=True).map(sorted),
    pages=st.permutations(range(12)),
    page=st.sampled_from([5, 16, 32]),
)
@settings(max_examples=25)
def test_row_by_row_any_split_gives_the_same_bits(cuts: list[int], pages: list[int], page: int) -> None:
    text = tokens(47)
    whole = scores(EXACT, text, [], [0, 1, 2])
    assert torch.equal(scores(EXACT, text, cuts, pages, page=page), whole)


@pytest.mark.parametrize("precision", [torch.float64, torch.float32])
def test_row_by_row_a_batch_gives_the_same_bits(precision: torch.dtype) -> None:
    model = Decoder(tiny_weights(), precision, row_by_row=True)
    kv = KVPages(TINY, 12, PAGE, precision)
    texts = [tokens(n, n) for n in (1, 17, 33, 2)]
    pieces = [TokenRun(text, 0, range(3 * n, 3 * n + 3), len(text)) for n, text in enumerate(texts)]
    together = model.forward(Batch.of(pieces, PAGE), kv)
    assert torch.equal(together, torch.cat([scores(model, text, [], [0, 1, 2]) for text in texts]))


def test_batched_arithmetic_stays_close_to_row_by_row() -> None:
    text = tokens(47)
    batched = scores(Decoder(tiny_weights(), torch.float32), text, [32], [0, 1, 2])
    assert (batched - scores(EXACT, text, [], [0, 1, 2])).abs().max() < 1e-4


def test_first_layer_keys_depend_on_the_token_alone_and_later_ones_on_what_came_before() -> None:
    document = tokens(16, 9)
    kept = []
    for front in (tokens(16, 2), tokens(16, 3)):
        kv = KVPages(TINY, 2, PAGE)
        EXACT.forward(Batch.of([TokenRun(front + document, 0, [0, 1])], PAGE), kv)
        kept.append([k[1] for k in kv.k])
    assert torch.equal(kept[0][0], kept[1][0])
    assert not torch.equal(kept[0][1], kept[1][1])


def test_scores_only_where_asked_and_bfloat16_scores_are_float32() -> None:
    kv = KVPages(TINY, 4, PAGE, torch.bfloat16)
    model = Decoder(tiny_weights(), torch.bfloat16)
    batch = Batch.of([TokenRun(tokens(5), 0, [0], 2), TokenRun(tokens(3), 0, [1], 0), TokenRun([4], 0, [2])], PAGE)
    found = model.forward(batch, kv)
    assert found.shape == (3, TINY.vocab)
    assert found.dtype == torch.float32
    assert (found - scores(EXACT, tokens(5), [], [0])[[3, 4, 4]])[:2].abs().max() < 0.5


def test_padding_rows_write_nothing() -> None:
    kv = KVPages(TINY, 2, PAGE)
    batch = Batch.of([TokenRun(tokens(3), 0, [1])], PAGE)
    EXACT.forward(replace(batch, slots=torch.tensor([-1, 17, -1])), kv)
    assert int((kv.all_k != 0).any(-1).any(-1).sum()) == TINY.layers


def test_pages_go_to_the_host_and_back_to_other_places() -> None:
    kv = KVPages(TINY, 4, PAGE)
    EXACT.forward(Batch.of([TokenRun(tokens(20), 0, [2, 3])], PAGE), kv)
    held = kv.to_host([2, 3])
    # 2 pages of 16 tokens, 3 layers, K and V, 2 heads of 8 numbers of 4 bytes
    assert held.bytes == 2 * 16 * 3 * 2 * 2 * 8 * 4 == 2 * kv.bytes_per_page
    kv.from_host(held, [1, 0])
    assert torch.equal(kv.all_k[:, 1], kv.all_k[:, 2])
    kv.copy(0, 2)
    assert torch.equal(kv.all_v[:, 2], kv.all_v[:, 3])
    with pytest.raises(ValueError, match="2 pages are held"):
        kv.from_host(held, [1])


def test_identity_differs_with_numbers_precision_and_arithmetic() -> None:
    weights, other = tiny_weights(), tiny_weights(seed=39)
    made = [
        Decoder(weights), Decoder(other), Decoder(weights, torch.float64), Decoder(weights, row_by_row=True),
        Decoder(tiny_weights(config=replace(TINY, rope_base=5e5))),
    ]  # fmt: skip
    assert len({model.identity for model in made}) == len(made)
    assert Decoder(tiny_weights()).identity == made[0].identity


def test_refusals() -> None:
    kv = KVPages(TINY, 1, PAGE)
    with pytest.raises(ValueError, match="beyond the context of 4096"):
        EXACT.forward(Batch.of([TokenRun([1], 4_096, [0] * 257)], PAGE), kv)
    EXACT.forward(Batch.of([TokenRun([1], 4_095, [0] * 256)], PAGE), kv)
    with pytest.raises(ValueError, match="cannot hold 17"):
        Batch.of([TokenRun([1] * 17, 0, [0])], PAGE)
    with pytest.raises(ValueError, match="piece 0: 0 tokens"):
        Batch.of([TokenRun([], 0, [0])], PAGE)
    weights = tiny_weights()
    short = Weights(TINY, {n: t for n, t in weights.tensors.items() if n != "layers.1.up"}, b"")
    with pytest.raises(WeightsError, match=r"layers\.1\.up is missing"):
        Decoder(short)
    with pytest.raises(WeightsError, match=r"norm is \(3,\), not \(32,\)"):
        Decoder(Weights(TINY, {**weights.tensors, "norm": torch.ones(3)}, b""))
    changes: list[dict[str, Any]] = [{"kv_heads": 3}, {"head_dim": 7}, {"layers": 0}, {"dim": 1 << 40}, {"window": 0}]
    for change in changes:
        with pytest.raises(ValueError):
            replace(TINY, **change)
