"""Attention without its tables: how large they would be, and the tiled calculation that needs none."""

from __future__ import annotations

import torch
from torch import Tensor

from agentsim.engine.lab.experiment import (
    Experiment,
    Findings,
    Holds,
    LabSettings,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
)

MEGABYTE = 10**6


def table_bytes(tokens: int, bytes_per_number: int = 2) -> int:
    """Bytes of one full square of scores (or of weights) for one head of one layer, hidden places included."""
    return tokens * tokens * bytes_per_number


def combine_exponentials(exponentials: list[list[float]], values: list[list[float]]) -> float:
    """Tiles of exponentiated scores and scalar values: sums of both, divided once at the end."""
    denominator = numerator = 0.0
    for tile, its_values in zip(exponentials, values, strict=True):
        denominator += sum(tile)
        numerator += sum(e * v for e, v in zip(tile, its_values, strict=True))
    return numerator / denominator


def average_of_tiles(exponentials: list[list[float]], values: list[list[float]]) -> float:
    """What must not be done: each tile normalised by itself, and the results averaged."""
    parts = [combine_exponentials([tile], [its]) for tile, its in zip(exponentials, values, strict=True)]
    return sum(parts) / len(parts)


def online_attention(query: Tensor, keys: Tensor, values: Tensor, tile: int) -> Tensor:
    """Attention of one query [D] over records [S, D], tile by tile. Kept per query: the largest score so far, the sum
    of exponentials below it, and their weighted sum of values. A larger score rescales both sums."""
    largest = torch.tensor(float("-inf"), dtype=query.dtype)
    total = torch.zeros((), dtype=query.dtype)
    mixed = torch.zeros(values.shape[-1], dtype=query.dtype)
    for start in range(0, len(keys), tile):
        scores = keys[start : start + tile] @ query / query.shape[0] ** 0.5
        now = torch.maximum(largest, scores.max())
        shrink, new = torch.exp(largest - now), torch.exp(scores - now)
        total = shrink * total + new.sum()
        mixed = shrink * mixed + new @ values[start : start + tile]
        largest = now
    return mixed / total


def rescaled(scores: list[list[float]], values: list[list[float]]) -> float:
    """The scalar case of :func:`online_attention`, for tiles of ready scores."""
    largest, total, mixed = float("-inf"), 0.0, 0.0
    import math

    for tile, its_values in zip(scores, values, strict=True):
        now = max(largest, *tile)
        shrink = math.exp(largest - now)
        total, mixed = shrink * total, shrink * mixed
        for score, value in zip(tile, its_values, strict=True):
            total += math.exp(score - now)
            mixed += math.exp(score - now) * value
        largest = now
    return mixed / total


def online_error(settings: LabSettings) -> float:
    """The largest difference to attention over the whole row at once, float64, over tiles of several sizes."""
    generator = torch.Generator().manual_seed(settings.seed)
    query = torch.randn(8, generator=generator, dtype=torch.float64)
    keys, values = (torch.randn(47, 8, generator=generator, dtype=torch.float64) for _ in range(2))
    whole = torch.softmax(keys @ query / 8**0.5, 0) @ values
    return max(float((online_attention(query, keys, values, tile) - whole).abs().max()) for tile in (1, 5, 16, 47))


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    import math

    exponentials, values = [[1.0, 1.0], [3.0]], [[0.0, 0.0], [10.0]]
    scores = [[math.log(e) for e in tile] for tile in exponentials]
    one = table_bytes(10_000)
    rows = tuple(
        (f"{tokens:,}", table_bytes(tokens) / MEGABYTE, 2 * table_bytes(tokens) / MEGABYTE, 3 * 4)
        for tokens in (1_000, 10_000, 100_000)
    )
    return Findings(
        figures=(
            MeasuredFigure("scores of 10,000 tokens", one // MEGABYTE, "MB"),
            MeasuredFigure("scores and weights", 2 * one // MEGABYTE, "MB"),
            MeasuredFigure("two accumulators", combine_exponentials(exponentials, values)),
            MeasuredFigure("with rescaling", round(rescaled(scores, values), 12)),
            MeasuredFigure("averaging normalised tiles", average_of_tiles(exponentials, values)),
            MeasuredFigure("online against whole, float64", online_error(settings)),
        ),
        tables=(
            ResultTable(
                "Temporary tables of one head in one layer, two bytes a number",
                ("tokens", "scores, MB", "scores and weights, MB", "tiled: bytes per query"),
                rows,
            ),
        ),
    )


EXPERIMENT = Experiment(
    name="score-tables",
    title="What tiled attention does not have to keep",
    meaning=(
        "Tiles whose sums are kept and divided once give the same attention as full tables, to the rounding of the "
        "sums. It establishes that two large tables are avoidable, and how large they would be; it does not measure "
        "speed, and it says nothing of K/V, which is kept and read all the same."
    ),
    run=run,
    published={
        "scores of 10,000 tokens": PublishedFigure(200),
        "scores and weights": PublishedFigure(400),
        "two accumulators": PublishedFigure(6.0),
        "with rescaling": PublishedFigure(6.0),
        "averaging normalised tiles": PublishedFigure(5.0),
        "online against whole, float64": PublishedFigure(1e-15, Holds.AT_MOST),
    },
)
