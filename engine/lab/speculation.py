"""Speculative decoding of a real model: acceptance against its formula, and a ledger of time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from agentsim.engine.decoder import Decoder
from agentsim.engine.lab.drafts import ModelDraft, NGramDraft, truncated
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
from agentsim.engine.lab.resampling import acceptance, draw, verify
from agentsim.engine.lab.rollback import verify as verify_greedily
from agentsim.engine.lab.subject import model, subject, weights
from agentsim.engine.lab.writer import PageWriter, room

CANDIDATES = 4
DOCUMENT, NEW_TOKENS, POSITIONS, ROUNDS = 600, 48, 128, 32


class Draft(Protocol):
    """Where candidates come from."""

    def propose(self, tokens: Sequence[int], count: int) -> list[int]:
        """At most ``count`` candidates for what follows the tokens."""
        ...


@dataclass(frozen=True, slots=True)
class TimeLedger:
    """Where the time of a generation went. Milliseconds."""

    passes: int
    target: float
    draft: float
    tokens: int

    @property
    def total(self) -> float:
        """All of it."""
        return self.target + self.draft


def ledger(passes: int, per_pass: float, *, drafted: int = 0, per_draft: float = 0.0, tokens: int) -> TimeLedger:
    """The ledger of given times: so many passes of the target, so many steps of the draft."""
    return TimeLedger(passes, passes * per_pass, drafted * per_draft, tokens)


def generate(machine: Decoder, prompt: Sequence[int], count: int, draft: Draft | None) -> tuple[list[int], TimeLedger]:
    """Tokens after a prompt, greedily; the prompt's own time is not counted."""
    kv, tables = room(machine, 1, len(prompt) + count + CANDIDATES + 1)
    writer = PageWriter(machine, kv, tables[0])
    writer.feed(prompt[:-1], logits=0)
    tokens = list(prompt)
    if draft is not None:
        draft.propose(tokens, 1)  # its own reading of the prompt is not counted either
    passes, target, drafting = 0, 0.0, 0.0
    while len(tokens) < len(prompt) + count:
        started = time.perf_counter()
        candidates = draft.propose(tokens, CANDIDATES) if draft is not None else []
        between = time.perf_counter()
        done = verify_greedily(writer, tokens[-1], candidates)
        drafting += between - started
        target += time.perf_counter() - between
        passes += 1
        tokens += [*candidates[: done.accepted], done.added]
    made = tokens[len(prompt) : len(prompt) + count]
    return made, TimeLedger(passes, 1_000 * target, 1_000 * drafting, len(made))


def measured_acceptance(target: Tensor, draft: Tensor, rounds: int, seed: int) -> tuple[float, float, float]:
    """For scores of the same positions [N, V]: 1 − TV averaged over positions, the share of proposals accepted in
    ``rounds`` draws at each, and three standard errors of that share."""
    p, d = (torch.softmax(scores.double(), -1) for scores in (target, draft))
    generator = torch.Generator().manual_seed(seed)
    chances = acceptance(p, d)
    kept = 0
    for _ in range(rounds):
        propose, accept, again = torch.rand(3, len(p), generator=generator, dtype=torch.float64)
        kept += int(verify(p, d, draw(d, propose), accept, again)[1].sum())
    draws = rounds * len(p)
    error = float((chances * (1 - chances)).sum() / len(p) / draws) ** 0.5
    return float(chances.mean()), kept / draws, 3 * error


