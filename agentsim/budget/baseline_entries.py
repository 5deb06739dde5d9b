"""Which entry of a baseline each recorded session is compared with, and which entries no recording answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from agentsim.budget.budget_gate import JudgedTrace
from agentsim.budget.session_measures import Measures

Baseline = Mapping[str, "Measures | None"]
"""Measures by the key of a session. ``None`` stands for an entry that cannot be used."""


class BaselineEntries:
    """The entries of a baseline, each for at most one of the sessions that were read.

    A session is known by its file and its id. Where only one of the two is still the same, it is known by that, if it
    can be only this one: a file that holds one session was recorded again, or was given another name.
    """

    def __init__(self, baseline: Baseline | None, traces: Iterable[JudgedTrace]) -> None:
        self.given = baseline is not None
        self._baseline = baseline or {}
        read = {trace.key: trace for trace in traces}
        self._found = {key: key for key in read if key in self._baseline}
        files = Counter(key.rpartition("#")[0] for key in self._baseline)
        for key, trace in read.items():
            if key not in self._found and trace.alone and files[trace.path] == 1:
                self._found[key] = next(one for one in self._baseline if one.rpartition("#")[0] == trace.path)
        moved = [trace for key, trace in read.items() if key not in self._found]
        here = Counter(trace.session for trace in moved)
        for trace in moved:
            there = [key for key in self.left_over() if key.rpartition("#")[2] == trace.session]
            if len(there) == 1 == here[trace.session]:
                self._found[trace.key] = there[0]

    def of(self, trace: JudgedTrace) -> Measures | None:
        """What a session cost when it was accepted; ``None`` where no entry, or more than one, could be its own."""
        return self._baseline.get(self._found.get(trace.key, ""))

    def left_over(self) -> tuple[str, ...]:
        """The keys of entries that no session which was read is compared with, in their order."""
        taken = set(self._found.values())
        return tuple(key for key in self._baseline if key not in taken)
