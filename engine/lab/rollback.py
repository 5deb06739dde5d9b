"""A verified draft: what is committed, what has K/V, and how pages and matrices go back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from agentsim.engine.decoder import Decoder
from agentsim.engine.kv_pages import KVPages
from agentsim.engine.lab.experiment import (
    Experiment,
    Findings,
    Holds,
    LabSettings,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
)
from agentsim.engine.lab.small_schemes import embed, recurrent
from agentsim.engine.lab.states.recurrent_state import LinearWeights, Recurrent
from agentsim.engine.lab.writer import PageWriter
from agentsim.engine.page_pool import PagePool
from agentsim.engine.weights.tiny import tiny_weights

COMMITTED = 9
"""Tokens 1–9 are known; the ninth was just selected and not yet processed."""
PAGE = 4


@dataclass(frozen=True, slots=True)
class VerifiedDraft:
    """One round: how many candidates were accepted, the token that the target adds, and where things stand then."""

    accepted: int
    added: int
    predictions: int
    committed: int
    computed: int
    """Positions with K/V before going back."""
    kept: int
    """Positions with K/V that stay."""


def verify(writer: PageWriter, last: int, candidates: Sequence[int]) -> VerifiedDraft:
    """Process the last committed token and all candidates at once, accept them while they are the target's choice,
    and take K/V of the others out of use."""
    committed = writer.length + 1
    choices = writer.feed([last, *candidates], logits=len(candidates) + 1).argmax(-1).tolist()
    accepted = 0
    while accepted < len(candidates) and choices[accepted] == candidates[accepted]:
        accepted += 1
    computed = writer.length
    writer.length = committed + accepted
    return VerifiedDraft(accepted, choices[accepted], len(choices), committed + accepted + 1, computed, writer.length)


@dataclass(frozen=True, slots=True)
class Pages:
    """Pages of the sequence: held for all candidates, held after going back, and back in the pool."""

    before: int
    after: int
    returned: int


def round_on_pages(seed: int) -> tuple[VerifiedDraft, Pages, bool, bool]:
    """The round on a small model: what it left, its pages, whether X came out as the target's own choice, and whether
    the next token is the one of ordinary generation."""
    model = Decoder(tiny_weights(), torch.float64, row_by_row=True)
    pool = PagePool(32, PAGE)
    kv = KVPages(model.config, 32, PAGE, torch.float64)
    generator = torch.Generator().manual_seed(seed)
    prompt = torch.randint(1, 256, (COMMITTED,), generator=generator).tolist()
    ordinary = PageWriter(model, kv, pool.allocate(5))
    ordinary.feed(prompt[:-1], logits=0)
    a, b, x, after_x = ordinary.generate(prompt[-1], 4)
    writer = PageWriter(model, kv, pool.allocate(pool.pages_for(COMMITTED + 4)))
    writer.feed(prompt[:-1], logits=0)
    done = verify(writer, prompt[-1], [a, b, (x + 1) % 256, 7])
    needed = pool.pages_for(done.kept)
    free = len(pool.free)
    pool.release(writer.pages[needed:])
    pages = Pages(len(writer.pages), needed, len(pool.free) - free)
    writer.pages = writer.pages[:needed]
    following = int(writer.feed([done.added])[-1].argmax())
    return done, pages, done.added == x, following == after_x


def where_things_stand(done: VerifiedDraft, candidates: Sequence[str], added: str) -> ResultTable:
    """What the round left at each position: told by what was counted, candidates by their names."""
    first = COMMITTED + 1
    named = dict(enumerate(candidates, first))
    committed = {at: name for at, name in named.items() if at < first + done.accepted} | {done.committed: added}
    places = range(first, max(done.computed, done.committed) + 1)
    kept = {at: name if at <= done.kept else "not yet" for at, name in committed.items()}
    accepted = " and ".join(candidates[: done.accepted]) or "none"
    return ResultTable(
        f"After verifying {', '.join(candidates)}: {accepted} accepted, then {added}",
        ("position", f"1–{COMMITTED}", *map(str, places)),
        (
            ("committed", "there", *(committed.get(at) for at in places)),
            ("K/V", "there", *(kept.get(at) for at in places)),
            ("out of use", None, *(named.get(at) if at > done.kept else None for at in places)),
        ),
    )


def ways_back(seed: int) -> dict[str, float]:
    """Matrices after four candidates, taken back to after the second: the largest difference to matrices that never
    saw the other two, by each way."""
    tokens = list(range(COMMITTED))
    candidates = [50, 51, 52, 53]
    fresh = recurrent(seed)
    wanted = fresh.append(embed([*tokens, 50, 51, 99]))[-1]

    def left(state_after: torch.Tensor) -> float:
        return float((state_after[-1] - wanted).abs().max() / wanted.abs().max())

    model = recurrent(seed)
    model.append(embed(tokens))
    before = model.snapshot()
    model.append(embed(candidates[:2]))
    between = model.snapshot()
    model.append(embed(candidates[2:]))
    nothing = left(model.append(embed([99])))
    model.restore(between)
    by_snapshot = left(model.append(embed([99])))
    model.restore(before)
    model.append(embed(candidates[:2]))
    by_replay = left(model.append(embed([99])))
    return {
        "without going back": nothing,
        "snapshot after B": by_snapshot,
        "snapshot before A, A and B again": by_replay,
    }


def undone(seed: int, dtype: torch.dtype) -> tuple[float, bool]:
    """Subtract what C and D added, in one layer: the largest difference to before, and whether all bits are back."""
    generator = torch.Generator().manual_seed(seed)
    state = Recurrent(LinearWeights.drawn(generator, dim=16, key_dim=8, value_dim=12, dtype=dtype))
    keys, values = state.contributions(torch.randn(40, 16, generator=generator, dtype=torch.float64).to(dtype))
    writes = list(zip(keys, values, strict=True))
    for key, value in writes[:-2]:
        state.add(key, value)
    before = state.matrix.clone()
    for key, value in writes[-2:]:
        state.add(key, value)
    for key, value in reversed(writes[-2:]):
        state.subtract(key, value)
    return float((state.matrix - before).abs().max()), bool(torch.equal(state.matrix, before))


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    done, pages, own_choice, same_next = round_on_pages(settings.seed)
    ways = ways_back(settings.seed)
    error, bits = undone(settings.seed, torch.float32)
    return Findings(
        figures=(
            MeasuredFigure("candidates accepted", done.accepted),
            MeasuredFigure("predictions of the verifying pass", done.predictions),
            MeasuredFigure("X is the target's own choice", own_choice),
            MeasuredFigure("committed up to", done.committed),
            MeasuredFigure("K/V computed up to", done.computed),
            MeasuredFigure("K/V usable up to", done.kept),
            MeasuredFigure("the token after X is that of ordinary generation", same_next),
            MeasuredFigure("pages of four tokens, before and after", f"{pages.before}, {pages.after}"),
            MeasuredFigure("pages back in the pool", pages.returned),
            *(MeasuredFigure(f"matrices: {way}, difference", value) for way, value in ways.items()),
            MeasuredFigure("matrices: C and D subtracted, difference, fp32", error),
            MeasuredFigure("matrices: C and D subtracted, all bits back", bits),
        ),
        tables=(where_things_stand(done, "ABCD", "X"),),
    )


EXPERIMENT = Experiment(
    name="rollback",
    title="What is committed, what has K/V, and how to go back",
    meaning=(
        "After a round, one more token is committed than has K/V: the target's own choice was never processed. Records "
        "of rejected candidates are left out; a matrix needs a copy or a replay. It establishes positions, pages and "
        "exactness on a small model. It does not establish that drafting pays."
    ),
    run=run,
    published={
        "candidates accepted": PublishedFigure(2),
        "predictions of the verifying pass": PublishedFigure(5),
        "committed up to": PublishedFigure(12),
        "K/V computed up to": PublishedFigure(13),
        "K/V usable up to": PublishedFigure(11),
        "the token after X is that of ordinary generation": PublishedFigure(True),
        "matrices: snapshot after B, difference": PublishedFigure(1e-12, Holds.AT_MOST),
        "matrices: snapshot before A, A and B again, difference": PublishedFigure(1e-12, Holds.AT_MOST),
        "matrices: C and D subtracted, all bits back": PublishedFigure(False),
    },
)
