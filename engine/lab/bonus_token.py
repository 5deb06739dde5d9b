"""What a round of drafting yields: the accepted candidates and one token more, whatever happens."""

from __future__ import annotations

import random

import torch

from agentsim.engine.decoder import Decoder
from agentsim.engine.kv_pages import KVPages
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
from agentsim.engine.lab.rollback import VerifiedDraft, verify
from agentsim.engine.lab.writer import PageWriter
from agentsim.engine.weights.tiny import tiny_weights

CANDIDATES, PAGE, PROMPT = 4, 16, 9


def expected_tokens(acceptance: float, candidates: int) -> float:
    """Tokens of a round: 1 + a + a² + … + a^k, each candidate accepted with probability a if those before it were."""
    return sum(acceptance**number for number in range(candidates + 1))


def simulated_tokens(acceptance: float, candidates: int, rounds: int, seed: int) -> float:
    """The same by drawing: accepted candidates until the first that is not, and one token of the target's own."""
    source = random.Random(seed)
    total = 0
    for _ in range(rounds):
        accepted = 0
        while accepted < candidates and source.random() < acceptance:
            accepted += 1
        total += accepted + 1
    return total / rounds


def rounds_of(seed: int) -> tuple[list[VerifiedDraft], list[int]]:
    """A round with all, two and none of four candidates right, on a small model; and the target's own five tokens."""
    model = Decoder(tiny_weights(), torch.float64, row_by_row=True)
    generator = torch.Generator().manual_seed(seed)
    prompt = torch.randint(1, 256, (PROMPT,), generator=generator).tolist()

    def fresh() -> PageWriter:
        writer = PageWriter(model, KVPages(model.config, 2, PAGE, torch.float64), range(2))
        writer.feed(prompt[:-1], logits=0)
        return writer

    own = fresh().generate(prompt[-1], CANDIDATES + 1)
    done = []
    for right in (4, 2, 0):
        candidates = [*own[:right], *((token + 1) % 256 for token in own[right:CANDIDATES])]
        done.append(verify(fresh(), prompt[-1], candidates))
    return done, own


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    (all_right, two, none), own = rounds_of(settings.seed)
    rounds = 2_000 if settings.brief else 50_000
    shares = [number / 20 for number in range(21)]
    rows: list[tuple[Value, ...]] = [
        (share, expected_tokens(share, CANDIDATES), simulated_tokens(share, CANDIDATES, rounds, settings.seed))
        for share in (0.0, 0.5, 0.8, 0.95, 1.0)
    ]
    far = max(abs(float(str(row[1])) - float(str(row[2]))) for row in rows)
    return Findings(
        figures=(
            MeasuredFigure("predictions of a pass over four candidates", all_right.predictions),
            MeasuredFigure("all four right: tokens of the round", all_right.accepted + 1),
            MeasuredFigure("all four right: the last is the target's own fifth", all_right.added == own[4]),
            MeasuredFigure("two right: tokens of the round", two.accepted + 1),
            MeasuredFigure("two right: the last is the target's own third", two.added == own[2]),
            MeasuredFigure("none right: tokens of the round", none.accepted + 1),
            MeasuredFigure("none right: the token is the target's own first", none.added == own[0]),
            MeasuredFigure("tokens a round at 80 % acceptance", expected_tokens(0.8, CANDIDATES)),
            MeasuredFigure("without the bonus token", expected_tokens(0.8, CANDIDATES) - 0.8**CANDIDATES),
            MeasuredFigure("drawn against expected, largest difference", far),
        ),
        tables=(ResultTable("Tokens a round of four candidates", ("acceptance", "expected", "drawn"), tuple(rows)),),
        plots=(
            LinePlot(
                "Tokens a round",
                "acceptance",
                "tokens",
                tuple(
                    Series(f"{count} candidates", tuple((share, expected_tokens(share, count)) for share in shares))
                    for count in (1, 2, 4, 8)
                ),
            ),
        ),
    )


EXPERIMENT = Experiment(
    name="bonus-token",
    title="One token more than was accepted",
    meaning=(
        "Verifying k candidates scores k + 1 places, so that a round yields one token of the target's own behind the "
        "accepted ones: a correction, or a bonus where all were right. It establishes counts and tokens on a small "
        "model, and the mean for independent acceptance. Real acceptance is not independent, and a round's time is "
        "not that of one token."
    ),
    run=run,
    published={
        "predictions of a pass over four candidates": PublishedFigure(5),
        "all four right: tokens of the round": PublishedFigure(5),
        "all four right: the last is the target's own fifth": PublishedFigure(True),
        "two right: tokens of the round": PublishedFigure(3),
        "two right: the last is the target's own third": PublishedFigure(True),
        "none right: tokens of the round": PublishedFigure(1),
        "none right: the token is the target's own first": PublishedFigure(True),
        "tokens a round at 80 % acceptance": PublishedFigure(3.3616, Holds.CLOSELY, 1e-9),
        "drawn against expected, largest difference": PublishedFigure(0.15, Holds.AT_MOST),
    },
)
