"""Four requests that tell how a cache works: prepare, repeat, another question, another beginning."""

from __future__ import annotations

import torch

from agentsim.core.dates import SECOND
from agentsim.engine.decoder import Decoder
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

RUN, DOCUMENT, QUESTION, OUTPUT = 32, 608, 16, 96
"""Tokens of the run's identity with the document's version, of the document, of a question, and of each answer."""
REQUESTS = (
    ("1 · prepare", "A", 0),
    ("2 · repeat", "A", 0),
    ("3 · another question", "A", 1),
    ("4 · another beginning", "B", 1),
)
"""Name, the version in the document's first line, and which question."""


def by_rule(document: int) -> tuple[tuple[int, int, int], ...]:
    """Read, written and fresh tokens of the four at the modeled provider. Its minimum length plays no part here."""
    from agentsim.cache.modeled_provider import ModeledProvider
    from agentsim.rules.providers import rules_for

    provider = ModeledProvider(rules_for("anthropic", "claude-opus-4-8", DAY).with_(minimum=1))
    found = []
    for number, (name, version, question) in enumerate(REQUESTS):
        start = DAY + 20 * number * SECOND
        prompt = prompt_of([(f"run, version {version}", RUN + document), (f"question {question}", QUESTION)], [0])
        request = request_of(name, prompt, provider="anthropic", model="claude-opus-4-8", start=start,
                             first_token=start + SECOND)  # fmt: skip
        usage = provider.serve(request, start).usage
        found.append((usage.read or 0, (usage.write_short or 0) + (usage.write_long or 0), usage.fresh or 0))
    return tuple(found)


def measured(
    machine: Decoder, texts: Subject, *, document: int, output: int, longest: bool
) -> tuple[MarkedRequest, ...]:
    """The four on pages, one after the other."""
    engine = MarkedEngine(machine, 8 * ((RUN + document + QUESTION + output) // 16 + 2), longest_prefix=longest)
    done = []
    for _, version, question in REQUESTS:
        head = list(texts.questions[4][:RUN])
        head += [head[-1]] * (RUN - len(head))
        # The version stands in the second page: the first one is the run's identity alone.
        head[20] = texts.questions[2][0 if version == "A" else 4] + (version == "B")
        words = list(texts.questions[question][:QUESTION])
        prefix = [*head, *texts.document[:document]]
        done += engine.ask([([*prefix, *words], [len(prefix)])], output)
    return tuple(done)


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    texts, machine = subject(settings.weights), model(settings.weights, torch.float32)
    document, output = 96 if settings.brief else DOCUMENT, OUTPUT
    rule = by_rule(document)
    settings.say("with a marker")
    ours = measured(machine, texts, document=document, output=output, longest=False)
    settings.say("by longest prefix")
    longest = measured(machine, texts, document=document, output=1, longest=True)
    rows: list[tuple[Value, ...]] = [
        (name, *(rule[i]), ours[i].read, longest[i].read, ours[i].first_token_ms)
        for i, (name, _, _) in enumerate(REQUESTS)
    ]
    whole = RUN + document
    return Findings(
        figures=(
            MeasuredFigure("1 writes", rule[0][1] == whole and ours[0].read == 0),
            MeasuredFigure("2 reads", ours[1].read == rule[1][0] == whole),
            MeasuredFigure("3 still reads the document", ours[2].read == rule[2][0] == whole),
            MeasuredFigure("4 reads nothing and writes again", ours[3].read == rule[3][0] == 0 and rule[3][1] == whole),
            MeasuredFigure(
                "measured reads as by rule", tuple(each.read for each in ours) == tuple(each[0] for each in rule)),
            MeasuredFigure("4 by longest prefix reads the page before the change", longest[3].read, "tokens"),
            MeasuredFigure("1 and 2 give the same answer", ours[0].answer == ours[1].answer),
            MeasuredFigure("tokens of each answer", len(ours[0].answer)),
            MeasuredFigure("first token of 1 over that of 2", ours[0].first_token_ms / ours[1].first_token_ms, "times"),
        ),
        tables=(
            ResultTable(
                f"{texts.name}: a document of {document} tokens behind {RUN} of identity, questions of {QUESTION}",
                ("request", "rule: read", "written", "fresh", "pages: read", "longest prefix", "first token, ms"),
                tuple(rows),
            ),
        ),
        plots=(BarPlot("Time to the first token", "ms", tuple(
            (name, ours[i].first_token_ms) for i, (name, _, _) in enumerate(REQUESTS))),),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="probe",
    title="Four requests that tell how a cache works",
    meaning=(
        "A write, a read of the same, a read with another question, and a miss after a change at the beginning: "
        "together they show reuse of prefixes. It establishes this for the modeled rules and for real pages alike. One "
        "run establishes no stable speedup, and whether a whole task gains is another measurement."
    ),
    run=run,
    published={
        "1 writes": PublishedFigure(True),
        "2 reads": PublishedFigure(True),
        "3 still reads the document": PublishedFigure(True),
        "4 reads nothing and writes again": PublishedFigure(True),
        "measured reads as by rule": PublishedFigure(True),
        "tokens of each answer": PublishedFigure(OUTPUT),
    },
    needs_model=True,
)
