"""Four bits a number: bytes, and what a number becomes."""

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
from agentsim.engine.lab.kv_size import held
from agentsim.engine.lab.states.layer_state import held_bytes
from agentsim.kernels import pack_int4, unpack_int4


def round_trip_error(numbers: torch.Tensor) -> float:
    """The largest error in steps: at most one half."""
    packed, steps = pack_int4(numbers)
    back = unpack_int4(packed, steps, torch.float32)
    error = (back - numbers).abs().unflatten(-1, (steps.shape[-1], -1))
    return float((error / steps.clamp_min(1e-30)[..., None]).max())


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    generator = torch.Generator().manual_seed(settings.seed)
    group = torch.randn(16, generator=generator)
    packed, steps = pack_int4(group)
    many = torch.randn(2_048, generator=generator)
    many_packed, many_steps = pack_int4(many)
    example = torch.zeros(16)
    example[:2] = torch.tensor([0.7, 0.32])  # seven steps of 0.1 are the largest number
    levels, step = pack_int4(example)
    level = int(levels[1] & 15) - 8
    full = held(2, head_dim=64, heads=8, tokens=64)
    four = held(2, head_dim=64, heads=8, tokens=64, int4=True)
    return Findings(
        figures=(
            MeasuredFigure("16 numbers in bfloat16", held_bytes(group.to(torch.bfloat16)), "bytes"),
            MeasuredFigure("16 numbers: levels", held_bytes(packed), "bytes"),
            MeasuredFigure("16 numbers: step", held_bytes(steps), "bytes"),
            MeasuredFigure("16 numbers in four bits", held_bytes(packed) + held_bytes(steps), "bytes"),
            MeasuredFigure("2,048 numbers: levels", held_bytes(many_packed), "bytes"),
            MeasuredFigure("2,048 numbers: steps", held_bytes(many_steps), "bytes"),
            MeasuredFigure("2,048 numbers in four bits", held_bytes(many_packed) + held_bytes(many_steps), "bytes"),
            MeasuredFigure("level of 0.32 at steps of 0.1", level),
            MeasuredFigure("0.32 reconstructed", round(float(unpack_int4(levels, step, torch.float32)[1]), 6)),
            MeasuredFigure("largest error, in steps", round_trip_error(many)),
        ),
        tables=(
            ResultTable(
                "64 tokens of a layer with two K/V heads of 64",
                ("kept as", "bytes", "share"),
                (("bfloat16", full.bytes, 1.0), ("four bits and steps", four.bytes, four.bytes / full.bytes)),
            ),
        ),
    )


EXPERIMENT = Experiment(
    name="int4",
    title="Four bits a number",
    meaning=(
        "Levels and steps are stored and counted as arrays: 12 bytes for 32, and an error of at most half a step. It "
        "establishes the bytes of this format. It does not establish speed (levels must be unpacked), nor what the "
        "errors do to a model's answers, nor the sizes of other formats, whose steps may be smaller."
    ),
    run=run,
    published={
        "16 numbers in bfloat16": PublishedFigure(32),
        "16 numbers: levels": PublishedFigure(8),
        "16 numbers: step": PublishedFigure(4),
        "16 numbers in four bits": PublishedFigure(12),
        "2,048 numbers: levels": PublishedFigure(1_024),
        "2,048 numbers: steps": PublishedFigure(512),
        "2,048 numbers in four bits": PublishedFigure(1_536),
        "level of 0.32 at steps of 0.1": PublishedFigure(3),
        "0.32 reconstructed": PublishedFigure(0.3),
    },
)
