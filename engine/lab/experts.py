"""A feed-forward layer of experts behind a router: who gets how much work, and how that is evened out."""

from __future__ import annotations

from dataclasses import dataclass

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
    ResultTable,
    Series,
)

POSITIONS, EXPERTS, CHOSEN, DIM = 100, 8, 2, 16


@dataclass(frozen=True, slots=True)
class ExpertRouting:
    """Where each position goes: expert numbers [T, chosen] and mixing weights, which sum to one."""

    experts: Tensor
    weights: Tensor

    @property
    def assignments(self) -> int:
        """Positions times experts each."""
        return self.experts.numel()

    def load(self, experts: int) -> list[int]:
        """Assignments of each expert."""
        counts: list[int] = torch.bincount(self.experts.flatten(), minlength=experts).tolist()
        return counts


class Experts:
    """Experts of two matrices each, and a router. ``bias`` shifts who is chosen and never how much each counts."""

    def __init__(self, generator: torch.Generator, *, dim: int = DIM, experts: int = EXPERTS, hidden: int = 32) -> None:
        def drawn(*shape: int) -> Tensor:
            scaled: Tensor = torch.randn(*shape, generator=generator, dtype=torch.float64) / float(shape[-2]) ** 0.5
            return scaled

        self.router = drawn(dim, experts)
        self.up, self.down = drawn(experts, dim, hidden), drawn(experts, hidden, dim)
        self.bias = torch.zeros(experts, dtype=torch.float64)

    def route(self, inputs: Tensor, chosen: int = CHOSEN) -> ExpertRouting:
        """The experts with the highest scores for each position."""
        scores = torch.sigmoid(inputs @ self.router)
        experts = torch.topk(scores + self.bias, chosen).indices
        weights = scores.gather(-1, experts)
        return ExpertRouting(experts, weights / weights.sum(-1, keepdim=True))

    def forward(self, inputs: Tensor, routed: ExpertRouting) -> Tensor:
        """Run each expert once, on the positions that chose it."""
        outputs = torch.zeros_like(inputs)
        for expert in range(self.up.shape[0]):
            rows, places = (routed.experts == expert).nonzero(as_tuple=True)
            if len(rows):
                given = torch.nn.functional.silu(inputs[rows] @ self.up[expert]) @ self.down[expert]
                outputs = outputs.index_add(0, rows, given * routed.weights[rows, places][:, None])
        return outputs

    def dense(self, inputs: Tensor, routed: ExpertRouting) -> Tensor:
        """The definition: every expert on every position, times its weight or zero."""
        gates = torch.zeros(len(inputs), self.up.shape[0], dtype=inputs.dtype).scatter(
            1, routed.experts, routed.weights
        )
        everything = torch.einsum(
            "teh,ehd->ted", torch.nn.functional.silu(torch.einsum("td,edh->teh", inputs, self.up)), self.down
        )
        return torch.einsum("te,ted->td", gates, everything)


def collapsed(generator: torch.Generator) -> tuple[Experts, Tensor]:
    """A layer whose router prefers experts 2 and 7 for every input, and inputs."""
    layer = Experts(generator)
    inputs = torch.randn(POSITIONS, DIM, generator=generator, dtype=torch.float64)
    inputs[:, 0] = 1.0  # what all inputs have in common is what the router has learned to look at
    layer.router[0, [2, 7]] += 8.0
    return layer, inputs


def balance_by_bias(layer: Experts, inputs: Tensor, steps: int, speed: float = 0.02) -> list[list[int]]:
    """Lower the bias of experts with more than their share, raise that of the others; the loads on the way."""
    loads = []
    for _ in range(steps):
        load = layer.route(inputs).load(EXPERTS)
        loads.append(load)
        share = sum(load) / EXPERTS
        layer.bias += speed * torch.sign(share - torch.tensor(load, dtype=torch.float64))
    return loads


def balancing_loss(layer: Experts, inputs: Tensor) -> Tensor:
    """The auxiliary loss: experts times the sum of each one's share of assignments by its mean share of the router's
    scores. 1 where all are used alike; only the scores have a gradient."""
    scores = torch.softmax(inputs @ layer.router, -1)
    load = torch.tensor(layer.route(inputs).load(EXPERTS), dtype=inputs.dtype)
    return EXPERTS * (load / load.sum() * scores.mean(0)).sum()


