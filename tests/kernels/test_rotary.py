"""Rotary embedding in both forms, against rotations by complex numbers in float64."""

from __future__ import annotations

import math

import pytest
import torch

from tests.kernels.batches import check


def tables(positions, size, base=10_000.0):
    angles = torch.arange(positions).double()[:, None] * base ** (-torch.arange(0, size, 2).double() / size)
    return angles.cos().float(), angles.sin().float()


def rotated(x, positions, cos, sin, interleaved):
    x, half = x.double(), x.shape[-1] // 2
    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    turned = torch.complex(first, second) * torch.complex(cos.double(), sin.double())[positions][:, None]
    parts = (turned.real, turned.imag)
    return torch.stack(parts, -1).flatten(-2) if interleaved else torch.cat(parts, -1)


@pytest.mark.parametrize("interleaved", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("heads", "size"), [(1, 2), (9, 16), (3, 24), (10, 6)])
def test_pairs_turn_by_their_position(operation, heads, size, dtype, interleaved):
    x = torch.randn(4, heads, size).to(dtype)
    positions = torch.tensor([0, 49, 3, 3])
    cos, sin = tables(50, size)
    check(
        operation("rope")(x, positions, cos, sin, interleaved=interleaved), rotated(x, positions, cos, sin, interleaved)
    )


def test_one_and_a_half_and_one_turned_back_by_a_hundred_degrees(operation):
    # (1.5 + i) · e^(-100° i) = 1.5 cos 100° + sin 100° + (cos 100° - 1.5 sin 100°) i = 0.724 - 1.651 i
    angle = torch.tensor([[math.radians(-100)]])
    for interleaved in (True, False):
        turned = operation("rope")(
            torch.tensor([[[1.5, 1.0]]]), torch.tensor([0]), angle.cos(), angle.sin(), interleaved=interleaved
        )
        assert turned.flatten().tolist() == pytest.approx([0.724, -1.651], abs=5e-4)


def test_no_tokens(operation):
    cos, sin = tables(4, 8)
    for interleaved in (True, False):
        empty = torch.empty(0, 3, 8)
        none = torch.empty(0, dtype=torch.int64)
        assert operation("rope")(empty, none, cos, sin, interleaved=interleaved).shape == (0, 3, 8)


@pytest.mark.parametrize("interleaved", [True, False])
def test_heads_may_be_a_part_of_a_wider_product(operation, interleaved):
    wide = torch.randn(3, 4, 24)
    x, positions = wide[:, 1:3, 8:16], torch.tensor([5, 6, 7])
    cos, sin = tables(8, 8)
    check(
        operation("rope")(x, positions, cos, sin, interleaved=interleaved), rotated(x, positions, cos, sin, interleaved)
    )


def test_a_token_alone_turns_bit_for_bit_as_among_others():
    from agentsim.kernels.rotary import rope

    x, positions = torch.randn(37, 9, 64), torch.arange(100, 137)
    cos, sin = tables(200, 64)
    together = rope(x, positions, cos, sin, interleaved=True)
    for token in (0, 17, 36):
        alone = rope(x[token : token + 1], positions[token : token + 1], cos, sin, interleaved=True)
        assert alone[0].equal(together[token])
