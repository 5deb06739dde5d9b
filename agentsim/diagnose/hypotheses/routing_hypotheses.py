"""Another cache was asked, or the provider dropped the entry: hypotheses on where a request went."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentsim.diagnose.host_change import ACCOUNT, moved_hosts
from agentsim.diagnose.hypothesis import Hypothesis
from agentsim.diagnose.row_case import RowCase

if TYPE_CHECKING:
    from agentsim.diagnose.body_case import BodyCase

_SESSION_KEY = "Whether another machine or upstream answered: send a stable session or cache key and compare."


def on_routing(case: RowCase) -> Iterator[Hypothesis]:
    """Another provider, host or account; a machine that the log does not name; an entry that was dropped early."""
    yield _dropped(case)
    row, parent = case.row, case.parent
    moved = moved_hosts(row, parent)
    if row.provider != parent.provider:
        sentence = f"{row.provider} answered after {parent.provider}: each provider has a cache of its own."
        yield Hypothesis("AS503", "sufficient", sentence, weight=180)
    elif row.account is not None and parent.account is not None and row.account != parent.account:
        yield Hypothesis("AS503", "sufficient", ACCOUNT, weight=180)
    elif moved:
        yield Hypothesis("AS503", "sufficient", " ".join(moved), weight=180)
    elif row.automatic:
        yield Hypothesis("AS503", "open", check=_SESSION_KEY, weight=50)
    else:
        yield Hypothesis("AS503", "open", weight=32 if case.reach.place == "nothing" else 5)


LONG_IDLE = 600
"""Seconds; after ten minutes without use entries of an hour were seen to be gone, the more often the longer."""


def _dropped(case: RowCase) -> Hypothesis:
    """Nothing changed, and the provider lost the entry: what a loss is called that nothing else explains."""
    code = "AS902" if case.reach.place == "nothing" else "AS901"
    weight = 50 if case.idle is not None and case.idle > LONG_IDLE else 30
    return Hypothesis(code, "open", weight=weight)


def routing_by_bodies(case: BodyCase) -> Iterator[Hypothesis]:
    """Another host, a slot that another prompt took, a machine that no log names, an entry that was dropped."""
    if case.moved:
        there = case.known_there
        yield Hypothesis("AS503", "sufficient", " ".join(case.moved), weight=180, predicted=(there, there))
    elif case.unrouted is not None:
        yield Hypothesis("AS503", "likely", case.unrouted[0], weight=70, fix=case.unrouted[1])
    else:
        yield Hypothesis("AS503", "open", weight=45)
    slots = case.rules.matching == "slot"
    if slots and case.predicted + case.near < case.front and case.read <= case.predicted + case.near:
        sentence = f"Since request {case.parent.request.id} another prompt was computed in its slot."
        yield Hypothesis("AS504", "likely", sentence, weight=160)
    same = "was the same and" if case.place is None else "that is the same"
    sentence = f"The front of {case.front:,} tokens {same} was not found, {case.idle:,} s after its last use"
    if case.changed:
        sentence += f"; {' and '.join(case.changed)} changed in between"
    if case.disputed is not None:
        sentence += f". {case.disputed.rstrip('.')}"
        yield Hypothesis("AS303", "open", weight=53)
    weight = 30 if case.place is None else 47  # beside a change, a loss in front of it is the provider's likeliest part
    yield Hypothesis("AS901" if case.read else "AS902", "open", f"{sentence}.", weight=weight, place=case.place)