def balance_by_loss(layer: Experts, inputs: Tensor, steps: int) -> list[float]:
    """Go down the auxiliary loss alone; its values on the way."""
    router = layer.router.clone().requires_grad_()
    layer.router = router
    optimizer = torch.optim.Adam([router], lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = balancing_loss(layer, inputs)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    layer.router = router.detach()
    return losses


def trained(layer: Experts, inputs: Tensor) -> tuple[list[int], bool]:
    """One backward pass of a prediction loss: the experts that get a gradient, and whether the router does."""
    layer.router.requires_grad_()
    layer.up.requires_grad_()
    layer.forward(inputs, layer.route(inputs)).square().mean().backward()
    assert layer.up.grad is not None
    found = [e for e in range(EXPERTS) if bool(layer.up.grad[e].abs().sum() > 0)]
    moved = layer.router.grad is not None and bool(layer.router.grad.abs().sum() > 0)
    layer.router, layer.up = layer.router.detach(), layer.up.detach()
    return found, moved


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    generator = torch.Generator().manual_seed(settings.seed)
    spread = Experts(generator)
    inputs = torch.randn(POSITIONS, DIM, generator=generator, dtype=torch.float64)
    routed = spread.route(inputs)
    error = float((spread.forward(inputs, routed) - spread.dense(inputs, routed)).abs().max())
    layer, same = collapsed(generator)
    before = layer.route(same)
    load = before.load(EXPERTS)
    gradients, router_learns = trained(layer, same)
    loads = balance_by_bias(layer, same, 120)
    after = layer.route(same).load(EXPERTS)
    other, again = collapsed(torch.Generator().manual_seed(settings.seed))
    losses = balance_by_loss(other, again, 200)
    by_loss = other.route(again).load(EXPERTS)
    even = Experts(generator)
    even.router.zero_()
    figures = (
        MeasuredFigure("assignments", routed.assignments),
        MeasuredFigure("collapsed: assignments of expert 2", load[2]),
        MeasuredFigure("collapsed: assignments of expert 7", load[7]),
        MeasuredFigure("collapsed: experts without work", sum(count == 0 for count in load)),
        MeasuredFigure("collapsed: experts that get a gradient", str(gradients)),
        MeasuredFigure("collapsed: the router gets a gradient", router_learns),
        MeasuredFigure("after balancing: experts without work", sum(count == 0 for count in after)),
        MeasuredFigure("auxiliary loss of a router without preferences", round(float(balancing_loss(even, same)), 12)),
        MeasuredFigure("auxiliary loss, collapsed", losses[0]),
        MeasuredFigure("auxiliary loss, after going down it", losses[-1]),
        MeasuredFigure("after the auxiliary loss: experts without work", sum(count == 0 for count in by_loss)),
        MeasuredFigure("against every expert on every position", error),
    )
    return Findings(
        figures=figures,
        tables=(
            ResultTable(
                f"Assignments of {POSITIONS} positions to {CHOSEN} of {EXPERTS} experts",
                ("expert", "random router", "collapsed", "after 120 steps of bias", "after the auxiliary loss"),
                tuple((e, routed.load(EXPERTS)[e], load[e], after[e], by_loss[e]) for e in range(EXPERTS)),
            ),
        ),
        plots=(
            LinePlot(
                "Balancing by bias: the busiest and the idlest expert",
                "steps",
                "assignments",
                (
                    Series("busiest", tuple((float(i), float(max(each))) for i, each in enumerate(loads))),
                    Series("idlest", tuple((float(i), float(min(each))) for i, each in enumerate(loads))),
                ),
            ),
        ),
        notes=(
            "Experts are no K/V: attention comes before them, and a layer keeps as much history with 8 as with 128.",
        ),
    )


EXPERIMENT = Experiment(
    name="experts",
    title="Experts: assignments and balance",
    meaning=(
        "Positions times experts each are the assignments; a router may send them all to two experts, and then only "
        "those two and the router learn. It establishes the counts, that a bias on the choice evens the load without "
        "touching the mixing weights, and that an auxiliary loss does so through the scores. It does not "
        "show what experts specialise in, nor the cost of sending "
        "positions between devices."
    ),
    run=run,
    published={
        "assignments": PublishedFigure(200),
        "collapsed: assignments of expert 2": PublishedFigure(100),
        "collapsed: assignments of expert 7": PublishedFigure(100),
        "collapsed: experts without work": PublishedFigure(6),
        "collapsed: experts that get a gradient": PublishedFigure("[2, 7]"),
        "collapsed: the router gets a gradient": PublishedFigure(True),
        "auxiliary loss of a router without preferences": PublishedFigure(1.0),
        "auxiliary loss, collapsed": PublishedFigure(4.0, Holds.CLOSELY, 0.3),
        "after the auxiliary loss: experts without work": PublishedFigure(0),
        "against every expert on every position": PublishedFigure(1e-12, Holds.AT_MOST),
    },
)
