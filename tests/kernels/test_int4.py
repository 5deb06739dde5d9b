"""Four-bit numbers in both forms: sizes, rounding, and attention that reads them."""

from __future__ import annotations

import pytest
import torch

from agentsim.kernels.int4_packing import pack_int4, unpack_int4
from agentsim.kernels.tile_sizes import Tile
from tests.kernels.batches import Batch, check, expected, random_batch

TILE = Tile(16, 16, 4, 2)


def test_2048_numbers_take_1536_bytes(operation):
    # 2,048 levels of half a byte, and a step of four bytes for each 16 of them
    packed, steps = operation("pack_int4")(torch.randn(64, 32))
    assert packed.nbytes == 2_048 // 2 == 1_024
    assert steps.nbytes == 2_048 // 16 * 4 == 512


def test_a_group_of_16_takes_12_bytes_instead_of_32(operation):
    packed, steps = operation("pack_int4")(torch.randn(16, dtype=torch.bfloat16))
    assert (packed.nbytes, steps.nbytes) == (8, 4)
    assert torch.randn(16, dtype=torch.bfloat16).nbytes == 32


def test_a_third_of_a_unit_at_a_step_of_a_tenth_comes_back_as_three_steps(operation):
    # The largest of the group is 0.7: a step is 0.7 / 7 = 0.1, and 0.32 is nearest to 3 of them.
    row = torch.tensor([0.32, 0.7, -0.7, 0.0, -0.32, 0.04] + [0.1] * 26)
    packed, steps = operation("pack_int4")(row)
    assert steps[0].item() == pytest.approx(0.1)
    assert (packed[0] & 15).item() - 8 == 3
    back = operation("unpack_int4")(packed, steps, torch.float32)
    torch.testing.assert_close(back[:6], torch.tensor([0.3, 0.7, -0.7, 0.0, -0.3, 0.0]))


def test_no_number_comes_back_more_than_half_a_step_off(operation):
    x = torch.randn(7, 3, 96) * torch.logspace(-3, 3, 7)[:, None, None]
    packed, steps = operation("pack_int4")(x)
    back = operation("unpack_int4")(packed, steps, torch.float32)
    half_a_step = steps.repeat_interleave(16, -1) / 2
    assert ((back - x).abs() <= half_a_step * (1 + 1e-5)).all()


def test_zeros_stay_zeros(operation):
    x = torch.zeros(2, 64)
    x[1, 40] = 5.0
    packed, steps = operation("pack_int4")(x)
    assert steps[0].eq(0).all()
    assert operation("unpack_int4")(packed, steps, torch.float32).equal(x)


@pytest.mark.parametrize("shape", [(64,), (5, 32), (3, 17, 2, 64), (0, 32)], ids=str)
def test_the_kernel_packs_bit_for_bit_as_the_reference(interpreter, shape):
    x = torch.randn(shape)
    for ours, theirs in zip(interpreter.run("pack_int4", x), pack_int4(x), strict=True):
        assert ours.equal(theirs)


def test_ties_go_to_even_levels(operation):
    # A step of 1: the largest is 7. Halves lie between two levels.
    x = torch.tensor([7.0, 0.5, 1.5, 2.5, -0.5, -1.5] + [0.0] * 26)
    back = operation("unpack_int4")(*operation("pack_int4")(x), torch.float32)
    assert back[:6].tolist() == [7.0, 0.0, 2.0, 2.0, 0.0, -2.0]


def test_rows_that_are_not_whole_groups_are_refused():
    with pytest.raises(ValueError, match="24 numbers"):
        pack_int4(torch.randn(2, 24))


def four_bits(batch: Batch) -> tuple[tuple[torch.Tensor, ...], Batch]:
    """The arguments of attention over four bits, with nonsense in places where no sequence has a key, and the same
    batch with the unpacked numbers."""
    unused = batch.k_pages.isnan().any(-1)
    k, k_steps = pack_int4(batch.k_pages.nan_to_num())
    v, v_steps = pack_int4(batch.v_pages.nan_to_num())
    back = [unpack_int4(k, k_steps, torch.float32), unpack_int4(v, v_steps, torch.float32)]
    for packed, steps in ((k, k_steps), (v, v_steps)):
        packed[unused] = 255
        steps[unused] = float("nan")
    q, _, _, tables, starts, lengths = batch.arguments
    unpacked = Batch(q, back[0], back[1], tables, starts, lengths, batch.scale)
    return (q, k, k_steps, v, v_steps, tables, starts, lengths), unpacked


@pytest.mark.parametrize("window", [None, 6])
@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize(
    ("queries", "keys"), [([1, 1, 1, 1], [1, 15, 16, 17]), ([9, 0, 4, 1], [9, 5, 30, 0])], ids=["tokens", "prompts"]
)
def test_attention_over_four_bits_is_attention_over_what_they_stand_for(
    operation, request, queries, keys, window, splits
):
    arguments, unpacked = four_bits(random_batch(queries, keys, size=32, group=3))
    named = {"configuration": TILE} if request.node.callspec.params["operation"] == "triton" else {}
    result = operation("paged_attention_int4")(
        *arguments, scale=unpacked.scale, window=window, splits=splits, out=unpacked.poisoned(), **named
    )
    check(result, expected(unpacked, window))


@pytest.mark.parametrize("size", [16, 96])
def test_heads_that_the_kernel_does_not_take_are_computed_all_the_same(operation, size):
    arguments, unpacked = four_bits(random_batch([1, 3], [17, 5], size=size))
    check(operation("paged_attention_int4")(*arguments, scale=unpacked.scale), expected(unpacked))


def test_no_tokens(operation):
    arguments, unpacked = four_bits(random_batch([0], [5], size=32))
    assert operation("paged_attention_int4")(*arguments, scale=unpacked.scale).shape == (0, 4, 32)
