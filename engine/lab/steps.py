"""A cache's rounding, step by step: how large it is, how often it could change a token, and how often it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median
from typing import TypeVar

import torch

from agentsim.engine.decoder import Decoder
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
    Value,
)
from agentsim.engine.lab.resampling import draw
from agentsim.engine.lab.subject import Subject, model, subject
from agentsim.engine.lab.writer import PageWriter, feed_together, room

Cell = TypeVar("Cell", float, bool)

DOCUMENT, STEPS, STEPS_FP32 = 1_200, 150, 50
OTHER = 17
"""Tokens of the question of the request that left the cache."""


@dataclass(frozen=True, slots=True)
class PathTrial:
    """What two paths chose at every step of every prompt, [prompts][steps]. Both were fed the same tokens."""

    epsilon: tuple[tuple[float, ...], ...]
    """The largest difference of scores."""
    margin: tuple[tuple[float, ...], ...]
    """How far the highest score is above the second one, without a cache; of scores with their noise where sampled."""
    differs: tuple[tuple[bool, ...], ...]
    """The two paths chose different tokens."""
    by_edges: int
    """How often they would have, had each token been chosen by one uniform number and sums of probabilities."""

    @property
    def steps(self) -> int:
        """Steps of all prompts."""
        return sum(len(each) for each in self.epsilon)

    @property
    def doubtful(self) -> int:
        """Steps whose margin is at most twice the difference: there, and only there, the highest score may change."""
        pairs = zip(self.epsilon, self.margin, strict=True)
        return sum(m <= 2 * e for errors, margins in pairs for e, m in zip(errors, margins, strict=True))

    @property
    def counts(self) -> tuple[int, ...]:
        """Differing tokens of each prompt."""
        return tuple(sum(each) for each in self.differs)

    @property
    def first(self) -> tuple[int | None, ...]:
        """The step (from 1) at which each prompt differs for the first time."""
        return tuple(each.index(True) + 1 if True in each else None for each in self.differs)

    @property
    def outside_doubt(self) -> int:
        """Differing tokens at steps that are not doubtful: for the highest score there can be none."""
        rows = zip(self.epsilon, self.margin, self.differs, strict=True)
        return sum(d and m > 2 * e for es, ms, ds in rows for e, m, d in zip(es, ms, ds, strict=True))


def prepared(machine: Decoder, texts: Subject, document: int, prompts: int, tokens: int) -> list[PageWriter]:
    """For each prompt two sequences: one that computed all at once, then one on a cached document. All have the
    prompt but for its last token."""
    doc = list(texts.document[:document])
    kv, tables = room(machine, 2 * prompts + 1, tokens)
    *writers, source = (PageWriter(machine, kv, table) for table in tables)
    plain, cached = writers[:prompts], writers[prompts:]
    source.feed([*doc, *texts.questions[0][:OTHER]], logits=0)  # an earlier request, of another length
    for writer, question in zip(plain, texts.questions, strict=False):
        writer.feed([*doc, *question[:-1]], logits=0)
    for writer in cached:
        for page, target in zip(source.pages[: -(-document // kv.page_size)], writer.pages, strict=False):
            kv.copy(page, target)
        writer.length = document
    for writer, question in zip(cached, texts.questions, strict=False):
        # The tail page may hold the earlier request's question too: what comes now overwrites it.
        writer.feed(question[:-1], logits=0)
    return writers


def trial(writers: Sequence[PageWriter], texts: Subject, *, steps: int, sampled: bool, seed: int) -> PathTrial:
    """Generate with both paths in one batch, both fed what the plain path chose.

    Sampling takes the highest score plus noise (Gumbel's), which is the same for both paths, token by token.
    ``writers`` are those of :func:`prepared`, and are as they were afterwards.
    """
    prompts = len(writers) // 2
    lengths = [writer.length for writer in writers]
    generator = torch.Generator().manual_seed(seed)
    by_edges = 0
    last = [question[-1] for question in texts.questions[:prompts]]
    epsilon: list[list[float]] = []
    margin: list[list[float]] = []
    differs: list[list[bool]] = []
    for _ in range(steps):
        scores = feed_together(writers, [[token] for token in last * 2])
        plain, cached = scores[:prompts], scores[prompts:]
        epsilon.append((plain - cached).abs().amax(-1).tolist())
        if sampled:
            uniform = torch.rand(prompts, generator=generator, dtype=torch.float64)
            one, two = (draw(torch.softmax(each.double(), -1), uniform) for each in (plain, cached))
            by_edges += int((one != two).sum())
            noise = -torch.log(torch.empty_like(plain).exponential_(generator=generator))
            plain, cached = plain + noise, cached + noise
        chosen, other = plain.argmax(-1), cached.argmax(-1)
        top = plain.topk(2).values
        margin.append((top[:, 0] - top[:, 1]).tolist())
        differs.append((chosen != other).tolist())
        last = chosen.tolist()
    for writer, length in zip(writers, lengths, strict=True):
        writer.length = length
    return PathTrial(_by_prompt(epsilon), _by_prompt(margin), _by_prompt(differs), by_edges)


def _by_prompt(by_step: list[list[Cell]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(zip(*by_step, strict=True))


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    texts = subject(settings.weights)
    document, prompts = (240, 2) if settings.brief else (DOCUMENT, 5)
    figures: list[MeasuredFigure] = []
    rows: list[tuple[Value, ...]] = []
    series = []
    for name, dtype, most in (("fp32", torch.float32, STEPS_FP32), ("bf16", torch.bfloat16, STEPS)):
        machine = model(settings.weights, dtype)
        steps = 12 if settings.brief else most
        settings.say(f"{name}, reading the prompts")
        writers = prepared(machine, texts, document, prompts, document + 30 + steps)
        for how, sampled in (("greedy", False), ("sampled", True)):
            settings.say(f"{name}, {how}")
            made = trial(writers, texts, steps=steps, sampled=sampled, seed=settings.seed)
            errors = [e for each in made.epsilon for e in each]
            if not sampled:
                figures += [
                    MeasuredFigure(f"{name}: ε, median", median(errors)),
                    MeasuredFigure(f"{name}: ε, maximum", max(errors)),
                    MeasuredFigure(f"{name}: steps with m ≤ 2ε", made.doubtful),
                    MeasuredFigure(f"{name}: greedy tokens that differ outside m ≤ 2ε", made.outside_doubt),
                ]
            figures.append(MeasuredFigure(f"{name}, {how}: tokens that differ", sum(made.counts)))
            if name == "bf16":
                if sampled:
                    figures.append(MeasuredFigure("bf16, sums of probabilities: tokens that differ", made.by_edges))
                found = sorted(place for place in made.first if place is not None)
                figures += [
                    MeasuredFigure(f"{how}: prompts with a difference", len(found)),
                    MeasuredFigure(f"{how}: steps of the first differences", ", ".join(map(str, found)) or "none"),
                    MeasuredFigure(f"{how}: differences by prompt", ", ".join(map(str, made.counts))),
                ]
                both = [sum(each) for each in zip(*made.differs, strict=True)]
                total = tuple((float(i), float(n)) for i, n in enumerate(accumulate(both), start=1))
                series.append(Series(how, total))
            rows.append((f"{name}, {how}", made.steps, median(errors), max(errors), made.doubtful, sum(made.counts)))
    return Findings(
        figures=tuple(figures),
        tables=(
            ResultTable(
                f"{texts.name}: {prompts} prompts on {document:,} tokens, cached against not cached",
                ("", "steps", "ε, median", "ε, maximum", "steps with m ≤ 2ε", "tokens that differ"),
                tuple(rows),
            ),
        ),
        plots=(LinePlot("bf16: tokens that differ, all prompts", "step", "tokens so far", tuple(series)),),
        notes=(
            "Both paths are fed the same tokens, so that one difference does not make the next ones.",
            (
                "Common random numbers are one for each token of the vocabulary: the highest score plus noise wins. "
                "One number for each step, held against sums of probabilities, changes far more tokens, as sums "
                "move with every score before them."
            ),
        ),
    )


def _by_machine(value: Value) -> PublishedFigure:
    return PublishedFigure(value, Holds.MACHINE)


EXPERIMENT = Experiment(
    name="steps",
    title="Small differences, small margins, other tokens",
    meaning=(
        "A difference of ε in the scores can change the highest one only where its margin is at most 2ε. In fp32 such "
        "steps are rare, in bf16 they are not, and some tokens differ. It establishes the bound, and counts for these "
        "prompts. Another token is not a worse one: neither path is the true one, and counts depend on the machine."
    ),
    run=run,
    published={
        "fp32: ε, median": _by_machine(1.4e-5),
        "fp32: ε, maximum": _by_machine(5.4e-5),
        "bf16: ε, median": _by_machine(0.26),
        "bf16: ε, maximum": _by_machine(1.0),
        "fp32: steps with m ≤ 2ε": _by_machine(0),
        "bf16: steps with m ≤ 2ε": _by_machine(95),
        "fp32: greedy tokens that differ outside m ≤ 2ε": PublishedFigure(0),
        "bf16: greedy tokens that differ outside m ≤ 2ε": PublishedFigure(0),
        "fp32, greedy: tokens that differ": _by_machine(0),
        "fp32, sampled: tokens that differ": _by_machine(0),
        "bf16, greedy: tokens that differ": _by_machine(8),
        "bf16, sampled: tokens that differ": _by_machine(9),
        "greedy: prompts with a difference": _by_machine(3),
        "greedy: steps of the first differences": _by_machine("22, 32, 54"),
        "greedy: differences by prompt": _by_machine("1, 0, 4, 3, 0"),
        "sampled: prompts with a difference": _by_machine(4),
        "sampled: steps of the first differences": _by_machine("8, 11, 20, 79"),
        "sampled: differences by prompt": _by_machine("2, 2, 2, 3, 0"),
    },
    needs_model=True,
)
