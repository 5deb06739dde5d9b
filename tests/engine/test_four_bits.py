"""Keys and values in four bits, in the engine: the same as rounding them and keeping the rounded numbers whole."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from agentsim.engine.decoder import Decoder
from agentsim.engine.forward_batch import Batch, TokenRun
from agentsim.engine.inference_engine import Engine
from agentsim.engine.kv_pages import Int4Pages, KVPages, bytes_per_token
from agentsim.engine.model_loading import load, usual_precision
from agentsim.engine.single_passes import drawn_tokens
from agentsim.engine.weights.tiny import TINY, tiny_weights
from agentsim.kernels.int4_packing import pack_int4, unpack_int4

torch.set_num_threads(1)
WIDE = replace(TINY, head_dim=32)
WEIGHTS = tiny_weights(config=WIDE)


class RoundedPages(KVPages):
    """Full numbers that went through four bits."""

    def write(self, layer: int, k: torch.Tensor, v: torch.Tensor, slots: torch.Tensor) -> None:
        k, v = (unpack_int4(*pack_int4(part), part.dtype) for part in (k, v))
        super().write(layer, k, v, slots)


@pytest.fixture(scope="module")
def model() -> Decoder:
    return Decoder(WEIGHTS, torch.float32, kv_bits=4)


@pytest.mark.parametrize("cuts", [[50], [20, 50], [1, 2, 33, 50]])
def test_scores_are_those_of_rounded_keys_and_values(model: Decoder, cuts: list[int]) -> None:
    text, pages = drawn_tokens(50, WIDE.vocab, 1), [3, 0, 2, 5]
    packed, rounded = Int4Pages(WIDE, 6), RoundedPages(WIDE, 6)
    start = 0
    for stop in cuts:
        batch = Batch.of([TokenRun(text[start:stop], start, pages, stop - start)], 16)
        ours, theirs = model.forward(batch, packed), model.forward(batch, rounded)
        assert (ours - theirs).abs().max() < 1e-4
        assert (ours - Decoder(WEIGHTS).forward(batch, KVPages(WIDE, 6))).abs().max() > 1e-3, "four bits do change it"
        start = stop


def test_a_cached_prefix_and_one_from_the_host_read_as_before(model: Decoder) -> None:
    engine = Engine(model, pages=12, host_pages=12, paranoid=True)
    prompt = drawn_tokens(70, WIDE.vocab, 2)
    first = engine.submit(prompt, 6, stop=())
    engine.run()
    again = engine.submit(prompt, 6, stop=())
    engine.run()
    assert (again.reused, again.generated) == (64, first.generated)
    engine.cache.offload()
    for part in engine.kv.parts:
        part.zero_()
    restored = engine.submit(prompt, 6, stop=())
    engine.run()
    assert (restored.restored, restored.generated) == (64, first.generated)


def test_pages_take_three_eighths_of_sixteen_bits(model: Decoder) -> None:
    whole = KVPages(WIDE, 8, dtype=torch.bfloat16)
    assert Int4Pages(WIDE, 8).bytes * 8 == whole.bytes * 3
    assert bytes_per_token(WIDE, torch.bfloat16, 4) * 8 == bytes_per_token(WIDE, torch.bfloat16, None) * 3
    assert Engine(model, pages=8).kv.bytes_per_page == 16 * bytes_per_token(WIDE, torch.float32, 4)


def test_blocks_of_other_precision_are_other_blocks(model: Decoder) -> None:
    assert model.identity != Decoder(WEIGHTS, torch.float32).identity


def test_what_four_bits_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="heads of 8 numbers"):
        Engine(Decoder(tiny_weights(), kv_bits=4), pages=4)
    with pytest.raises(ValueError, match="8 bits"):
        Decoder(WEIGHTS, kv_bits=8)
    with pytest.raises(ValueError, match="row by row"):
        Decoder(WEIGHTS, kv_bits=4, row_by_row=True)


def test_a_device_that_is_fast_in_sixteen_bits_computes_in_them() -> None:
    assert [usual_precision(device) for device in ("cpu", "cuda", "cuda:1")] == ["float32", "bfloat16", "bfloat16"]
    assert load("tiny", threads=1).precision == "float32"
