"""The four requests: prepare, ask the same again, change only the question, change only the document's first line.

They tell whether there is a cache at all, whether the end of the document is where it is kept, and whether a change in
front of everything loses it. The breakpoint ends the document; the question stands behind it.
"""

from __future__ import annotations

from agentsim.core.session import Usage
from agentsim.rules.providers import ProviderRules
from agentsim.trust.probe.probe_bench import (
    Bench,
    Kind,
    PredictedUsage,
    ProbeFinding,
    ProbeLoad,
    counted,
    has_breakpoints,
    words_of,
)
from agentsim.trust.probe.probe_questions import ProbePrompt
from agentsim.trust.probe.probe_texts import document

OUTPUT = 96
NAMES = ("prepare", "identical", "question changed", "first line changed")
QUESTIONS = ("Which word comes first? Answer at length.", "Which word comes last? Answer at length.")
EXPERIMENT: Kind = "four requests"


def most(rules: ProviderRules) -> ProbeLoad:
    """The most that is sent."""
    return ProbeLoad(len(NAMES), len(document("x" * 40, words_of(rules))) + 100, OUTPUT)


def run(bench: Bench) -> ProbeFinding:
    """Send the four requests; only two where the second one reads nothing."""
    rules = bench.rules
    marked = has_breakpoints(rules)
    words = words_of(rules)
    first, other = document(f"{bench.run} A", words), document(f"{bench.run} B", words)

    def ask(number: int, text: str, question: str, predicted: PredictedUsage, holds: bool | None = None) -> Usage:
        def judge(usage: Usage) -> tuple[PredictedUsage, bool]:
            return predicted, _holds(number, usage, reads, marked)

        body = ProbePrompt(parts=(text, question), output=OUTPUT)
        usage = bench.ask(EXPERIMENT, NAMES[number], body, judge).usage
        reads.append(usage.read or 0)
        return usage

    reads: list[int] = []
    prepared = ask(0, first, QUESTIONS[0], PredictedUsage(read=0, write=bench.estimate(first) if marked else None))
    written = (prepared.write or 0) if marked else None
    if marked:
        whole = tail = written
    else:
        total = prepared.total_input or 0
        whole = counted(total, rules)
        tail = counted(total - bench.estimate(QUESTIONS[0]), rules)
    nothing = 0 if marked else None
    ask(1, first, QUESTIONS[0], PredictedUsage(read=whole, write=nothing))
    if not reads[1]:
        note = "stopped after the second request, which read nothing; the others could only repeat that"
        return _finding(bench, note)
    ask(2, first, QUESTIONS[1], PredictedUsage(read=tail, write=nothing))
    ask(3, other, QUESTIONS[1], PredictedUsage(read=0, write=written))
    return _finding(bench, "")


def _holds(number: int, usage: Usage, reads: list[int], marked: bool) -> bool:
    """Whether a request went as the experiment expects, whatever the exact figures."""
    read, write = usage.read or 0, usage.write or 0
    if number == 0:
        return read == 0 and (write > 0 or not marked)
    if number == 1:
        return read > 0
    if number == 2:
        return read > 0 and (read >= reads[1] or not marked)
    return read < reads[2] and (write > 0 or not marked)


def _finding(bench: Bench, note: str) -> ProbeFinding:
    steps = [step for step in bench.steps if step.experiment == EXPERIMENT]
    held = [step for step in steps if step.holds]
    words = {
        "prepare": "written" if has_breakpoints(bench.rules) else "sent",
        "identical": "read",
        "question changed": "document read",
        "first line changed": "not read",
    }
    return ProbeFinding(
        experiment=EXPERIMENT,
        rule="matching",
        predicted=", ".join(words[name] for name in NAMES),
        measured=", ".join(words[step.name] if step.holds else "not so" for step in steps),
        agrees=len(held) == len(NAMES),
        note=note,
    )
