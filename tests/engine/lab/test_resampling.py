"""Speculative sampling: what comes out is drawn from the target, whatever is proposed."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from agentsim.engine.lab.acceptance import DRAFT, DRAWS, TARGET, sampled
from agentsim.engine.lab.resampling import acceptance, chi_square, draw, expected, verify


def test_the_worked_example() -> None:
    made = expected(TARGET, DRAFT)
    tenth = Fraction(1, 10)
    assert made.accepted == (2 * tenth, 3 * tenth, 1 * tenth)  # A: 6/10 × 1/3, B and C as proposed
    assert made.rejected == 4 * tenth
    assert made.residual == (Fraction(0), Fraction(1, 2), Fraction(1, 2))
    assert made.result == TARGET


@pytest.mark.parametrize("seed", range(5))
def test_a_hundred_thousand_draws_are_the_targets(seed: int) -> None:
    counts, accepted, proposals = sampled(seed)
    assert int(counts.sum()) == DRAWS == 100_000
    target, draft = (torch.tensor([float(x) for x in each], dtype=torch.float64) for each in (TARGET, DRAFT))
    # 13.8 is exceeded once in a thousand with two degrees of freedom
    assert chi_square(counts, target)[0] < 13.8
    assert chi_square(proposals, draft)[0] < 13.8
    assert chi_square(counts, draft)[0] > 10_000
    assert accepted == pytest.approx(0.6, abs=4 * (0.6 * 0.4 / DRAWS) ** 0.5)


def test_chi_square_against_a_table() -> None:
    # 30, 20, 10 of 60 against thirds: (10² + 0 + 10²) / 20 = 10; its tail with two degrees is exp(-10 / 2)
    statistic, tail = chi_square(torch.tensor([30, 20, 10]), torch.full((3,), 1 / 3, dtype=torch.float64))
    assert statistic == pytest.approx(10)
    assert tail == pytest.approx(torch.exp(torch.tensor(-5.0)).item(), rel=1e-5)


def test_many_positions_at_once() -> None:
    generator = torch.Generator().manual_seed(3)
    p, d = (torch.softmax(2 * torch.randn(6, generator=generator, dtype=torch.float64), -1) for _ in range(2))
    rows = 60_000
    propose, accept, again = torch.rand(3, rows, generator=generator, dtype=torch.float64)
    proposals = draw(d.expand(rows, 6), propose)
    tokens, kept = verify(p.expand(rows, 6), d.expand(rows, 6), proposals, accept, again)
    assert chi_square(torch.bincount(tokens, minlength=6), p)[1] > 0.001
    share = float(acceptance(p, d))
    assert float(kept.double().mean()) == pytest.approx(share, abs=4 * (share * (1 - share) / rows) ** 0.5)


def test_equal_distributions_accept_everything() -> None:
    p = torch.tensor([[0.25, 0.75]], dtype=torch.float64).expand(1_000, 2)
    generator = torch.Generator().manual_seed(1)
    propose, accept, again = torch.rand(3, 1_000, generator=generator, dtype=torch.float64)
    proposals = draw(p, propose)
    tokens, kept = verify(p, p, proposals, accept, again)
    assert bool(kept.all())
    assert torch.equal(tokens, proposals)


def test_what_the_target_rules_out_never_comes() -> None:
    p, d = (torch.tensor([x], dtype=torch.float64).expand(5_000, 3) for x in ([0.5, 0.5, 0.0], [0.1, 0.1, 0.8]))
    generator = torch.Generator().manual_seed(2)
    propose, accept, again = torch.rand(3, 5_000, generator=generator, dtype=torch.float64)
    tokens, _ = verify(p, d, draw(d, propose), accept, again)
    assert set(tokens.tolist()) == {0, 1}


def test_the_edges_of_a_draw() -> None:
    p = torch.tensor([[0.0, 0.5, 0.5, 0.0]], dtype=torch.float64).expand(3, 4)
    found = draw(p, torch.tensor([0.0, 0.5, 1 - 2**-53], dtype=torch.float64))
    assert found.tolist() == [1, 2, 2]
