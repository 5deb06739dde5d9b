"""SiLU·mul in both forms."""

from __future__ import annotations

import pytest
import torch

from tests.kernels.batches import check


@pytest.mark.parametrize("shape", [(1, 1), (3, 100), (2, 1_536), (0, 8)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_the_gate_times_its_sigmoid_times_the_other(operation, shape, dtype):
    gate, up = (torch.randn(shape).to(dtype) * 4 for _ in range(2))
    kept = gate.clone()
    wide = gate.double()
    check(operation("silu_mul")(gate, up), wide / (1 + (-wide).exp()) * up.double())
    assert gate.equal(kept)


def test_halves_of_one_product(operation):
    gate, up = torch.randn(3, 64).chunk(2, -1)
    wide = gate.double()
    check(operation("silu_mul")(gate, up), wide * torch.sigmoid(wide) * up.double())


def test_far_from_zero(operation):
    result = operation("silu_mul")(torch.tensor([[-200.0, 200.0, 0.0]]), torch.tensor([[3.0, 3.0, 3.0]]))
    assert result.tolist() == [[0.0, 600.0, 0.0]]
