"""RMSNorm in both forms, against its formula in float64."""

from __future__ import annotations

import pytest
import torch

from tests.kernels.batches import check

EPS = 1e-5


def formula(x, weight):
    x = x.double()
    return x / (x.square().mean(-1, keepdim=True) + EPS).sqrt() * weight.double()


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (2, 64), (2, 576), (0, 64)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_row_over_its_root_mean_square(operation, shape, dtype):
    x, weight = torch.randn(shape).to(dtype) * 3, torch.randn(shape[1]).to(dtype)
    check(operation("rms_norm")(x, weight, EPS), formula(x, weight))


def test_the_residual_is_added_before_and_comes_back(operation):
    x, residual, weight = torch.randn(3, 48), torch.randn(3, 48), torch.randn(48)
    normed, total = operation("rms_norm")(x, weight, EPS, residual)
    assert total.equal(x + residual)
    check(normed, formula(x + residual, weight))


def test_the_norm_is_that_of_the_sum_as_it_is_kept(operation):
    # In bfloat16 1 + 2⁻⁹ rounds to 1: a norm of the exact sum would differ from that of what the next layer reads.
    x, residual = (torch.full((1, 8), value, dtype=torch.bfloat16) for value in (2.0**-9, 1.0))
    residual[0, 0] = 0.25
    normed, total = operation("rms_norm")(x, torch.ones(8, dtype=torch.bfloat16), EPS, residual)
    assert total[0, 1:].eq(1).all()
    check(normed, formula(total, torch.ones(8)))


def test_rows_that_lie_apart(operation):
    wide = torch.randn(4, 96)
    check(operation("rms_norm")(wide[:, 32:64], torch.ones(32), EPS), formula(wide[:, 32:64], torch.ones(32)))


def test_a_row_of_zeros_stays_one(operation):
    assert operation("rms_norm")(torch.zeros(1, 16), torch.ones(16), EPS).eq(0).all()
