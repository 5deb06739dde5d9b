"""Training an indexer: main attention is the frozen teacher, divergence from it the loss."""

from __future__ import annotations

import torch
from torch import Tensor

from agentsim.engine.lab.experiment import (
    Experiment,
    Findings,
    Holds,
    LabSettings,
    LinePlot,
    MeasuredFigure,
    PublishedFigure,
    Series,
)
from agentsim.engine.lab.states.full_state import Projections

DIM, INDEX_DIM, TOKENS, MOST = 16, 4, 48, 8
TEACHER, FIRST = (0.45, 0.45, 0.10), (0.10, 0.20, 0.70)


def divergence(p: Tensor, log_r: Tensor) -> Tensor:
    """KL of rows of log-probabilities from rows of probabilities, averaged over rows."""
    rows: Tensor = (torch.special.xlogy(p, p) - p * log_r).sum(-1)
    return rows.mean()


def worked_step(rate: float) -> tuple[float, float, float]:
    """The teaching example: scores that give the indexer's first allocation, one step down the gradient. Returns the
    loss before and after, and how far the gradient is from r − p, its closed form."""
    p = torch.tensor(TEACHER, dtype=torch.float64)
    scores = torch.log(torch.tensor(FIRST, dtype=torch.float64)).requires_grad_()
    before = divergence(p, torch.log_softmax(scores, -1))
    before.backward()
    assert scores.grad is not None
    closed = torch.softmax(scores.detach(), -1) - p
    error = float((scores.grad - closed).abs().max())
    with torch.no_grad():
        after = divergence(p, torch.log_softmax(scores - rate * scores.grad, -1))
    return float(before.detach()), float(after), error


class Indexer:
    """A small scorer of records beside a frozen attention layer."""

    def __init__(self, generator: torch.Generator) -> None:
        self.attention = Projections.drawn(generator, dim=DIM, heads=2, kv_heads=1, head_dim=8)

        def small() -> Tensor:
            drawn = torch.randn(DIM, INDEX_DIM, generator=generator, dtype=torch.float64)
            scaled: Tensor = drawn / float(DIM) ** 0.5
            return scaled.requires_grad_()

        self.query, self.key = small(), small()

    def teacher(self, inputs: Tensor) -> Tensor:
        """Main attention's weights [T, T], averaged over heads. Nothing of it is trained."""
        positions = torch.arange(len(inputs))
        with torch.no_grad():
            # Sharp, as trained attention often is: flat weights would leave nothing to imitate.
            queries, (keys, _) = (
                3 * self.attention.queries(inputs, positions),
                self.attention.records(inputs, positions),
            )
            scores = torch.einsum("thd,shd->hts", queries, keys.expand(-1, 2, -1)) / 8**0.5
            return torch.softmax(scores.masked_fill(_future(len(inputs)), float("-inf")), -1).mean(0)

    def log_weights(self, inputs: Tensor) -> Tensor:
        """The indexer's allocation as logarithms; hidden places get a number that no product notices."""
        scores = (inputs @ self.query) @ (inputs @ self.key).T
        return torch.log_softmax(scores.masked_fill(_future(len(inputs)), -1e9), -1)

    def recall(self, inputs: Tensor) -> float:
        """The share of main attention that falls on the records that the indexer would choose."""
        with torch.no_grad():
            p, chosen = self.teacher(inputs), torch.topk(self.log_weights(inputs), MOST).indices
            return float(p.gather(1, chosen)[MOST:].sum(-1).mean())


def train(seed: int, steps: int) -> tuple[list[float], float, float, bool]:
    """Losses on fresh inputs each step, the recall before and after on inputs never seen, and whether the attention
    layer stayed as it was."""
    generator = torch.Generator().manual_seed(seed)
    indexer = Indexer(generator)
    frozen = indexer.attention.query.clone()
    unseen = torch.randn(TOKENS, DIM, generator=generator, dtype=torch.float64)
    before = indexer.recall(unseen)
    losses = []
    optimizer = torch.optim.Adam([indexer.query, indexer.key], lr=0.02)
    for _ in range(steps):
        inputs = torch.randn(TOKENS, DIM, generator=generator, dtype=torch.float64)
        optimizer.zero_grad()
        loss = divergence(indexer.teacher(inputs), indexer.log_weights(inputs))
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses, before, indexer.recall(unseen), bool(torch.equal(frozen, indexer.attention.query))


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    before, after, error = worked_step(rate=1.0)
    losses, recall_before, recall_after, frozen = train(settings.seed, 60 if settings.brief else 300)
    return Findings(
        figures=(
            MeasuredFigure("loss before the step", before),
            MeasuredFigure("loss after one step", after),
            MeasuredFigure("one step lowers the loss", after < before),
            MeasuredFigure("gradient against r − p", error),
            MeasuredFigure("main attention stays frozen", frozen),
            MeasuredFigure("share of attention on chosen records, untrained", recall_before),
            MeasuredFigure("share of attention on chosen records, trained", recall_after),
        ),
        plots=(
            LinePlot(
                "Training an indexer on random inputs",
                "steps",
                "KL to main attention",
                (Series("loss", tuple((float(i), loss) for i, loss in enumerate(losses))),),
            ),
        ),
    )


EXPERIMENT = Experiment(
    name="indexer",
    title="One step of training an indexer",
    meaning=(
        "The divergence from main attention's allocation gives an indexer a direction to improve in, without labels. "
        "It establishes that a step lowers the loss and that training raises the share of attention on the chosen "
        "records, here on random inputs. It does not establish that those records are the ones an answer needs."
    ),
    run=run,
    published={
        "loss before the step": PublishedFigure(0.847, Holds.CLOSELY, 0.0005),
        "one step lowers the loss": PublishedFigure(True),
        "gradient against r − p": PublishedFigure(1e-12, Holds.AT_MOST),
        "main attention stays frozen": PublishedFigure(True),
    },
)


def _future(count: int) -> Tensor:
    return torch.ones(count, count, dtype=torch.bool).triu(1)
