"""After 4,096 tokens, another question is asked at token 3,072: what is there to continue from?"""

from __future__ import annotations

import torch

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
from agentsim.engine.lab.small_schemes import DIM, LAYERS, SMALL, WINDOW, shared
from agentsim.engine.lab.states.layer_state import LayerState, Unrestorable
from agentsim.engine.lab.three_schemes import DOCUMENT, SCHEMES, TOKENS, fill, snapshots
from agentsim.engine.layouts.kv_sizes import MIB

SMALL_DOCUMENT, OLD, NEW = 60, 20, 4


def refusal(states: list[LayerState], length: int) -> str | None:
    """Why the states cannot be taken to a length, or ``None`` where they were."""
    try:
        for state in states:
            state.truncate(length)
    except Unrestorable as lacking:
        return str(lacking)
    return None


def exactness(letter: str, seed: int, *, snapshot: bool) -> float | None:
    """Continue a small model at the document's end, by a snapshot or by truncation, and compare with a run that never
    saw the old question: the largest difference (of the largest number), or ``None`` where it cannot continue."""
    generator = torch.Generator().manual_seed(seed)
    document, old, new = (
        torch.randn(count, DIM, generator=generator, dtype=torch.float64) for count in (SMALL_DOCUMENT, OLD, NEW)
    )
    model, fresh = SMALL[letter](seed), SMALL[letter](seed)
    model.append(document)
    kept = model.snapshot()
    model.append(old)
    if snapshot:
        model.restore(kept)
    elif refusal([model], SMALL_DOCUMENT) is not None:
        return None
    return _difference(model.append(new), fresh.append(torch.cat((document, new)))[SMALL_DOCUMENT:])


def replay_error(replayed: int, seed: int) -> float:
    """Rebuild windows from the last ``replayed`` tokens of the document, and continue: the largest difference to a run
    that never lost them."""
    generator = torch.Generator().manual_seed(seed)
    document, old, new = (
        torch.randn(count, DIM, generator=generator, dtype=torch.float64) for count in (SMALL_DOCUMENT, OLD, NEW)
    )
    model, fresh = shared(seed), shared(seed)
    model.append(torch.cat((document, old)))
    model.truncate_global(SMALL_DOCUMENT)
    model.replay(document[SMALL_DOCUMENT - replayed :])
    return _difference(model.append(new), fresh.append(torch.cat((document, new)))[SMALL_DOCUMENT:])


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    figures: list[MeasuredFigure] = []
    rows = []
    for name, build in SCHEMES.items():
        letter = name[0]
        states = build()
        fill(states, DOCUMENT)
        kept = snapshots(states)
        fill(states, TOKENS - DOCUMENT)
        why = refusal(states, DOCUMENT)
        size = sum(each.bytes for each in kept)
        for state, each in zip(states, kept, strict=True):
            state.restore(each)
        figures += [
            MeasuredFigure(f"{letter}: continues without a snapshot", why is None),
            MeasuredFigure(f"{letter}: snapshot at token 3,072", size / MIB, "MiB"),
            MeasuredFigure(
                f"{letter}: small model, snapshot, difference", exactness(letter, settings.seed, snapshot=True)
            ),
        ]
        rows.append((name, why or "truncates: every record of the prefix is there", size / MIB))
    figures += [
        MeasuredFigure("A: small model, truncated, difference", exactness("A", settings.seed, snapshot=False)),
        MeasuredFigure("C: tokens to replay without a snapshot", DOCUMENT),
    ]
    exact = LAYERS * (WINDOW - 1)
    points = tuple((float(r), replay_error(r, settings.seed)) for r in range(exact + 3))
    figures += [
        MeasuredFigure("B: small model, replay of one window, difference", points[WINDOW][1]),
        MeasuredFigure(f"B: small model, replay of {exact} tokens, difference", points[exact][1]),
        MeasuredFigure("B: tokens of an exact replay, 32 layers, windows of 128", 32 * 127),
    ]
    floor = 1e-17
    return Findings(
        figures=tuple(figures),
        tables=(
            ResultTable(
                "32 layers after 4,096 tokens; the document ends at 3,072",
                ("scheme", "what is there to continue from", "snapshot that changes it, MiB"),
                tuple(rows),
            ),
        ),
        plots=(
            LinePlot(
                f"B, {LAYERS} layers with windows of {WINDOW}: error after replaying the document's last tokens",
                "tokens replayed",
                "largest difference, of the largest output",
                (Series("global history kept, windows rebuilt", tuple((x, max(y, floor)) for x, y in points)),),
                log_y=True,
            ),
        ),
        notes=(
            (
                "A short replay reads the global history, which is exact, and windows that begin empty, which are not. "
                "Each layer looks one window further back: for 32 layers and windows of 128 an exact replay is longer "
                "than the whole document, so that a bounded replay is an approximation."
            ),
        ),
    )


def _difference(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    return float((ours - theirs).abs().max() / theirs.abs().max())


EXPERIMENT = Experiment(
    name="restore",
    title="Continuing at token 3,072 of 4,096",
    meaning=(
        "That a prefix is recognised does not mean that its end can be continued from. Full histories can be cut; "
        "windows and matrices need a copy from that moment, or a replay. It establishes this for states of these "
        "shapes, with full replays and copies exact. It does not say what a provider keeps, nor how much a bounded "
        "replay's error matters to a trained model's answers."
    ),
    run=run,
    published={
        "A: continues without a snapshot": PublishedFigure(True),
        "A: snapshot at token 3,072": PublishedFigure(0.0),
        "B: continues without a snapshot": PublishedFigure(False),
        "B: snapshot at token 3,072": PublishedFigure(2.0),
        "C: continues without a snapshot": PublishedFigure(False),
        "C: snapshot at token 3,072": PublishedFigure(1.0),
        "C: tokens to replay without a snapshot": PublishedFigure(3_072),
        "A: small model, truncated, difference": PublishedFigure(1e-12, Holds.AT_MOST),
        "A: small model, snapshot, difference": PublishedFigure(1e-12, Holds.AT_MOST),
        "B: small model, snapshot, difference": PublishedFigure(1e-12, Holds.AT_MOST),
        "C: small model, snapshot, difference": PublishedFigure(1e-12, Holds.AT_MOST),
    },
)
