"""Weights in few bits: the numbers of their file, products close to full ones, and where they are not used."""

from __future__ import annotations

import numpy
import pytest
import torch

from agentsim.engine.decoder import Decoder
from agentsim.engine.few_bit_weights import MOST_ROWS, EightBits, FourBits, in_few_bits
from agentsim.engine.weights.gguf_levels import four_bit_levels
from agentsim.engine.weights.tiny import tiny_weights

gguf = pytest.importorskip("gguf")
quants = pytest.importorskip("gguf.quants")
torch.set_num_threads(1)


def quantized(kind: str, rows: int, columns: int) -> tuple[memoryview, int, torch.Tensor]:
    """A matrix as a file holds it, the number of its format, and the numbers that gguf's own reader finds."""
    drawn = torch.randn(rows, columns, generator=torch.Generator().manual_seed(3)).numpy()
    form = gguf.GGMLQuantizationType[kind]
    raw = quants.quantize(drawn, form)
    return memoryview(raw.tobytes()), int(form), torch.from_numpy(quants.dequantize(raw, form).astype(numpy.float32))


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1"])
def test_levels_are_the_numbers_of_the_file(kind: str) -> None:
    raw, form, numbers = quantized(kind, 48, 96)
    levels = four_bit_levels(raw, form, (48, 96))
    assert levels is not None
    torch.testing.assert_close(levels.numbers(), numbers, rtol=0, atol=1e-6)


def test_other_formats_have_no_such_levels() -> None:
    raw, form, _ = quantized("Q8_0", 16, 32)
    assert four_bit_levels(raw, form, (16, 32)) is None


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q8_0"])
@pytest.mark.parametrize("rows", [1, MOST_ROWS, MOST_ROWS + 1])
def test_products_are_close_for_few_rows_and_full_for_many(kind: str, rows: int) -> None:
    raw, form, numbers = quantized(kind, 64, 128)
    matrix = in_few_bits(numbers, [four_bit_levels(raw, form, (64, 128))])
    assert isinstance(matrix, EightBits if kind == "Q8_0" else FourBits)
    x = torch.randn(rows, 128)
    full = x @ numbers.T
    error = float((matrix.product(x) - full).abs().max() / full.abs().max())
    assert error < 0.02
    assert (error > 1e-5) == (rows <= MOST_ROWS)


def test_matrices_put_together_of_which_one_is_not_in_four_bits() -> None:
    raw, form, numbers = quantized("Q4_1", 16, 32)
    assert isinstance(
        in_few_bits(torch.cat((numbers, numbers)), [four_bit_levels(raw, form, (16, 32)), None]), EightBits
    )
    raw, form, numbers = quantized("Q4_1", 8, 32)
    assert isinstance(in_few_bits(numbers, [four_bit_levels(raw, form, (8, 32))]), EightBits), "too few outputs"


def test_what_does_not_go_together_is_refused() -> None:
    for options in ({"row_by_row": True}, {"dtype": torch.float64}):
        with pytest.raises(ValueError, match="few bits"):
            Decoder(tiny_weights(), few_bits=True, **options)
    assert Decoder(tiny_weights(), few_bits=True).identity != Decoder(tiny_weights()).identity
