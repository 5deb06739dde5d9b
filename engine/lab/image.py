"""Records that a text query reads, with an image in the sequence or beside it."""

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
from agentsim.engine.lab.states.full_state import FullHistory, Projections
from agentsim.engine.lab.states.image_state import ImageMemory

TEXT, IMAGE, DIM = 5, 4, 16


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    generator = torch.Generator().manual_seed(settings.seed)

    def drawn() -> Projections:
        return Projections.drawn(generator, dim=DIM, heads=2, kv_heads=2, head_dim=8)

    text = torch.randn(TEXT + 1, DIM, generator=generator, dtype=torch.float64)
    image = torch.randn(IMAGE, DIM, generator=generator, dtype=torch.float64)
    alone, inside, beside = FullHistory(drawn()), FullHistory(drawn()), ImageMemory(drawn(), drawn(), image)
    alone.append(text[:TEXT])
    inside.append(torch.cat((image, text[:TEXT])))
    beside.append(text[:TEXT])
    before = (len(alone.keys), len(inside.keys), *beside.records)
    for state in (alone, inside, beside):
        state.append(text[TEXT:])
    after = (len(alone.keys), len(inside.keys), *beside.records)
    names = ("text only", "image in the sequence", "image beside: text", "image beside: image")
    return Findings(
        figures=tuple(
            MeasuredFigure(f"{name}, records of T5", count) for name, count in zip(names, before, strict=True)
        )
        + tuple(MeasuredFigure(f"{name}, records of R1", count) for name, count in zip(names, after, strict=True)),
        tables=(
            ResultTable(
                "Records that one query reads",
                ("connection", "T5 predicts R1", "R1 predicts R2"),
                (
                    ("text only", f"{before[0]}", f"{after[0]}"),
                    ("image in the sequence", f"{before[1]}", f"{after[1]}"),
                    ("image beside the text", f"{before[2]} + {before[3]}", f"{after[2]} + {after[3]}"),
                ),
            ),
        ),
        notes=("Beside: two reads with weights of their own, not one over all records.",),
    )


EXPERIMENT = Experiment(
    name="image",
    title="Records of text and of an image",
    meaning=(
        "An image in the sequence is read in one allocation of weights with the text; an image beside it in a second "
        "one, and only the text's records grow. It establishes the counts. It does not say which architecture answers "
        "better; real images give hundreds of vectors, not four."
    ),
    run=run,
    published={
        "text only, records of T5": PublishedFigure(5),
        "image in the sequence, records of T5": PublishedFigure(9),
        "image beside: text, records of T5": PublishedFigure(5),
        "image beside: image, records of T5": PublishedFigure(4),
        "text only, records of R1": PublishedFigure(6),
        "image in the sequence, records of R1": PublishedFigure(10),
        "image beside: text, records of R1": PublishedFigure(6),
        "image beside: image, records of R1": PublishedFigure(4),
    },
)
