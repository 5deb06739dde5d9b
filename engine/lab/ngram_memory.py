"""A learned table read by hashes of the last few tokens: what it is beside K/V, and what collides in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b

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
    Value,
)

ROWS, WIDTH = 1_024, 8


class NgramMemory:
    """A table of ``rows`` vectors for each hash; ``sizes`` are the lengths of the n-grams that are looked up."""

    def __init__(self, seed: int, rows: int = ROWS, hashes: int = 2, sizes: Sequence[int] = (2, 3, 4)) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.rows, self.hashes, self.sizes = rows, hashes, tuple(sizes)
        shape = (len(self.sizes), hashes, rows, WIDTH)
        self.table = torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()

    def row(self, ngram: Sequence[int], number: int) -> int:
        """Where hash ``number`` puts an n-gram."""
        told = ",".join(map(str, ngram)).encode()
        return (
            int.from_bytes(blake2b(told, digest_size=8, salt=number.to_bytes(2, "little")).digest(), "little")
            % self.rows
        )

    def rows_of(self, tokens: Sequence[int], at: int) -> list[tuple[int, int, int]]:
        """The rows read for the token at a place: size of the n-gram, hash and row; shorter beginnings read fewer."""
        return [
            (place, number, self.row(tokens[at + 1 - size : at + 1], number))
            for place, size in enumerate(self.sizes)
            if at + 1 >= size
            for number in range(self.hashes)
        ]

    def read(self, tokens: Sequence[int], at: int) -> Tensor:
        """The vectors read for the token, one after the other."""
        return torch.cat([self.table[place, number, row] for place, number, row in self.rows_of(tokens, at)])


def collisions(memory: NgramMemory, ngrams: Sequence[Sequence[int]]) -> list[int]:
    """Of n-grams, how many share their row with another: by one hash, by the first two together, and so on."""
    found = []
    for hashes in range(1, memory.hashes + 1):
        places = Counter(tuple(memory.row(ngram, number) for number in range(hashes)) for ngram in ngrams)
        found.append(sum(count for count in places.values() if count > 1))
    return found


def expected_sharing(ngrams: int, rows: int) -> float:
    """How many of so many n-grams share a row with another if rows are drawn evenly."""
    return ngrams * (1 - (1 - 1 / rows) ** (ngrams - 1))


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    memory = NgramMemory(settings.seed)
    one, other = [5, 9, 3, 40, 41], [77, 3, 8, 40, 41]
    pairs = NgramMemory(settings.seed, sizes=(2,))
    same_words = pairs.rows_of(one, 4) == pairs.rows_of(other, 4)
    same_vectors = bool(torch.equal(pairs.read(one, 4), pairs.read(other, 4)))
    # The identity of cached K/V is that of everything before, so that the two histories share none.
    same_history = one[:5] == other[:5]
    ngrams = [(a, b) for a in range(24) for b in range(25)]
    by_one, by_two = collisions(pairs, ngrams)
    crowded = collisions(pairs, [(a, b) for a in range(41) for b in range(25)])[0]
    gate = torch.sigmoid(torch.tensor([-2.0, 2.0]))
    read = memory.read(one, 4)
    weak, strong = (float((share * read).detach().norm() / read.detach().norm()) for share in gate)
    memory.read(one, 4).square().sum().backward()
    assert memory.table.grad is not None
    touched = int((memory.table.grad.abs().sum(-1) > 0).sum())
    rows: list[tuple[Value, ...]] = []
    for count in (100, 300, 600, 1_200, 2_400):
        drawn = [(a, b) for a in range(60) for b in range(60)][:count]
        single, double = collisions(pairs, drawn)
        rows.append((count, single, expected_sharing(count, ROWS), double, expected_sharing(count, ROWS**2)))
    return Findings(
        figures=(
            MeasuredFigure("rows read for a token, 2/3/4-grams by two hashes", len(memory.rows_of(one, 4))),
            MeasuredFigure("rows of the table in all", memory.table[..., 0].numel()),
            MeasuredFigure("rows after 1,000 more tokens", memory.table[..., 0].numel()),
            MeasuredFigure("the same two words in two contexts read the same rows", same_words and same_vectors),
            MeasuredFigure("... and have the same K/V", same_history),
            MeasuredFigure("pairs that must share a row: 1,025 in 1,024 rows", crowded >= 2),
            MeasuredFigure("of 600 pairs, sharing a row by one hash", by_one),
            MeasuredFigure("of 600 pairs, sharing rows by both hashes", by_two),
            MeasuredFigure("rows that one token's training changes", touched),
            MeasuredFigure("share of the same vector, gate nearly shut", weak),
            MeasuredFigure("share of the same vector, gate nearly open", strong),
        ),
        tables=(
            ResultTable(
                "Pairs of tokens in 1,024 rows a hash",
                ("pairs", "share by one hash", "expected", "share by both", "expected by both"),
                tuple(rows),
            ),
        ),
        notes=("What an n-gram means here is decided by the gate, that is, by the sentence it stands in.",),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="ngram-memory",
    title="A learned table of word pairs is no K/V cache",
    meaning=(
        "Rows are addressed by the last tokens alone and belong to the weights: their number does not grow with a "
        "conversation, equal words read equal rows in any context, and different words may share one. It establishes "
        "addresses, counts and collisions of a small table. It does not establish that such a memory makes a model "
        "better."
    ),
    run=run,
    published={
        "rows read for a token, 2/3/4-grams by two hashes": PublishedFigure(6),
        "rows of the table in all": PublishedFigure(3 * 2 * ROWS),
        "rows after 1,000 more tokens": PublishedFigure(3 * 2 * ROWS),
        "the same two words in two contexts read the same rows": PublishedFigure(True),
        "... and have the same K/V": PublishedFigure(False),
        "pairs that must share a row: 1,025 in 1,024 rows": PublishedFigure(True),
        "of 600 pairs, sharing a row by one hash": PublishedFigure(expected_sharing(600, ROWS), Holds.CLOSELY, 60.0),
        "of 600 pairs, sharing rows by both hashes": PublishedFigure(0.0, Holds.CLOSELY, 6.0),
        "rows that one token's training changes": PublishedFigure(6),
    },
)
