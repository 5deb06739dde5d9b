"""The worked example of speculative sampling, exactly and in 100,000 draws."""

from __future__ import annotations

from fractions import Fraction

import torch

from agentsim.engine.lab.divergence import total_variation
from agentsim.engine.lab.experiment import (
    Experiment,
    Findings,
    Holds,
    LabSettings,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
)
from agentsim.engine.lab.resampling import acceptance, chi_square, draw, expected, verify

TARGET = (Fraction(2, 10), Fraction(5, 10), Fraction(3, 10))
DRAFT = (Fraction(6, 10), Fraction(3, 10), Fraction(1, 10))
DRAWS = 100_000
LEAST_CHANCE = 0.001
"""A statistic less likely than this would say that the distribution is another one."""


def sampled(seed: int, draws: int = DRAWS) -> tuple[torch.Tensor, float, torch.Tensor]:
    """Counts of what comes out, the share of proposals accepted, and counts of the proposals themselves."""
    generator = torch.Generator().manual_seed(seed)
    p, d = (torch.tensor([float(x) for x in each], dtype=torch.float64).expand(draws, 3) for each in (TARGET, DRAFT))
    propose, accept, again = torch.rand(3, draws, generator=generator, dtype=torch.float64)
    proposals = draw(d, propose)
    tokens, kept = verify(p, d, proposals, accept, again)
    return torch.bincount(tokens, minlength=3), float(kept.double().mean()), torch.bincount(proposals, minlength=3)


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    exact = expected(TARGET, DRAFT)
    p, d = (torch.tensor([float(x) for x in each], dtype=torch.float64) for each in (TARGET, DRAFT))
    counts, accepted, proposals = sampled(settings.seed)
    statistic, chance = chi_square(counts, p)
    blind, blind_chance = chi_square(proposals, p)
    rows = tuple(
        (name, *(float(x) for x in (p_, d_, a, exact.rejected * r, whole)), int(count) / DRAWS)
        for name, p_, d_, a, r, whole, count in zip(
            "ABC", TARGET, DRAFT, exact.accepted, exact.residual, exact.result, counts, strict=True
        )
    )
    return Findings(
        figures=(
            MeasuredFigure("total variation", round(total_variation(p.tolist(), d.tolist()), 12)),
            MeasuredFigure("acceptance", round(float(acceptance(p, d)), 12)),
            MeasuredFigure("acceptance of a proposed A", str(min(Fraction(1), TARGET[0] / DRAFT[0]))),
            MeasuredFigure("the result is exactly the target", exact.result == TARGET),
            MeasuredFigure("rejected, to B", str(exact.rejected * exact.residual[1])),
            MeasuredFigure("rejected, to C", str(exact.rejected * exact.residual[2])),
            MeasuredFigure("acceptance in 100,000 draws", accepted),
            MeasuredFigure("chi-square of 100,000 draws", statistic),
            MeasuredFigure("chance of a larger one", chance),
            MeasuredFigure("the draws are the target's", chance > LEAST_CHANCE),
            MeasuredFigure("chi-square if every proposal were accepted", blind),
            MeasuredFigure("the proposals are the target's", blind_chance > LEAST_CHANCE),
        ),
        tables=(
            ResultTable(
                "Where each token comes from",
                ("token", "target", "draft", "accepted", "resampled", "together", f"share of {DRAWS:,} draws"),
                rows,
            ),
        ),
    )


EXPERIMENT = Experiment(
    name="acceptance",
    title="Accept or resample: the target's distribution stays",
    meaning=(
        "Accepting a proposal with the ratio of both probabilities, and drawing from what is missing otherwise, gives "
        "exactly the target's distribution. It establishes this for one position, exactly and by chi-square over "
        "draws. One position's acceptance is not the length of an accepted run, and neither is a speedup."
    ),
    run=run,
    published={
        "total variation": PublishedFigure(0.40, Holds.CLOSELY, 1e-12),
        "acceptance": PublishedFigure(0.60, Holds.CLOSELY, 1e-12),
        "acceptance of a proposed A": PublishedFigure("1/3"),
        "the result is exactly the target": PublishedFigure(True),
        "rejected, to B": PublishedFigure("1/5"),
        "rejected, to C": PublishedFigure("1/5"),
        "acceptance in 100,000 draws": PublishedFigure(0.60, Holds.CLOSELY, 0.005),
        "the draws are the target's": PublishedFigure(True),
        "the proposals are the target's": PublishedFigure(False),
    },
)
