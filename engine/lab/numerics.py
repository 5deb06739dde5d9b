"""Seven pairs of computations that are the same on paper: how far apart they are in two precisions."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

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
    Value,
)
from agentsim.engine.lab.subject import Subject, model, subject, weights
from agentsim.engine.lab.writer import PageWriter, feed_together, room
from agentsim.engine.weights.weights import Weights

DOCUMENT, QUESTION = 1_200, 30
PATHS = {
    "①": "the same computation twice",
    "②": "cached document, against all at once",
    "③": "document, then question, no cache, against all at once",
    "④": "cached document, against document, then question",
    "⑤": "the document's K/V from request 1 against request 2",
    "⑥": "first product of the last rows, inside all rows or alone",
    "⑦": "a sequence alone, against batched with another",
}


@dataclass(frozen=True, slots=True)
class PathDifference:
    """How far apart two paths are: the largest difference, the median of relative differences, all bits equal."""

    largest: float
    median: float
    bitwise: bool


def compare(ours: Tensor, theirs: Tensor) -> PathDifference:
    """Two tensors that should be the same."""
    a, b = ours.double(), theirs.double()
    difference = (a - b).abs()
    scale = b.abs().clamp_min(1e-30)
    return PathDifference(
        float(difference.max()), float((difference / scale).median()), bool(torch.equal(ours, theirs))
    )


def seven_paths(
    machine: Decoder, numbers: Weights, texts: Subject, document: int = DOCUMENT
) -> dict[str, PathDifference]:
    """Run all paths: request 1 is the document and a short question, request 2 the document and another one."""
    doc = list(texts.document[:document])
    first, second = list(texts.questions[0][:17]), list(texts.questions[1][:QUESTION])
    total = document + QUESTION
    kv, tables = room(machine, 5, total)
    whole, again, split, one, other = (PageWriter(machine, kv, table) for table in tables)
    all_at_once = whole.feed(doc + second)
    twice = again.feed(doc + second)
    split.feed(doc, logits=0)
    in_two = split.feed(second)
    one.feed(doc + first, logits=0)
    kept = one.rows(-1, 0, document)
    one.length = document  # what request 1 left of the document is the cache
    cached = one.feed(second)
    full = whole.rows(-1, 0, document)
    again.length = 0
    batched = feed_together([again, other], [doc + second, doc[: document // 2] + first])[:1]
    return {
        "①": compare(twice, all_at_once),
        "②": compare(cached, all_at_once),
        "③": compare(in_two, all_at_once),
        "④": compare(cached, in_two),
        "⑤": compare(torch.stack(kept), torch.stack(full)),
        "⑥": first_product(numbers, machine.dtype, doc + second),
        "⑦": compare(batched, all_at_once),
    }


def first_product(numbers: Weights, dtype: torch.dtype, tokens: list[int]) -> PathDifference:
    """The first matrix product of the first layer for the last rows, computed with all rows and without the others."""
    embed, norm, query = (numbers.tensors[name].to(dtype) for name in ("embed", "layers.0.attn_norm", "layers.0.q"))
    rows = functional.rms_norm(embed[torch.tensor(tokens)], (embed.shape[1],), norm, numbers.config.norm_eps)
    with torch.inference_mode():
        return compare(functional.linear(rows, query)[-QUESTION:], functional.linear(rows[-QUESTION:], query))


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    texts = subject(settings.weights)
    document = 240 if settings.brief else DOCUMENT
    found: dict[str, dict[str, PathDifference]] = {}
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        settings.say(name)
        found[name] = seven_paths(model(settings.weights, dtype), weights(settings.weights), texts, document)
    figures = [
        MeasuredFigure(f"{mark} {name}: largest difference", found[name][mark].largest)
        for mark in PATHS
        for name in found
    ]
    figures += [
        MeasuredFigure("① all bits equal", found["fp32"]["①"].bitwise and found["bf16"]["①"].bitwise),
        MeasuredFigure("⑤ bf16: median of relative differences", found["bf16"]["⑤"].median),
    ]
    rows: list[tuple[Value, ...]] = [
        (f"{mark} {what}", _shown(found["fp32"][mark]), _shown(found["bf16"][mark])) for mark, what in PATHS.items()
    ]
    bars = tuple(
        (f"{mark} {name}", found[name][mark].largest) for mark in PATHS for name in found if found[name][mark].largest
    )
    return Findings(
        figures=tuple(figures),
        tables=(
            ResultTable(
                f"{texts.name}: {document:,} tokens and {QUESTION}; largest difference of scores (⑤ K/V, ⑥ products)",
                ("paths", "fp32", "bf16"),
                tuple(rows),
            ),
        ),
        plots=(BarPlot("Paths that differ at all", "largest difference", bars, log_y=True),) if bars else (),
    )


def _shown(pair: PathDifference) -> Value:
    return "all bits equal" if pair.bitwise else pair.largest


def _by_machine(value: Value) -> PublishedFigure:
    return PublishedFigure(value, Holds.MACHINE)


EXPERIMENT = Experiment(
    name="numerics",
    title="Seven pairs of computation paths on a real model",
    meaning=(
        "The same mathematics in another order of additions gives other last digits: a cache changes the shape of the "
        "products, and with it the rounding. It establishes that a valid cache and a plain split differ alike, and how "
        "much on this machine. It does not establish these digits for other machines, libraries or models, and a "
        "difference is no error of the cache."
    ),
    run=run,
    published={
        "① all bits equal": PublishedFigure(True),
        "② fp32: largest difference": _by_machine(3.7e-5),
        "② bf16: largest difference": _by_machine(0.33),
        "③ fp32: largest difference": _by_machine(3.7e-5),
        "③ bf16: largest difference": _by_machine(0.33),
        "④ fp32: largest difference": _by_machine(0.0),
        "④ bf16: largest difference": _by_machine(0.37),
        "⑤ fp32: largest difference": _by_machine(0.0),
        "⑤ bf16: median of relative differences": _by_machine(0.006),
        "⑥ fp32: largest difference": _by_machine(9.5e-6),
        "⑦ fp32: largest difference": _by_machine(3.8e-6),
        "⑦ bf16: largest difference": _by_machine(0.0),
    },
    needs_model=True,
)
