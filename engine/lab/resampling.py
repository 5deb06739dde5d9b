"""Accept or resample: verification that keeps the target's distribution, whatever the draft proposes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class ExpectedAcceptance:
    """What the rule gives, exactly: the chance of each token to be accepted directly, that of a rejection, what is
    drawn after one, and what comes out in all."""

    accepted: tuple[Fraction, ...]
    rejected: Fraction
    residual: tuple[Fraction, ...]
    result: tuple[Fraction, ...]


def expected(p: tuple[Fraction, ...], d: tuple[Fraction, ...]) -> ExpectedAcceptance:
    """The rule in exact numbers, for target p and draft d."""
    accepted = tuple(
        draft * min(Fraction(1), target / draft) if draft else Fraction(0) for target, draft in zip(p, d, strict=True)
    )
    rejected = 1 - sum(accepted, Fraction(0))
    missing = tuple(max(Fraction(0), target - draft) for target, draft in zip(p, d, strict=True))
    whole = sum(missing, Fraction(0))
    residual = tuple(each / whole if whole else Fraction(0) for each in missing)
    result = tuple(a + rejected * r for a, r in zip(accepted, residual, strict=True))
    return ExpectedAcceptance(accepted, rejected, residual, result)


def acceptance(p: Tensor, d: Tensor) -> Tensor:
    """The chance that a proposal is accepted, for rows of probabilities: what both distributions share."""
    return torch.minimum(p, d).sum(-1)


def verify(p: Tensor, d: Tensor, proposals: Tensor, accept: Tensor, again: Tensor) -> tuple[Tensor, Tensor]:
    """For rows of target and draft probabilities [N, V], proposals [N] drawn from d and two uniform numbers each:
    the tokens that come out, and which proposals were accepted."""
    target, draft = (each.gather(1, proposals[:, None])[:, 0] for each in (p, d))
    kept = accept * draft < target
    missing = (p - d).clamp_min(0)
    whole = missing.sum(-1, keepdim=True)
    # Where both are the same nothing is ever rejected; the row must still be a distribution to draw from.
    residual = torch.where(whole > 0, missing / whole, p)
    drawn = draw(residual, again)
    return torch.where(kept, proposals, drawn), kept


def draw(probabilities: Tensor, uniform: Tensor) -> Tensor:
    """One token for each row of probabilities, by inverse distribution function of a given uniform number."""
    edges = probabilities.cumsum(-1)
    # Against the last edge, which rounding may leave below one: a token without probability must not be drawn.
    found = torch.searchsorted(edges, uniform[:, None] * edges[:, -1:], right=True)[:, 0]
    return found.clamp_max(probabilities.shape[-1] - 1)


def chi_square(counts: Tensor, probabilities: Tensor) -> tuple[float, float]:
    """Pearson's statistic of counts against probabilities, and the chance of one at least as large."""
    wanted = probabilities * counts.sum()
    statistic = float(((counts - wanted) ** 2 / wanted).sum())
    freedom = len(counts) - 1
    halves = torch.tensor([freedom / 2, statistic / 2], dtype=torch.float64)
    return statistic, float(torch.special.gammaincc(halves[0], halves[1]))
