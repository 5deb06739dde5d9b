"""Four bits for K alone, for V alone, for both: what each does to a model's answers, and what reading them costs."""

from __future__ import annotations

import time
from statistics import median

import torch
from torch import Tensor

from agentsim.engine.decoder import Decoder
from agentsim.engine.forward_batch import Batch, TokenRun
from agentsim.engine.kv_pages import KVPages
from agentsim.engine.lab.experiment import (
    Experiment,
    Findings,
    LabSettings,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
    Value,
)
from agentsim.engine.lab.subject import model, subject
from agentsim.engine.lab.writer import PageWriter
from agentsim.kernels import pack_int4, paged_attention, paged_attention_int4, unpack_int4

PAGE, GROUP = 16, 16
WAYS = {"K": (True, False), "V": (False, True), "K and V": (True, True)}


class RoundedKV(KVPages):
    """Pages whose keys, or values, or both went through four bits before they were kept."""

    def __init__(self, machine: Decoder, pages: int, keys: bool, values: bool) -> None:
        super().__init__(machine.config, pages, PAGE, machine.dtype, machine.device)
        self._chosen = (keys, values)

    def write(self, layer: int, k: Tensor, v: Tensor, slots: Tensor) -> None:
        """See :class:`agentsim.engine.kv_pages.PageRoom`."""
        kept = [rounded(part) if chosen else part for part, chosen in zip((k, v), self._chosen, strict=True)]
        super().write(layer, kept[0], kept[1], slots)


def rounded(numbers: Tensor) -> Tensor:
    """Numbers as they come back from four bits, in groups of 16 or of a smaller head."""
    return unpack_int4(*pack_int4(numbers.contiguous(), min(GROUP, numbers.shape[-1])), numbers.dtype)


def scored(machine: Decoder, tokens: list[int], keys: bool, values: bool) -> Tensor:
    """Log-probabilities of what follows each token of a text, each token processed behind the kept ones before it."""
    pages = -(-len(tokens) // PAGE)
    writer = PageWriter(machine, RoundedKV(machine, pages, keys, values), range(pages))
    return torch.log_softmax(writer.feed(tokens, logits=len(tokens)), -1)


def divergence(right: Tensor, ours: Tensor) -> float:
    """The mean divergence of distributions from the right ones, both as logarithms."""
    return float((right.exp() * (right - ours)).sum(-1).mean())


def reading(keys: int, tries: int) -> dict[str, float]:
    """Milliseconds of one token's attention over so many keys, three ways, in turns: whole numbers; four bits read as
    they are needed; four bits reconstructed as a whole first."""
    generator = torch.Generator().manual_seed(1)
    kv_heads, size = 8, 64
    k, v = (torch.randn(keys // PAGE, PAGE, kv_heads, size, generator=generator) for _ in "kv")
    q = torch.randn(1, 32, size, generator=generator)
    batch = Batch.of([TokenRun([1], keys - 1, range(keys // PAGE))], PAGE)
    rest = (batch.block_tables, batch.q_starts, batch.kv_lengths)
    (k4, ks), (v4, vs) = pack_int4(k), pack_int4(v)

    def reconstructed() -> Tensor:
        return paged_attention(q, unpack_int4(k4, ks, q.dtype), unpack_int4(v4, vs, q.dtype), *rest, scale=0.125)

    ways = {
        "whole numbers": lambda: paged_attention(q, k, v, *rest, scale=0.125),
        "four bits": lambda: paged_attention_int4(q, k4, ks, v4, vs, *rest, scale=0.125),
        "reconstructed first": reconstructed,
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(tries + 1):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            if number:
                found[name].append((time.perf_counter() - began) * 1e3)
    return {name: median(times) for name, times in found.items()}


def workspace(keys: int, kv_heads: int, size: int, tile: int = 64) -> tuple[int, int]:
    """Bytes of 16-bit K and V that stand reconstructed at once: of the whole range, and of one tile."""
    whole = 2 * keys * kv_heads * size * 2
    return whole, whole // keys * min(tile, keys)


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    machine, texts = model(settings.weights, torch.float32), subject(settings.weights)
    tokens = list(texts.document[: 120 if settings.brief else 600])
    settings.say("whole numbers")
    right = scored(machine, tokens, False, False)
    rows: list[tuple[Value, ...]] = []
    far: dict[str, float] = {}
    for name, (keys, values) in WAYS.items():
        settings.say(f"{name} in four bits")
        ours = scored(machine, tokens, keys, values)
        far[name] = divergence(right, ours)
        same = int((right.argmax(-1) == ours.argmax(-1)).sum())
        rows.append((name, far[name], same, len(tokens) - same))
    times = reading(1_024 if settings.brief else 8_192, 3 if settings.brief else 15)
    whole, tile = workspace(8_192, 8, 64)
    figures = [MeasuredFigure(f"KL, {name} in four bits", value) for name, value in far.items()]
    figures += [
        MeasuredFigure("nothing in four bits, KL", divergence(right, scored(machine, tokens, False, False))),
        MeasuredFigure("bytes of K/V in four bits over 16 bits", 12 / 32),
        MeasuredFigure("reconstructed first: 16-bit K and V of 8,192 tokens at once", whole, "bytes"),
        MeasuredFigure("tile by tile: the same of 64 tokens", tile, "bytes"),
        *(MeasuredFigure(f"one token's attention, {name}", value, "ms") for name, value in times.items()),
    ]
    columns = ("in four bits", "KL", "likeliest tokens the same", "others")
    return Findings(
        figures=tuple(figures),
        tables=(ResultTable(f"{texts.name}: {len(tokens)} tokens of text, float32", columns, tuple(rows)),),
        notes=("Times are of this machine's reference code: on a CPU unpacking is work that whole numbers spare.",),
    )


EXPERIMENT = Experiment(
    name="keys-and-values",
    title="Four bits for K, for V, for both; and smaller is not faster",
    meaning=(
        "An error in K shifts the shares of attention, one in V the sum itself, so that the same four bits do not cost "
        "the same. It establishes both on one model and one text, and that fewer bytes may take longer where unpacking "
        "is the work. It does not establish what other models or formats do, nor a GPU's times."
    ),
    run=run,
    published={
        "nothing in four bits, KL": PublishedFigure(0.0),
        "bytes of K/V in four bits over 16 bits": PublishedFigure(0.375),
        "reconstructed first: 16-bit K and V of 8,192 tokens at once": PublishedFigure(16 << 20),
        "tile by tile: the same of 64 tokens": PublishedFigure(1 << 17),
    },
    needs_model=True,
)
