"""How long a prefix must be to be kept at all: by bisection, each time with a document that nobody has sent before."""

from __future__ import annotations

from agentsim.rules.providers import ProviderRules
from agentsim.trust.probe.probe_bench import Bench, Kind, ProbeFinding, ProbeLoad, has_breakpoints
from agentsim.trust.probe.probe_questions import FEW_TOKENS, ProbePrompt
from agentsim.trust.probe.probe_texts import document

EXPERIMENT: Kind = "floor"
QUESTION = "Which word comes first?"


def most(rules: ProviderRules) -> ProbeLoad:
    """The most that is sent."""
    trials = 3 + (2 * rules.minimum).bit_length()
    return ProbeLoad(
        trials if has_breakpoints(rules) else 2 * trials, len(document("x" * 40, 2 * rules.minimum)) + 100, FEW_TOKENS
    )


def run(bench: Bench) -> ProbeFinding:
    """Halve the interval between a length that is not kept and one that is, until a word is left between them."""
    rules = bench.rules
    told = f"{rules.minimum:,} tokens"
    if not rules.minimum:
        return bench.finding(EXPERIMENT, "minimum", "none", "not measured", None, "the rules know no such minimum")
    trial = _Trial(bench)
    high = 2 * rules.minimum
    if not trial.is_kept(high):
        return bench.finding(EXPERIMENT, "minimum", told, f"above {trial.size:,} tokens", False)
    high_size, low = trial.size, rules.minimum // 4
    if trial.is_kept(low):
        return bench.finding(EXPERIMENT, "minimum", told, f"at most {trial.size:,} tokens", False)
    low_size = trial.size
    while high - low > 1:
        middle = (low + high) // 2
        if trial.is_kept(middle):
            high, high_size = middle, trial.size
        else:
            low, low_size = middle, trial.size
    measured = f"{low_size:,} tokens are not kept, {high_size:,} are"
    return bench.finding(EXPERIMENT, "minimum", told, measured, low_size < rules.minimum <= high_size)


class _Trial:
    """Sends documents of a length. ``size`` is the prefix of the last one in tokens, as it was reported."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._marked = has_breakpoints(bench.rules)
        self._number = 0
        self._tail = bench.estimate(QUESTION)
        self.size = 0

    def is_kept(self, words: int) -> bool:
        """Whether a document of so many words is kept."""
        self._number += 1
        text = document(f"{self._bench.run} F{self._number:03d}", words)
        question = ProbePrompt(parts=(text, QUESTION))
        name = f"{words:,} words"
        usage = self._bench.ask(EXPERIMENT, name, question).usage
        total = usage.total_input or 0
        if self._marked:
            if usage.write:
                self._tail = usage.fresh or 0
            self.size = total - self._tail
            return bool(usage.write)
        self.size = total
        return bool(self._bench.ask(EXPERIMENT, f"{name}, again", question).usage.read)
