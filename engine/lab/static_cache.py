"""A cache that grows by copying beside one whose room is there from the start: the same content, other costs."""

from __future__ import annotations

import torch
from torch import Tensor

from agentsim.engine.lab.experiment import (
    Experiment,
    Findings,
    LabSettings,
    LinePlot,
    MeasuredFigure,
    PublishedFigure,
    Series,
)

TOKENS, CAPACITY, WIDTH = 1_000, 1_024, 8


class GrowingCache:
    """Appends by making a new tensor of one record more. Mutable."""

    def __init__(self) -> None:
        self.kept = torch.empty(0, WIDTH, dtype=torch.float64)
        self.copied = 0
        self.most = 0
        """Records held at once, the old tensor beside the new one."""

    def append(self, record: Tensor) -> Tensor:
        """The records up to this one."""
        before = len(self.kept)
        self.kept = torch.cat((self.kept, record[None]))
        self.copied += before + 1
        self.most = max(self.most, before + len(self.kept))
        return self.kept


class StaticCache:
    """Writes into room that was there before, and counts how far it is filled. Mutable."""

    def __init__(self, capacity: int) -> None:
        self.kept = torch.zeros(capacity, WIDTH, dtype=torch.float64)
        self.length = 0
        self.copied = 0

    def append(self, record: Tensor) -> Tensor:
        """The records up to this one. Raises IndexError when the room is used up."""
        self.kept[self.length] = record
        self.length += 1
        self.copied += 1
        return self.kept[: self.length]


def read(query: Tensor, records: Tensor, length: int | None = None) -> Tensor:
    """Attention over records; with ``length`` over a whole room whose rest is masked."""
    scores = records @ query
    if length is not None:
        scores = scores.masked_fill(torch.arange(len(records)) >= length, float("-inf"))
    return torch.softmax(scores, 0) @ records


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    generator = torch.Generator().manual_seed(settings.seed)
    growing, static = GrowingCache(), StaticCache(CAPACITY)
    shapes: set[tuple[int, ...]] = set()
    places: set[int] = set()
    moved: list[tuple[float, float]] = []
    worst = 0.0
    before = static.kept.clone()
    for number in range(TOKENS):
        record, query = torch.randn(2, WIDTH, generator=generator, dtype=torch.float64)
        grown, fixed = growing.append(record), static.append(record)
        shapes.add(tuple(grown.shape))
        places.add(static.kept.data_ptr())
        if number % 50 == 49:
            whole = read(query, static.kept, static.length)
            worst = max(worst, float((read(query, grown) - whole).abs().max()))
            moved.append((number + 1.0, float(growing.copied)))
        assert len(fixed) == len(grown)
    refused = False
    try:
        for _ in range(CAPACITY - TOKENS + 1):
            static.append(torch.zeros(WIDTH, dtype=torch.float64))
    except IndexError:
        refused = True
    return Findings(
        figures=(
            MeasuredFigure("records copied, growing one by one", growing.copied),
            MeasuredFigure("records copied, static", TOKENS),
            MeasuredFigure("records held at once, growing", growing.most),
            MeasuredFigure("records held at once, static", CAPACITY),
            MeasuredFigure("room unused at the end, static", CAPACITY - TOKENS),
            MeasuredFigure("shapes that a compiled step sees, growing", len(shapes)),
            MeasuredFigure("shapes that a compiled step sees, static", 1),
            MeasuredFigure("addresses of the static room", len(places)),
            MeasuredFigure("its content changes", not torch.equal(before, static.kept)),
            MeasuredFigure("the 1,025th record is refused", refused),
            MeasuredFigure("largest difference between what both read", worst),
        ),
        plots=(
            LinePlot(
                "Records copied by growing one by one",
                "tokens",
                "records",
                (Series("growing", tuple(moved)), Series("static", tuple((x, x) for x, _ in moved))),
            ),
        ),
        notes=("Pages are a third way: room is given in pieces, nothing is copied, and less than a page is unused.",),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="static-cache",
    title="Static is the room, not the content",
    meaning=(
        "A static cache reserves its room, so that shapes and addresses never change while content and length do; a "
        "growing one copies what it has. It establishes counts of records moved and held, and that both read the same. "
        "It does not establish times: growing by larger steps copies less, and nobody has to grow by one."
    ),
    run=run,
    published={
        "records copied, growing one by one": PublishedFigure(TOKENS * (TOKENS + 1) // 2),
        "records copied, static": PublishedFigure(TOKENS),
        "records held at once, growing": PublishedFigure(2 * TOKENS - 1),
        "room unused at the end, static": PublishedFigure(24),
        "shapes that a compiled step sees, growing": PublishedFigure(TOKENS),
        "addresses of the static room": PublishedFigure(1),
        "its content changes": PublishedFigure(True),
        "the 1,025th record is refused": PublishedFigure(True),
    },
)