def scores_of(machine: Decoder, tokens: Sequence[int], positions: int) -> Tensor:
    """Scores after each of the last tokens."""
    kv, tables = room(machine, 1, len(tokens))
    return PageWriter(machine, kv, tables[0]).feed(tokens, logits=positions)


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    texts = subject(settings.weights)
    machine = model(settings.weights, torch.float32)
    layers = machine.config.layers
    document, count, positions, rounds = (
        (120, 12, 24, 8) if settings.brief else (DOCUMENT, NEW_TOKENS, POSITIONS, ROUNDS)
    )
    prompt = [*texts.document[:document], *texts.questions[0]]
    cuts = sorted({max(1, layers * share // 30) for share in (10, 20, 28)})
    target = scores_of(machine, prompt, positions)
    figures: list[MeasuredFigure] = []
    rows: list[tuple[Value, ...]] = []
    small = {cut: truncated(weights(settings.weights), cut, torch.float32) for cut in cuts}
    agree = True
    for cut, cut_model in small.items():
        settings.say(f"acceptance, {cut} layers")
        chance, share, error = measured_acceptance(
            target, scores_of(cut_model, prompt, positions), rounds, settings.seed
        )
        agree = agree and abs(chance - share) <= error
        rows.append((f"first {cut} of {layers} layers", chance, share, error))
    figures.append(MeasuredFigure("acceptance is 1 − TV within three standard errors", agree))
    drafts: dict[str, Draft | None] = {"ordinary": None, "n-grams of the text": NGramDraft()}
    last = cuts[-1] if len(cuts) > 1 else cuts[0]
    drafts[f"first {cuts[0]} layers"] = ModelDraft(small[cuts[0]], len(prompt) + count + 2 * CANDIDATES)
    if last != cuts[0]:
        drafts[f"first {last} layers"] = ModelDraft(small[last], len(prompt) + count + 2 * CANDIDATES)
    made: dict[str, tuple[list[int], TimeLedger]] = {}
    for name, draft in drafts.items():
        settings.say(name)
        made[name] = generate(machine, prompt, count, draft)
    plain_tokens, plain = made["ordinary"]
    same = all(tokens == plain_tokens for tokens, _ in made.values())
    ordinary, speculative = ledger(3, 30, tokens=3), ledger(1, 40, drafted=4, per_draft=1, tokens=3)
    figures += [
        MeasuredFigure("every draft leaves the target's own tokens", same),
        MeasuredFigure("worked ledger: ordinary", ordinary.total, "ms"),
        MeasuredFigure("worked ledger: speculative", speculative.total, "ms"),
        MeasuredFigure(
            "worked ledger: both commit", ordinary.tokens if ordinary.tokens == speculative.tokens else None, "tokens"
        ),
    ]
    ledgers = [("worked: ordinary", ordinary), ("worked: draft of four", speculative)]
    ledgers += [(f"measured: {name}", its) for name, (_, its) in made.items()]
    return Findings(
        figures=tuple(figures),
        tables=(
            ResultTable(
                f"{texts.name}: proposals of its first layers at {positions} positions, temperature 1",
                ("draft", "1 − TV", "accepted", "three standard errors"),
                tuple(rows),
            ),
            ResultTable(
                f"Ledger of time; measured: {count} tokens, drafts of {CANDIDATES}, fp32",
                ("generation", "tokens", "passes", "target, ms", "draft, ms", "total, ms", "tokens per pass",
                 "times as fast"),
                tuple(
                    (name, its.tokens, its.passes, its.target, its.draft, its.total, its.tokens / its.passes,
                     (ordinary if name.startswith("worked") else plain).total / its.total)
                    for name, its in ledgers
                ),
            ),
        ),
        plots=(BarPlot("Measured time of one token", "ms", tuple(
            (name, its.total / its.tokens) for name, (_, its) in made.items())),),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="speculation",
    title="Drafts for a real model: acceptance and time",
    meaning=(
        "Proposals are accepted as often as target and draft overlap, and greedy verification leaves exactly the "
        "tokens of ordinary generation. It establishes both on a real model, with a ledger of where time went. First "
        "layers of a model that was not trained to stop there make a poor draft, and a quiet machine's times are not a "
        "server's: no speedup follows from acceptance alone."
    ),
    run=run,
    published={
        "worked ledger: ordinary": PublishedFigure(90, Holds.CLOSELY, 0.0),
        "worked ledger: speculative": PublishedFigure(44, Holds.CLOSELY, 0.0),
        "worked ledger: both commit": PublishedFigure(3),
        "every draft leaves the target's own tokens": PublishedFigure(True),
        "acceptance is 1 − TV within three standard errors": PublishedFigure(True),
    },
    needs_model=True,
)
