"""A tree of segments that are split where prompts part, beside blocks of a fixed size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

from agentsim.engine.lab.experiment import (
    Experiment,
    Findings,
    LabSettings,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
    Value,
)

BLOCK = 16


@dataclass
class Segment:
    """Tokens that follow one another without a fork. Mutable."""

    tokens: list[int]
    children: dict[int, Segment] = field(default_factory=dict)
    """By their first token."""


class RadixTree:
    """Prefixes as a tree. A segment is split where a prompt leaves it."""

    def __init__(self) -> None:
        self.root = Segment([])
        self.splits = 0

    def insert(self, tokens: Sequence[int]) -> int:
        """Keep a prompt; how many of its first tokens were there before."""
        here, at = self.root, 0
        while at < len(tokens):
            child = here.children.get(tokens[at])
            if child is None:
                here.children[tokens[at]] = Segment(list(tokens[at:]))
                return at
            shared = common(child.tokens, tokens[at:])
            if shared < len(child.tokens):
                self._split(here, child, shared)
                child = here.children[tokens[at]]
            here, at = child, at + shared
        return at

    def _split(self, parent: Segment, child: Segment, at: int) -> None:
        front = Segment(child.tokens[:at], {child.tokens[at]: child})
        child.tokens = child.tokens[at:]
        parent.children[front.tokens[0]] = front
        self.splits += 1

    def segments(self) -> Iterator[Segment]:
        """All segments but the root's, which is empty."""
        open_ones = [self.root]
        while open_ones:
            children = open_ones.pop().children.values()
            yield from children
            open_ones += children


class Blocks:
    """Prefixes as a chain of whole blocks: an entry for each, by all tokens up to its end."""

    def __init__(self, size: int = BLOCK) -> None:
        self.size = size
        self.entries: set[tuple[int, ...]] = set()

    def insert(self, tokens: Sequence[int]) -> int:
        """Keep a prompt's whole blocks; how many of its first tokens were there before."""
        ends = [tuple(tokens[:end]) for end in range(self.size, len(tokens) + 1, self.size)]
        known = next((number for number, end in enumerate(ends) if end not in self.entries), len(ends))
        self.entries.update(ends)
        return known * self.size


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two sequences begin with alike."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def questions(seed: int, number: int, document: int, question: int) -> list[list[int]]:
    """Questions of like length about one document, each beginning differently."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(count: int) -> list[int]:
        return torch.randint(1_000, 50_000, (count,), generator=generator).tolist()

    front = drawn(document)
    return [[*front, at, *drawn(question - 1)] for at in range(number)]


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    first, second, third = questions(settings.seed, 3, 1_003, 97)
    tree, blocks = RadixTree(), Blocks()
    tree.insert(first), blocks.insert(first)
    before = len(list(tree.segments()))
    by_tree, by_blocks = tree.insert(second), blocks.insert(second)
    after, splits = len(list(tree.segments())), tree.splits
    tree.insert(third)
    rows: list[tuple[Value, ...]] = []
    for document in (992, 1_003, 1_007, 1_008):
        prompts = questions(settings.seed, 20, document, 97)
        one, other = RadixTree(), Blocks()
        reused = [(one.insert(prompt), other.insert(prompt)) for prompt in prompts][1:]
        rows.append((document, reused[0][0], reused[0][1], len(list(one.segments())), len(other.entries)))
    return Findings(
        figures=(
            MeasuredFigure("segments after the first prompt", before),
            MeasuredFigure("reused of 1,003 shared tokens, tree", by_tree),
            MeasuredFigure("reused of 1,003 shared tokens, blocks of 16", by_blocks),
            MeasuredFigure("computed again because of blocks", by_tree - by_blocks),
            MeasuredFigure("segments after the second prompt, which split one", after),
            MeasuredFigure("splits by the second prompt", splits),
            MeasuredFigure("splits by a third that leaves at the same place", tree.splits - splits),
            MeasuredFigure("segments after the third", len(list(tree.segments()))),
        ),
        tables=(
            ResultTable(
                "Twenty questions of 97 tokens about one document",
                ("document", "reused, tree", "reused, blocks", "segments", "blocks kept"),
                tuple(rows),
            ),
        ),
        notes=("A split moves no K/V: two segments then name parts of what one named.",),
    )


EXPERIMENT = Experiment(
    name="radix",
    title="A tree that splits its segments, beside blocks",
    meaning=(
        "A tree finds a shared beginning to the token, because it splits a segment where prompts part; blocks find "
        "whole ones and hash each. It establishes tokens reused and entries kept by both. It does not establish which "
        "is faster, nor how their pages are laid out: a tree's segments of any length need pages of one token, or lose "
        "the rest of one."
    ),
    run=run,
    published={
        "segments after the first prompt": PublishedFigure(1),
        "reused of 1,003 shared tokens, tree": PublishedFigure(1_003),
        "reused of 1,003 shared tokens, blocks of 16": PublishedFigure(992),
        "computed again because of blocks": PublishedFigure(11),
        "segments after the second prompt, which split one": PublishedFigure(3),
        "splits by the second prompt": PublishedFigure(1),
        "splits by a third that leaves at the same place": PublishedFigure(0),
        "segments after the third": PublishedFigure(4),
    },
)
