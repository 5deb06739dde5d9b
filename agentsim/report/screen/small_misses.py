"""Misses too small to be told one by one: they are folded into one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from agentsim.core.verdict import Verdict
from agentsim.report import figures

SMALL_TOKENS = 2_048
"""A small miss lost fewer tokens; the widest steps in which a provider counts its reads are so wide."""

SMALL_COST = 10**10
"""Picodollars (a cent); a small miss cost less, as far as its price is known."""

FEW = 3
"""So many small misses are told in full: a line about them would be no shorter."""


def small_misses(verdicts: Iterable[Verdict]) -> frozenset[str]:
    """The requests whose misses are folded: none where there are few of them."""
    small = [verdict.request for verdict in verdicts if _is_small(verdict)]
    return frozenset(small) if len(small) > FEW else frozenset()


def words_of_small(verdicts: Sequence[tuple[int, Verdict]]) -> str:
    """What folded misses lost together, by cause, with the numbers of the rows that lost most."""
    lost = sum(verdict.lost for _, verdict in verdicts)
    costs = [verdict.lost_cost for _, verdict in verdicts if verdict.lost_cost is not None]
    price = f", {figures.money(sum(costs))}" if costs else ""
    causes = Counter(verdict.code for _, verdict in verdicts)
    named = ", ".join(f"{code} {count}" for code, count in sorted(causes.items(), key=lambda item: (-item[1], item[0])))
    most = sorted(verdicts, key=lambda one: (-one[1].lost, one[0]))[:FEW]
    places = ", ".join(f"#{number}" for number, _ in most)
    return (
        f"{len(verdicts)} small misses, each of less than {SMALL_TOKENS:,} tokens and {figures.money(SMALL_COST)}: "
        f"{lost:,} tokens{price} ({named}); most at {places}; --rows all tells each"
    )


def _is_small(verdict: Verdict) -> bool:
    cheap = verdict.lost_cost is None or verdict.lost_cost < SMALL_COST
    return verdict.kind == "miss" and verdict.lost < SMALL_TOKENS and cheap
