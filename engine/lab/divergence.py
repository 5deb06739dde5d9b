"""Three quantities of two distributions, in numbers that can be checked by hand. Natural logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agentsim.engine.lab.experiment import (
    Experiment,
    Findings,
    Holds,
    LabSettings,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
)

Distribution = Sequence[float]


def entropy(r: Distribution) -> float:
    """How spread a distribution is: 0 for one certain choice."""
    return sum(-x * math.log(x) for x in r if 0 < x < 1)


def cross_entropy(p: Distribution, r: Distribution) -> float:
    """What r costs where p is wanted. Infinite where r rules out what p wants."""
    return sum(-x * math.log(y) if y else math.inf for x, y in zip(p, r, strict=True) if x)


def kl(p: Distribution, r: Distribution) -> float:
    """How far r is from p, seen from p: not the same the other way round."""
    return sum(x * math.log(x / y) if y else math.inf for x, y in zip(p, r, strict=True) if x)


def total_variation(p: Distribution, d: Distribution) -> float:
    """The probability that two distributions do not share."""
    return sum(abs(x - y) for x, y in zip(p, d, strict=True)) / 2


MAIN, INDEX = (0.45, 0.45, 0.10), (0.10, 0.20, 0.70)
CERTAIN, PREDICTED = (1.0, 0.0, 0.0), (0.2, 0.5, 0.3)


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    rows = tuple(
        (name, entropy(p), entropy(r), cross_entropy(p, r), kl(p, r), kl(r, p) if all(p) else None)
        for name, p, r in (("attention and indexer", MAIN, INDEX), ("true token and prediction", CERTAIN, PREDICTED))
    )
    return Findings(
        figures=(
            MeasuredFigure("KL of indexer to main attention", kl(MAIN, INDEX)),
            MeasuredFigure("cross-entropy of a true token at 20 %", cross_entropy(CERTAIN, PREDICTED)),
            MeasuredFigure("KL of the same", kl(CERTAIN, PREDICTED)),
            MeasuredFigure("entropy of a certain target", entropy(CERTAIN)),
            MeasuredFigure(
                "cross-entropy minus entropy minus KL",
                abs(cross_entropy(MAIN, INDEX) - entropy(MAIN) - kl(MAIN, INDEX)),
            ),
        ),
        tables=(
            ResultTable(
                "Two pairs of distributions",
                ("pair", "H(p)", "H(r)", "CE(p, r)", "KL(p, r)", "KL(r, p)"),
                rows,
            ),
        ),
    )


EXPERIMENT = Experiment(
    name="divergence",
    title="Entropy, cross-entropy and KL divergence",
    meaning=(
        "Cross-entropy is the entropy of the target plus the divergence from it, so that both give the same direction "
        "for a fixed target. It establishes these values and that KL has a direction. A small value does not make an "
        "answer right, nor does low entropy."
    ),
    run=run,
    published={
        "KL of indexer to main attention": PublishedFigure(0.847, Holds.CLOSELY, 0.0005),
        "cross-entropy of a true token at 20 %": PublishedFigure(-math.log(0.2), Holds.CLOSELY, 1e-12),
        "KL of the same": PublishedFigure(1.609, Holds.CLOSELY, 0.0005),
        "entropy of a certain target": PublishedFigure(0.0, Holds.CLOSELY, 0.0),
        "cross-entropy minus entropy minus KL": PublishedFigure(1e-12, Holds.AT_MOST),
    },
)
