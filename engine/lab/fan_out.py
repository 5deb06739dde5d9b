"""Three subagents begin alike: with and without a marker behind what they share, together and one after the first."""

from __future__ import annotations

import torch

from agentsim.core.dates import SECOND
from agentsim.engine.lab.experiment import (
    BarPlot,
    Experiment,
    Findings,
    LabSettings,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
    Value,
)
from agentsim.engine.lab.marked import MarkedEngine, MarkedRequest
from agentsim.engine.lab.named_prompts import DAY, prompt_of, request_of
from agentsim.engine.lab.subject import Subject, model, subject

FULL = (51_870, 300, 30_000, 200)
"""Tokens of what the parent sent, its reply, the map that all get, and each one's own instructions."""
SCALED = (688, 16, 400, 16)
"""About a seventy-fifth, in whole pages."""
BRIEF = (208, 16, 64, 16)
NAMES = ("A", "B", "C")
CASES = tuple((marked, waits) for marked in (False, True) for waits in (False, True))


def by_rule(sizes: tuple[int, int, int, int], *, marked: bool, waits: bool) -> tuple[int, ...]:
    """What the modeled provider lets A, B and C read. Its minimum length plays no part here."""
    from agentsim.cache.modeled_provider import ModeledProvider
    from agentsim.rules.providers import rules_for

    rules = rules_for("anthropic", "claude-opus-4-8", DAY).with_(minimum=1)
    provider = ModeledProvider(rules)
    base, reply, shared, own = sizes
    begin = DAY
    parent = prompt_of([("parent", base)], [0])
    requests = [request_of("parent", parent, provider="anthropic", model="claude-opus-4-8", start=begin,
                           first_token=begin + SECOND)]  # fmt: skip
    for number, name in enumerate(NAMES):
        parts = [("parent", base), ("reply", reply), ("map", shared), (f"instructions {name}", own)]
        start = begin + 30 * SECOND + (6 * SECOND if waits and number else 0)
        prompt = prompt_of(parts, [2, 3] if marked else [3])
        requests.append(request_of(name, prompt, provider="anthropic", model="claude-opus-4-8", start=start,
                                   first_token=start + 5 * SECOND))  # fmt: skip
    served = [provider.serve(request, request.start or 0) for request in requests]
    return tuple(each.usage.read or 0 for each in served[1:])


def measured(
    machine: object,
    texts: Subject,
    sizes: tuple[int, int, int, int],
    *,
    marked: bool,
    waits: bool,
    longest: bool = False,
) -> tuple[MarkedRequest, ...]:
    """The same on pages: real tokens, a real model."""
    from agentsim.engine.decoder import Decoder

    assert isinstance(machine, Decoder)
    base, reply, shared, own = sizes
    words = texts.document * 3  # the map begins where the parent's text has ended
    parent, replied, charted = (list(words[a:b]) for a, b in _spans(base, reply, shared))
    prompts = []
    for number, _ in enumerate(NAMES):
        own_words = [*texts.questions[number], *texts.questions[number]][:own]
        tokens = [*parent, *replied, *charted, *own_words]
        marks = [base + reply + shared, len(tokens)] if marked else [len(tokens)]
        prompts.append((tokens, marks))
    pages = 4 * (sum(sizes) // 16 + 2)
    engine = MarkedEngine(machine, pages, longest_prefix=longest)
    engine.ask([(parent, [base])], 1)
    if not waits:
        return tuple(engine.ask(prompts, 2))
    return (*engine.ask(prompts[:1], 2), *engine.ask(prompts[1:], 2))


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    texts, machine = subject(settings.weights), model(settings.weights, torch.float32)
    sizes = BRIEF if settings.brief else SCALED
    figures: list[MeasuredFigure] = []
    rows: list[tuple[Value, ...]] = []
    times: list[tuple[Value, ...]] = []
    bars: list[tuple[str, float]] = []
    agrees, same = True, True
    answers: set[tuple[tuple[int, ...], ...]] = set()
    for marked, waits in CASES:
        name = f"{'marker' if marked else 'no marker'}, {'after A answers' if waits else 'together'}"
        settings.say(name)
        full, scaled = (by_rule(each, marked=marked, waits=waits) for each in (FULL, sizes))
        ours = measured(machine, texts, sizes, marked=marked, waits=waits)
        agrees = agrees and tuple(each.read for each in ours) == scaled
        answers.add(tuple(each.answer for each in ours))
        figures.append(MeasuredFigure(f"{name}: B and C read, by rule", ", ".join(f"{each:,}" for each in full[1:])))
        rows.append((name, *full, *(each.read for each in ours)))
        times.append((name, *(each.first_token_ms for each in ours)))
        bars.append((name, ours[1].first_token_ms))
    for waits in (False, True):
        name = f"longest prefix, {'after A answers' if waits else 'together'}"
        ours = measured(machine, texts, sizes, marked=False, waits=waits, longest=True)
        answers.add(tuple(each.answer for each in ours))
        rows.append((name, None, None, None, *(each.read for each in ours)))
        times.append((name, *(each.first_token_ms for each in ours)))
        bars.append((name, ours[1].first_token_ms))
        if waits:
            figures.append(
                MeasuredFigure("an engine without markers: waiting is enough", ours[1].read == sum(sizes[:3]))
            )
    same = len(answers) == 1
    figures += [
        MeasuredFigure("measured on pages as by rule", agrees),
        MeasuredFigure("the same tokens in every case", same),
    ]
    return Findings(
        figures=tuple(figures),
        tables=(
            ResultTable(
                f"Tokens read: by rule of {sum(FULL):,}, and on {texts.name}'s pages of {sum(sizes):,}",
                ("case", "rule: A", "B", "C", "pages: A", "B ", "C "),
                tuple(rows),
            ),
            ResultTable("Time to the first token, ms", ("case", "A", "B", "C"), tuple(times)),
        ),
        plots=(BarPlot("Time to the first token of B", "ms", tuple(bars)),),
    )


def _spans(*sizes: int) -> list[tuple[int, int]]:
    spans, start = [], 0
    for size in sizes:
        spans.append((start, start + size))
        start += size
    return spans


EXPERIMENT = Experiment(
    name="fan-out",
    title="Three subagents: a marker, a wait, both, neither",
    meaning=(
        "At a provider with breakpoints only both together help: a marker behind what is shared, and a wait until its "
        "writer answers. An engine that matches the longest prefix by itself needs the wait alone. It establishes the "
        "reads, by rule and on real pages, and times of this machine. It does not establish that a given service has "
        "no further routes by which a prefix is found."
    ),
    run=run,
    published={
        "no marker, together: B and C read, by rule": PublishedFigure("51,870, 51,870"),
        "no marker, after A answers: B and C read, by rule": PublishedFigure("51,870, 51,870"),
        "marker, together: B and C read, by rule": PublishedFigure("51,870, 51,870"),
        "marker, after A answers: B and C read, by rule": PublishedFigure("82,170, 82,170"),
        "measured on pages as by rule": PublishedFigure(True),
    },
    needs_model=True,
)
