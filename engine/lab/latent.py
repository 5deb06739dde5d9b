"""The absorbed query in numbers that can be checked by hand."""

from __future__ import annotations

import torch

from agentsim.engine.lab.experiment import (
    Experiment,
    Findings,
    LabSettings,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
)
from agentsim.engine.lab.states.latent_state import absorb

EXPAND = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], dtype=torch.float64)
"""Two numbers make a key of three: the third is the sum of both."""


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    latent = torch.tensor([2.0, 1.0], dtype=torch.float64)
    query = torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64)
    key = latent @ EXPAND
    moved = absorb(query[None, None], EXPAND[None])[0, 0]
    generator = torch.Generator().manual_seed(settings.seed)
    heads, width, rank, tokens = 4, 32, 8, 50
    queries = torch.randn(1, heads, width, generator=generator, dtype=torch.float64)
    up = torch.randn(heads, rank, width, generator=generator, dtype=torch.float64)
    latents = torch.randn(tokens, rank, generator=generator, dtype=torch.float64)
    expanded = torch.einsum("thd,shd->hts", queries, torch.einsum("sr,hrd->shd", latents, up))
    absorbed = torch.einsum("thr,sr->hts", absorb(queries, up), latents)
    return Findings(
        figures=(
            MeasuredFigure("expanded key", str(key.int().tolist())),
            MeasuredFigure("score of the expanded key", int(query @ key)),
            MeasuredFigure("transformed query", str(moved.int().tolist())),
            MeasuredFigure("score of the latent", int(moved @ latent)),
            MeasuredFigure("random scores, largest difference", float((expanded - absorbed).abs().max())),
        ),
        tables=(
            ResultTable(
                f"Numbers kept and multiplied, one query over {tokens} tokens, {heads} heads of {width}, rank {rank}",
                ("way", "numbers kept for keys", "multiplications for scores"),
                (
                    ("expand each key", tokens * rank, tokens * heads * width * (rank + 1)),
                    ("keep expanded keys", tokens * heads * width, tokens * heads * width),
                    ("transform the query", tokens * rank, heads * width * rank + tokens * heads * rank),
                ),
            ),
        ),
    )


EXPERIMENT = Experiment(
    name="latent",
    title="One short vector per token, and a transformed query",
    meaning=(
        "Where keys are a fixed linear function of shorter vectors, the function can be applied to the query once "
        "instead of to every record, with the same scores. It establishes the algebra and its count of operations. It "
        "does not show that keys of an existing model could be shortened, and it holds only without a rotation or "
        "anything nonlinear in between."
    ),
    run=run,
    published={
        "expanded key": PublishedFigure("[2, 1, 3]"),
        "score of the expanded key": PublishedFigure(8),
        "transformed query": PublishedFigure("[3, 2]"),
        "score of the latent": PublishedFigure(8),
    },
)
