"""All experiments by name: what each sends at most, and how it is run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.session import Usage
from agentsim.rules.prices import RateCard, cost
from agentsim.rules.providers import ProviderRules
from agentsim.trust.probe import floor_probe, four_request_probe, lifetime_probe, lookback_probe, visibility_probe
from agentsim.trust.probe.probe_bench import Bench, Kind, ProbeFinding, ProbeLoad
from agentsim.trust.probe.probe_questions import Lifetime

_MODULES: dict[Kind, Any] = {
    "four requests": four_request_probe,
    "floor": floor_probe,
    "lookback": lookback_probe,
    "visibility": visibility_probe,
    "ttl": lifetime_probe,
}

KINDS: tuple[Kind, ...] = tuple(_MODULES)

_AROUND = 200
"""Tokens that a provider may put around a prompt."""


class Bill(msgspec.Struct, frozen=True):
    """The most that experiments send and cost. ``cost`` is in picodollars; ``None`` where the model has no price."""

    requests: int
    input_tokens: int
    output_tokens: int
    cost: int | None
    waits: int
    """Nanoseconds that are spent waiting."""


def bill_of(kinds: Iterable[Kind], rules: ProviderRules, tier: Lifetime, card: RateCard | None) -> Bill:
    """A bound that cannot be exceeded: a token is at least a byte, and each is billed at the dearest price of input."""
    kinds = tuple(kinds)
    loads: list[ProbeLoad] = [_MODULES[kind].most(rules) for kind in kinds]
    tokens = sum(load.requests * (load.size + _AROUND) for load in loads)
    output = sum(load.requests * load.output for load in loads)
    paid: int | None = None
    if card is not None:
        dearest = max(
            price for price in (card.fresh, card.read, card.write_short, card.write_long) if price is not None
        )
        paid = cost(card, Usage(fresh=0, output=output))
        assert paid is not None
        paid += tokens * dearest
    waits = max(lifetime_probe.offsets_of(rules, tier, waits=True)) * SECOND if "ttl" in kinds else 0
    return Bill(sum(load.requests for load in loads), tokens, output, paid, waits)


def run(kind: Kind, bench: Bench, tier: Lifetime) -> ProbeFinding:
    """Run one experiment. Raises :class:`agentsim.cache.endpoint_accounts.AskFailed` at the first request that
    fails."""
    if kind == "ttl":
        return lifetime_probe.run(bench, tier)
    finding: ProbeFinding = _MODULES[kind].run(bench)
    return finding
