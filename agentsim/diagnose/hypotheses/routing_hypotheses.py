"""Another cache was asked, or the provider dropped the entry: hypotheses on where a request went."""

from __future__ import annotations

from collections.abc import Iterator

from agentsim.diagnose.host_change import ACCOUNT, moved_hosts
from agentsim.diagnose.row_case import Hypothesis, RowCase

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
