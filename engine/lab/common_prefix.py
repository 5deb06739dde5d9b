"""A document with three questions, at providers that keep different states: what each request reuses, and why."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

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
from agentsim.engine.lab.small_schemes import SMALL, WINDOW, embed
from agentsim.engine.lab.states.layer_stack import Stack
from agentsim.engine.lab.states.layer_state import Snapshot, Unrestorable

DOCUMENT = list(range(64))
QUESTIONS = {"A+B": [100, 101, 102, 103, 104, 105, 106], "A+C": [200, 201, 202, 203, 204, 205, 206, 207],
             "A+D": [300, 301, 302, 303, 304, 305]}  # fmt: skip


@dataclass(slots=True)
class _KeptPrompt:
    """What is left of a served request: its tokens, its state as it ended, and snapshots on the way."""

    tokens: list[int]
    state: Stack
    snapshots: list[Snapshot] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ReuseOutcome:
    """What became of a request: tokens reused, tokens replayed to rebuild windows, and how far the last token's output
    is from that of a run without any cache, as a share of its largest number."""

    reused: int
    replayed: int
    difference: float


class Restorer:
    """A provider that continues from what it kept. It snapshots at the end of every input and, when it sees that a
    prompt parts from an earlier one at a place it could not continue from, there too, on its way.

    ``bounded_replay``: tokens that may be replayed to rebuild windows where global K/V is there.
    """

    def __init__(self, build: Callable[[], Stack], *, snapshot_common: bool = True, bounded_replay: int = 0) -> None:
        self._build = build
        self._snapshot_common = snapshot_common
        self._replay = bounded_replay
        self._kept: list[_KeptPrompt] = []

    def serve(self, tokens: list[int]) -> ReuseOutcome:
        """Answer a prompt from what is kept, and keep what it leaves."""
        common, origin = max(
            ((_common(kept.tokens, tokens[:-1]), index) for index, kept in enumerate(self._kept)), default=(0, -1)
        )
        state, reused, replayed = self._start(origin, common, tokens)
        snapshots = []
        if self._snapshot_common and state.length < common:
            state.append(embed(tokens[state.length : common]))
        if self._snapshot_common and common:
            snapshots.append(state.snapshot())
        output = state.append(embed(tokens[state.length :]))
        snapshots.append(state.snapshot())
        self._kept.append(_KeptPrompt(tokens, state, snapshots))
        alone = self._build().append(embed(tokens))
        return ReuseOutcome(reused, replayed, float((output[-1] - alone[-1]).abs().max() / alone[-1].abs().max()))

    def _start(self, origin: int, common: int, tokens: list[int]) -> tuple[Stack, int, int]:
        """A state to go on from, how many tokens of the prompt it reuses, and how many were replayed."""
        if not common:
            return self._build(), 0, 0
        state = copy.deepcopy(self._kept[origin].state)
        try:
            state.truncate(common)
        except Unrestorable:
            pass
        else:
            return state, common, 0
        usable = [
            (snapshot.length, index, snapshot)
            for index, kept in enumerate(self._kept)
            for snapshot in kept.snapshots
            if snapshot.length <= _common(kept.tokens, tokens[:-1])
        ]
        if usable:
            length, index, snapshot = max(usable, key=lambda each: each[0])
            state = copy.deepcopy(self._kept[index].state)
            state.restore(snapshot)
            return state, length, 0
        if self._replay:
            count = min(self._replay, common)
            state.truncate_global(common)
            state.replay(embed(tokens[common - count : common]))
            return state, common - count, count
        return self._build(), 0, 0


PROVIDERS: dict[str, tuple[str, bool, int]] = {
    "full history": ("A", True, 0),
    "shared + windows, snapshots at input ends only": ("B", False, 0),
    "shared + windows, also where prompts part": ("B", True, 0),
    "shared + windows, bounded replay": ("B", True, WINDOW),
    "matrices, also where prompts part": ("C", True, 0),
}
"""Name, scheme, whether common prefixes get a snapshot, tokens of a bounded replay."""


def served(name: str, seed: int) -> tuple[ReuseOutcome, ...]:
    """The three requests at one of the providers."""
    letter, common, replay = PROVIDERS[name]
    provider = Restorer(lambda: SMALL[letter](seed), snapshot_common=common, bounded_replay=replay)
    return tuple(provider.serve(DOCUMENT + question) for question in QUESTIONS.values())


def modeled() -> tuple[int, ...]:
    """What the modeled provider of whole prefix units reads of the same three prompts. It counts in steps of many
    tokens, and so each token stands for one step here."""
    from agentsim.cache.unit_cache import UnitProvider
    from agentsim.core.dates import SECOND
    from agentsim.engine.lab.named_prompts import DAY, prompt_of, request_of
    from agentsim.rules.providers import rules_for

    provider, step = UnitProvider(), rules_for("deepseek", "deepseek-chat", DAY).quantum
    reads = []
    for number, (name, question) in enumerate(QUESTIONS.items()):
        prompt = prompt_of([("A", step * len(DOCUMENT)), (name, step * len(question))])
        now = DAY + 60 * number * SECOND
        request = request_of(name, prompt, provider="deepseek", model="deepseek-chat", start=now)
        reads.append((provider.serve(request, now).usage.read or 0) // step)
    return tuple(reads)


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    figures: list[MeasuredFigure] = []
    rows: list[tuple[Value, ...]] = []
    for name in PROVIDERS:
        results = served(name, settings.seed)
        for prompt, result in zip(QUESTIONS, results, strict=True):
            figures.append(MeasuredFigure(f"{name}: {prompt} reuses", result.reused, "tokens"))
        worst = max(result.difference for result in results)
        figures.append(MeasuredFigure(f"{name}: relative difference", worst))
        rows.append((name, *(result.reused for result in results), sum(r.replayed for r in results), worst))
    rule = modeled()
    figures.append(
        MeasuredFigure(
            "modeled provider of prefix units agrees", rule == tuple(r.reused for r in served(_LATER, settings.seed))
        )
    )
    rows.append(("modeled provider of prefix units, by rule", *rule, 0, None))
    return Findings(
        figures=tuple(figures),
        tables=(
            ResultTable(
                f"A document of {len(DOCUMENT)} tokens (A) with three questions: tokens reused",
                ("what is kept", *QUESTIONS, "replayed", "relative difference to no cache"),
                tuple(rows),
            ),
        ),
        notes=(
            (
                "Nothing here was told that the third request is the first to reuse A. It follows from windows: they "
                "are kept where inputs end, and the document's end is no such place until a second prompt parts there."
            ),
        ),
    )


def _common(first: list[int], second: list[int]) -> int:
    for index, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return index
    return min(len(first), len(second))


_LATER = "shared + windows, also where prompts part"
_BOUNDED = "shared + windows, bounded replay"

EXPERIMENT = Experiment(
    name="common-prefix",
    title="What a provider can restore: A+B, A+C, A+D",
    meaning=(
        "A provider that keeps windows only where inputs end cannot continue at the end of a shared document; once it "
        "keeps a copy where two prompts part, the third reuses it. It establishes that the documented behaviour "
        "follows from such states. It does not establish that a given service works this way inside."
    ),
    run=run,
    published={
        f"{_LATER}: A+B reuses": PublishedFigure(0),
        f"{_LATER}: A+C reuses": PublishedFigure(0),
        f"{_LATER}: A+D reuses": PublishedFigure(len(DOCUMENT)),
        f"{_LATER}: relative difference": PublishedFigure(1e-10, Holds.AT_MOST),
        f"{_BOUNDED}: A+C reuses": PublishedFigure(len(DOCUMENT) - WINDOW),
        "modeled provider of prefix units agrees": PublishedFigure(True),
        "full history: A+C reuses": PublishedFigure(len(DOCUMENT)),
    },
)
