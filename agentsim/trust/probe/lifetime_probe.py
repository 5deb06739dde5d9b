"""How long an entry lives: documents are kept at the same time, and each is asked for once, after another time.

Reading an entry gives it a new life, which is why each needs a document of its own.
"""

from __future__ import annotations

from agentsim.core.dates import SECOND
from agentsim.rules.providers import ProviderRules
from agentsim.trust.probe.probe_bench import Bench, Kind, ProbeFinding, ProbeLoad, has_breakpoints, words_of
from agentsim.trust.probe.probe_questions import FEW_TOKENS, Lifetime, ProbePrompt
from agentsim.trust.probe.probe_texts import document

EXPERIMENT: Kind = "ttl"
QUESTION = "Which word comes first?"
_SHARES = (50, 90, 110, 150)
"""Per cent of the lifetime after which a real endpoint is asked. Nearer to its edge other delays would decide."""


def seconds_of(rules: ProviderRules, tier: Lifetime) -> int:
    """The lifetime that the rules know."""
    return rules.ttl_long if tier == "long" else rules.ttl_short


def offsets_of(rules: ProviderRules, tier: Lifetime, *, waits: bool) -> tuple[int, ...]:
    """After how many seconds the documents are asked for. Where waiting costs no time, a second decides."""
    life = seconds_of(rules, tier)
    if waits:
        return tuple(life * share // 100 for share in _SHARES)
    return (life // 2, life - 1, life + 1, life * 3 // 2)


def most(rules: ProviderRules) -> ProbeLoad:
    """The most that is sent."""
    return ProbeLoad(2 * len(_SHARES), len(document("x" * 40, words_of(rules))) + 100, FEW_TOKENS)


def run(bench: Bench, tier: Lifetime = "short") -> ProbeFinding:
    """Write all documents, then read each at its time."""
    rules = bench.rules
    if tier == "long" and not has_breakpoints(rules):
        note = "this provider lets nobody choose a lifetime"
        return bench.finding(EXPERIMENT, "ttl_long", "none", "not measured", None, note)
    life = seconds_of(rules, tier)
    # Where those who ask for nothing get the long lifetime, the short one has to be asked for.
    unasked_is_long = rules.ttl_unasked == "long" and rules.ttl_short < rules.ttl_long
    retention = "in_memory" if unasked_is_long and tier == "short" else None
    written = []
    for number, offset in enumerate(offsets_of(rules, tier, waits=bench.waits)):
        text = document(f"{bench.run} T{number} {tier}", words_of(rules))
        question = ProbePrompt(parts=(text, QUESTION), lifetime=tier, retention=retention)
        written.append((offset, question, bench.ask(EXPERIMENT, f"written, for {offset:,} s", question)))
    hits: list[float] = []
    misses: list[float] = []
    for offset, question, answered in written:
        bench.clock.wait_until(answered.start + offset * SECOND)
        read = bench.ask(EXPERIMENT, f"after {offset:,} s", question)
        waited = (read.start - answered.start) / SECOND
        (hits if read.usage.read else misses).append(waited)
    grace = rules.ttl_grace_long if tier == "long" else rules.ttl_grace
    agrees = all(waited <= life + grace for waited in hits) and all(waited > life for waited in misses)
    measured = ", ".join(
        part
        for part in (
            f"read after {max(hits):,.0f} s" if hits else "never read",
            f"lost after {min(misses):,.0f} s" if misses else "",
        )
        if part
    )
    rule = "ttl_long" if tier == "long" else "ttl_short"
    note = f"for {grace:,} seconds more a read contradicts nothing" if grace else ""
    return bench.finding(EXPERIMENT, rule, f"{life:,} s", measured, agrees, note)
