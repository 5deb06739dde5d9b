"""How far behind a breakpoint an earlier entry is looked for: a document is kept, then asked for with more and more
blocks between its end and the breakpoint.

Where a provider counts breakpoints and not blocks, each of the blocks carries one.
"""

from __future__ import annotations

from agentsim.rules.providers import ProviderRules
from agentsim.trust.probe.probe_bench import Bench, Kind, ProbeFinding, ProbeLoad, has_breakpoints, words_of
from agentsim.trust.probe.probe_questions import FEW_TOKENS, ProbePrompt
from agentsim.trust.probe.probe_texts import document

EXPERIMENT: Kind = "lookback"
_FILLER = "Trial 00 of run, block 000 of filler."


def most(rules: ProviderRules) -> ProbeLoad:
    """The most that is sent."""
    blocks = 2 * rules.lookback
    size = len(document("x" * 40, words_of(rules))) + blocks * (len(_FILLER) + 40)
    return ProbeLoad(3 + blocks.bit_length(), size, FEW_TOKENS)


def run(bench: Bench) -> ProbeFinding:
    """Halve the interval between a number of blocks across which the document is found and one across which not."""
    rules = bench.rules
    if not has_breakpoints(rules) or not rules.lookback:
        note = "this provider looks for no entries behind a breakpoint"
        return bench.finding(EXPERIMENT, "lookback", "none", "not measured", None, note)
    every = rules.lookback_counts == "breakpoint"
    unit = "breakpoints" if every else "positions"
    text = document(f"{bench.run} L", words_of(rules))
    bench.ask(EXPERIMENT, "the document", ProbePrompt(parts=(text,)))
    trials = 0

    def is_found(blocks: int) -> bool:
        nonlocal trials
        trials += 1
        fillers = [f"Trial {trials:02d} of {bench.run}, block {at:03d} of filler." for at in range(blocks)]
        question = ProbePrompt(parts=(text, *fillers), marked=blocks, every=every)
        name = f"{blocks} {'block' if blocks == 1 else 'blocks'} behind it"
        return bool(bench.ask(EXPERIMENT, name, question).usage.read)

    told = f"{rules.lookback} {unit}"
    low, high = 1, 2 * rules.lookback
    if not is_found(low):
        return bench.finding(EXPERIMENT, "lookback", told, f"fewer than 2 {unit}", False)
    if is_found(high):
        return bench.finding(EXPERIMENT, "lookback", told, f"at least {high + 1} {unit}", False)
    while high - low > 1:
        middle = (low + high) // 2
        if is_found(middle):
            low = middle
        else:
            high = middle
    # The breakpoint's own block is the first position; the document's end, behind `low` blocks, is the last.
    return bench.finding(EXPERIMENT, "lookback", told, f"{low + 1} {unit}", low + 1 == rules.lookback)
