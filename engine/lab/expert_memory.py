"""Experts take no K/V, but the memory that K/V would have had."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from agentsim.engine.lab.experiment import (
    BarPlot,
    Experiment,
    Findings,
    LabSettings,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
    Value,
)
from agentsim.engine.lab.experts import Experts
from agentsim.engine.lab.states.layer_state import held_bytes
from agentsim.engine.layouts.kv_sizes import GIB, Shape, kv_bytes, sessions_in, token_bytes

DEVICE, TOKENS = 80 * GIB, 32_768


@dataclass(frozen=True, slots=True)
class MixtureModel:
    """A model of experts: its attention, its width, and how wide, how many and how many at once its experts are."""

    attention: Shape
    dim: int
    hidden: int
    experts: int
    chosen: int

    @property
    def expert_weights(self) -> int:
        """Numbers of one expert: two matrices."""
        return 2 * self.dim * self.hidden

    @property
    def shared_weights(self) -> int:
        """Numbers of a layer's attention: queries and output, keys and values."""
        shape = self.attention
        return 2 * self.dim * shape.head_dim * (shape.heads + shape.kv_heads)

    def weight_bytes(self, bits: int = 16) -> int:
        """Bytes of all weights; embeddings are left out."""
        return self.attention.layers * (self.shared_weights + self.experts * self.expert_weights) * bits // 8

    def active_weights(self) -> int:
        """Numbers that one token is multiplied by."""
        return self.attention.layers * (self.shared_weights + self.chosen * self.expert_weights)

    def room(self, memory: int, bits: int = 16) -> int:
        """Bytes that are left for K/V on a device; 0 where the weights alone do not fit."""
        return max(0, memory - self.weight_bytes(bits))


def of_experts(experts: int) -> MixtureModel:
    """The teaching model: 32 layers, 32 query and 8 K/V heads of 128, experts of 2,048, two of them for each token."""
    return MixtureModel(Shape(32, 32, 8, 128), 4_096, 2_048, experts, 2)


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    layer = Experts(torch.Generator().manual_seed(settings.seed), dim=16, experts=8, hidden=32)
    counted = MixtureModel(Shape(1, 1, 1, 16), 16, 32, 8, 2)
    held = held_bytes(layer.up) + held_bytes(layer.down)
    session = kv_bytes(of_experts(8).attention, TOKENS)
    rows: list[tuple[Value, ...]] = []
    for experts in (2, 8, 16, 32, 64):
        made = of_experts(experts)
        room = made.room(DEVICE)
        rows.append(
            (
                experts,
                made.active_weights() / 1e9,
                made.weight_bytes() / GIB,
                token_bytes(made.attention),
                room / GIB,
                sessions_in(room, session),
                sessions_in(made.room(DEVICE, 4), session),
            )
        )
    few, many = of_experts(8), of_experts(64)
    return Findings(
        figures=(
            MeasuredFigure("eight small experts: bytes over arithmetic", held / (8 * 8 * counted.expert_weights)),
            MeasuredFigure("bytes of a token's K/V, 8 experts", token_bytes(few.attention)),
            MeasuredFigure("bytes of a token's K/V, 64 experts", token_bytes(many.attention)),
            MeasuredFigure("weights of a token, 64 experts over 8", many.active_weights() / few.active_weights()),
            MeasuredFigure("weights of 64 experts", many.weight_bytes() / GIB, "GiB"),
            MeasuredFigure("sessions of 32,768 tokens in 80 GiB, 8 experts", sessions_in(few.room(DEVICE), session)),
            MeasuredFigure("sessions of 32,768 tokens in 80 GiB, 64 experts", sessions_in(many.room(DEVICE), session)),
        ),
        tables=(
            ResultTable(
                "A device of 80 GiB, sessions of 32,768 tokens",
                ("experts", "weights a token, billions", "weights, GiB", "K/V a token", "room for K/V, GiB", "sessions",
                 "sessions, weights in four bits"),
                tuple(rows),
            ),
        ),
        plots=(
            BarPlot("Sessions beside the weights", "sessions", tuple((f"{r[0]}", float(str(r[5]))) for r in rows)),
        ),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="expert-memory",
    title="Experts crowd out K/V",
    meaning=(
        "More experts change neither what a token keeps nor what it is multiplied by, but all of them wait in memory, "
        "and what they take is not there for sessions. It establishes this arithmetic, its bytes counted on a small "
        "layer. It does not count embeddings, workspaces or copies, nor what spreading experts over devices gives back."
    ),
    run=run,
    published={
        "eight small experts: bytes over arithmetic": PublishedFigure(1.0),
        "bytes of a token's K/V, 8 experts": PublishedFigure(131_072),
        "bytes of a token's K/V, 64 experts": PublishedFigure(131_072),
        "weights of a token, 64 experts over 8": PublishedFigure(1.0),
    },
)
