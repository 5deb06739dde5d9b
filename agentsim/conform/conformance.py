"""All results of a conformance run, and what became worse since another one."""

from __future__ import annotations

import msgspec

from agentsim.conform.act_results import ActResult

TOLERANCE = 64
"""Tokens by which a loss may grow without being worse: prompts hold times and paths."""


class HarnessVersion(msgspec.Struct, frozen=True):
    """A harness that was run, its version and where it comes from."""

    name: str
    title: str
    version: str
    package: str = ""


class Conformance(msgspec.Struct, frozen=True):
    """Harnesses, acts and results. ``day`` is when it was made."""

    day: str
    harnesses: tuple[HarnessVersion, ...]
    acts: tuple[tuple[str, str], ...]
    results: tuple[ActResult, ...]

    def result(self, harness: str, act: str) -> ActResult | None:
        """What one harness did in one act."""
        return next((one for one in self.results if (one.harness, one.act) == (harness, act)), None)


class Regression(msgspec.Struct, frozen=True):
    """An act that loses more than it did."""

    harness: str
    act: str
    before: int
    now: int


def regressions(now: Conformance, before: Conformance) -> list[Regression]:
    """The acts that lose more than in an earlier run, or do not run any more."""
    found = []
    for result in now.results:
        old = before.result(result.harness, result.act)
        if old is None or old.status != "ran":
            continue
        if result.status != "ran" or result.lost > old.lost + TOLERANCE:
            found.append(
                Regression(result.harness, result.act, old.lost, result.lost if result.status == "ran" else -1)
            )
    return found
