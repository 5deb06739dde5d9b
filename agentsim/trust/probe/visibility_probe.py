"""When an entry can be read: by a request sent together with the one that writes it, by one sent when its answer
begins, and by one sent when that has ended."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from agentsim.rules.providers import ProviderRules
from agentsim.trust.probe.probe_bench import Bench, Kind, ProbeFinding, ProbeLoad, words_of
from agentsim.trust.probe.probe_questions import ProbeAnswer, ProbePrompt
from agentsim.trust.probe.probe_texts import document

EXPERIMENT: Kind = "visibility"
OUTPUT = 96
"""Long enough for an answer to be still going on when the second request arrives."""

_FROM = {
    "request_start": ("together", "after the first token", "after the end"),
    "first_token": ("after the first token", "after the end"),
    "response_end": ("after the end",),
}
MOMENTS = _FROM["request_start"]


def most(rules: ProviderRules) -> ProbeLoad:
    """The most that is sent."""
    return ProbeLoad(2 * len(MOMENTS), len(document("x" * 40, words_of(rules))) + 100, OUTPUT)


def run(bench: Bench) -> ProbeFinding:
    """Send a pair of requests at each of the three moments."""
    found = []
    expected = _FROM[bench.rules.readable]
    for letter, moment in zip("TFE", MOMENTS, strict=True):
        text = document(f"{bench.run} V{letter}", words_of(bench.rules))
        question = ProbePrompt(parts=(text, "Which word comes first? Answer at length."), output=OUTPUT)
        first, second = _PAIRS[moment](bench, question)
        bench.keep(EXPERIMENT, f"{moment}: writes", first)
        bench.keep(EXPERIMENT, f"{moment}: reads", second)
        # Of two that are sent together either may be the first to arrive.
        if second.usage.read or (moment == "together" and first.usage.read):
            found.append(moment)
    doubt = bench.rules.readable_doubt
    note = f"for {doubt} seconds more a miss contradicts nothing" if doubt else ""
    return bench.finding(
        EXPERIMENT, "readable", f"read {_listed(expected)}", f"read {_listed(found)}", tuple(found) == expected, note
    )


def _together(bench: Bench, question: ProbePrompt) -> tuple[ProbeAnswer, ProbeAnswer]:
    with bench.clock.held(), ThreadPoolExecutor(2) as threads:
        one = threads.submit(bench.asker.ask, question)
        two = threads.submit(bench.asker.ask, question)
        return one.result(), two.result()


def _after_first_token(bench: Bench, question: ProbePrompt) -> tuple[ProbeAnswer, ProbeAnswer]:
    seconds: list[ProbeAnswer] = []
    first = bench.asker.ask(question, lambda: seconds.append(bench.asker.ask(question)))
    return first, seconds[0] if seconds else bench.asker.ask(question)


def _after_end(bench: Bench, question: ProbePrompt) -> tuple[ProbeAnswer, ProbeAnswer]:
    return bench.asker.ask(question), bench.asker.ask(question)


_PAIRS = dict(zip(MOMENTS, (_together, _after_first_token, _after_end), strict=True))


def _listed(moments: tuple[str, ...] | list[str]) -> str:
    return ", ".join(moments) if moments else "never"
