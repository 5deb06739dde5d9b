"""Three schemes side by side: what 4,096 tokens take, what a step reads, how many sessions fit."""

from __future__ import annotations

from agentsim.engine.lab.experiment import (
    Experiment,
    Findings,
    LabSettings,
    LinePlot,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
    Series,
)
from agentsim.engine.lab.states.recurrent_state import Recurrent
from agentsim.engine.lab.states.shared_state import SharedGlobal
from agentsim.engine.lab.three_schemes import SCHEMES, TOKENS, fill, kept, read
from agentsim.engine.layouts.kv_sizes import KIB, MIB, sessions_in

MEMORY = 640 * MIB
LENGTHS = (64, 128, 256, 512, 1_024, 2_048, TOKENS)


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    figures: list[MeasuredFigure] = []
    rows: list[tuple[str | float | int, ...]] = []
    series: list[Series] = []
    for name, build in SCHEMES.items():
        letter = name[0]
        settings.say(name)
        states = build()
        points, done = [], 0
        for length in LENGTHS:
            fill(states, length - done)
            done = length
            points.append((float(length), kept(states) / MIB))
        series.append(Series(name, tuple(points)))
        stored, reads = kept(states), read(states)
        sessions = sessions_in(MEMORY, stored)
        rows.append((name, stored / MIB, sessions, reads / MIB))
        figures += [
            MeasuredFigure(f"{letter}: stored", stored / MIB, "MiB"),
            MeasuredFigure(f"{letter}: sessions in 640 MiB", sessions),
            MeasuredFigure(f"{letter}: read per step", reads / MIB, "MiB"),
        ]
        if letter == "A":
            figures.append(MeasuredFigure("A: one layer", states[0].bytes / MIB, "MiB"))
        if isinstance(states[0], SharedGlobal):
            groups = [group for group in states if isinstance(group, SharedGlobal)]
            histories = sum(group.history.bytes for group in groups)
            windows = [window.bytes for group in groups for window in group.windows]
            figures += [
                MeasuredFigure("B: four global histories", histories / MIB, "MiB"),
                MeasuredFigure("B: 32 windows", sum(windows) / MIB, "MiB"),
                MeasuredFigure("B: one window", windows[0] / KIB, "KiB"),
            ]
        if isinstance(states[0], Recurrent):
            figures.append(MeasuredFigure("C: one matrix", states[0].bytes / KIB, "KiB"))
    return Findings(
        figures=tuple(figures),
        tables=(
            ResultTable(
                f"32 layers after {TOKENS:,} tokens, two bytes a number",
                ("scheme", "stored, MiB", "sessions in 640 MiB", "read per step, MiB"),
                tuple(rows),
            ),
        ),
        plots=(LinePlot("State of one session", "tokens", "MiB", tuple(series), log_x=True, log_y=True),),
    )


EXPERIMENT = Experiment(
    name="schemes",
    title="Three schemes: stored, read, and sessions that fit",
    meaning=(
        "Tensors of all three schemes are made and counted: sharing a history among layers saves room, and reads no "
        "less. It establishes stored bytes and logical reads. It does not establish speed: a device may keep what "
        "several layers read, and page tables, weights and workspaces take room as well."
    ),
    run=run,
    published={
        "A: one layer": PublishedFigure(2.0),
        "A: stored": PublishedFigure(64.0),
        "A: sessions in 640 MiB": PublishedFigure(10),
        "A: read per step": PublishedFigure(64.0),
        "B: four global histories": PublishedFigure(8.0),
        "B: 32 windows": PublishedFigure(2.0),
        "B: one window": PublishedFigure(64.0),
        "B: stored": PublishedFigure(10.0),
        "B: sessions in 640 MiB": PublishedFigure(64),
        "B: read per step": PublishedFigure(66.0),
        "C: one matrix": PublishedFigure(32.0),
        "C: stored": PublishedFigure(1.0),
        "C: sessions in 640 MiB": PublishedFigure(640),
        "C: read per step": PublishedFigure(1.0),
    },
)
