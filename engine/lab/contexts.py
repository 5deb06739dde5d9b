"""K/V of a document, used where it belongs and where it does not: what becomes of the next token's distribution."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from agentsim.engine.decoder import Decoder
from agentsim.engine.lab.experiment import (
    BarPlot,
    Experiment,
    Findings,
    Holds,
    LabSettings,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
)
from agentsim.engine.lab.subject import Subject, model, subject
from agentsim.engine.lab.writer import PageWriter, room

BEFORE, SHORTER, DOCUMENT = 200, 120, 800
"""Tokens of what stands before the document, of a shorter beginning, and of the document."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Averages over questions and their positions: KL from the right distribution, the largest difference of scores,
    and positions whose most likely token changed."""

    divergence: float
    largest: float
    changed: int
    positions: int


def splice(source: PageWriter, target: PageWriter, first: int, count: int) -> None:
    """Put the K/V of ``count`` positions of one sequence, from ``first`` on, behind those of another one, as they are.
    Nothing is recomputed: that is what makes it invalid."""
    size = source.kv.page_size
    for layer in range(source.model.config.layers):
        keys, values = source.rows(layer, first, first + count)
        keys, values = keys.clone(), values.clone()
        spots = torch.arange(target.length, target.length + count)
        slots = torch.tensor(target.pages)[spots // size] * size + spots % size
        target.kv.k[layer].flatten(0, 1)[slots] = keys
        target.kv.v[layer].flatten(0, 1)[slots] = values
    target.length += count


def effects(machine: Decoder, texts: Subject, *, before: int, shorter: int, document: int) -> dict[str, Effect]:
    """Ask the questions after four beginnings: the cached one, the right one replayed, and two that the document's K/V
    was not computed behind."""
    beginning = list(texts.document[:before])
    doc = list(texts.document[before : before + document])
    other = list(texts.document[before + document :])[:before]
    questions = [list(question) for question in texts.questions]
    kv, tables = room(machine, 4, before + document + max(map(len, questions)))
    home, true, spliced, fresh = (PageWriter(machine, kv, table) for table in tables)
    home.feed(beginning + doc, logits=0)

    def ask(writer: PageWriter, question: list[int]) -> Tensor:
        length = writer.length
        scores = writer.feed(question, logits=len(question))
        writer.length = length
        return scores

    cached = [ask(home, question) for question in questions]
    whole = []
    for question in questions:
        true.length = 0
        whole.append(true.feed(beginning + doc + question, logits=len(question)))
    found = {"valid cache": _effect(whole, cached)}
    for name, start in (("other text, same length", other), ("other text, shorter", other[:shorter])):
        spliced.length, true.length, fresh.length = 0, 0, 0
        spliced.feed(start, logits=0)
        splice(home, spliced, before, document)
        true.feed(start + doc, logits=0)
        right = [ask(true, question) for question in questions]
        found[name] = _effect(right, [ask(spliced, question) for question in questions])
        fresh.feed(start + doc, logits=0)
        found[f"{name}: replayed"] = _effect(right, [ask(fresh, question) for question in questions])
    return found


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    texts = subject(settings.weights)
    before, shorter, document = (60, 36, 160) if settings.brief else (BEFORE, SHORTER, DOCUMENT)
    found = effects(model(settings.weights, torch.float32), texts, before=before, shorter=shorter, document=document)
    valid, same, shorter_one = (
        found[name].divergence for name in ("valid cache", "other text, same length", "other text, shorter")
    )
    return Findings(
        figures=(
            MeasuredFigure("valid cache: KL", valid),
            MeasuredFigure("other text of the same length: KL", same),
            MeasuredFigure("other text of another length: KL", shorter_one),
            MeasuredFigure("valid far below the same length", valid < same / 1_000),
            MeasuredFigure("same length below another length", same < shorter_one),
            MeasuredFigure("valid cache: most likely token changed", found["valid cache"].changed),
            MeasuredFigure("invalid splice changes scores by", found["other text, same length"].largest),
            MeasuredFigure("full replay: KL", found["other text, same length: replayed"].divergence),
            MeasuredFigure("full replay: largest difference", found["other text, same length: replayed"].largest),
        ),
        tables=(
            ResultTable(
                f"{texts.name}, fp32: {document} tokens of K/V computed behind {before} others; five questions",
                ("used behind", "KL, mean", "largest difference of scores", "most likely token changed", "positions"),
                tuple((name, e.divergence, e.largest, e.changed, e.positions) for name, e in found.items()),
            ),
        ),
        plots=(
            BarPlot(
                "KL from the right distribution",
                "nats",
                tuple((name, effect.divergence) for name, effect in found.items() if effect.divergence > 0),
                log_y=True,
            ),
        ),
    )


def _effect(right: list[Tensor], ours: list[Tensor]) -> Effect:
    a, b = (torch.cat(each).double() for each in (right, ours))
    p, q = torch.log_softmax(a, -1), torch.log_softmax(b, -1)
    # Rounding may leave a hair below zero where both are the same.
    divergence = float(((p.exp() * (p - q)).sum(-1)).mean().clamp_min(0))
    changed = int((a.argmax(-1) != b.argmax(-1)).sum())
    return Effect(divergence, float((a - b).abs().max()), changed, len(a))


EXPERIMENT = Experiment(
    name="contexts",
    title="A valid cache, and K/V from elsewhere",
    meaning=(
        "K/V of a document holds what stood before it. Used behind another text it gives another distribution, and "
        "more so at other positions; recomputed there, it gives the right one. It establishes the order of the three "
        "effects on this model. It does not say that no repair short of a replay exists, nor that a given answer turns "
        "out wrong."
    ),
    run=run,
    published={
        "valid cache: KL": PublishedFigure(5.8e-8, Holds.MACHINE),
        "other text of the same length: KL": PublishedFigure(3.1e-2, Holds.MACHINE),
        "other text of another length: KL": PublishedFigure(6.0e-2, Holds.MACHINE),
        "valid far below the same length": PublishedFigure(True),
        "same length below another length": PublishedFigure(True),
        "full replay: KL": PublishedFigure(0.0, Holds.CLOSELY, 1e-12),
    },
    needs_model=True,
)
