"""What the same work would have cost with less to carry: results cut short, a subagent of its own, tools deferred.

These are worked out on the account of a session, one at a time, and not simulated: that the agent would have worked on
with the same requests is the condition of each.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

import msgspec

from agentsim.context.context_account import ContextAccount, ContextBlock, ContextTurn

CUTS = (30_000, 16_000, 8_000, 4_000, 2_000)
"""Characters at which results are cut, for the table."""

SHELLS = frozenset({"bash", "powershell", "shell", "exec_command", "execute_bash", "local_shell_call", "run_command"})
"""Tools whose output a limit of the shell's output cuts, in lower case."""

SPAWNS = frozenset({"agent", "task"})
"""Tools that start a subagent and return its report."""

REPORT_TOKENS = 1500
"""Size of a subagent's report, where the session has too few to tell."""

FEWEST_REPORTS = 3
LEAST_REQUESTS = 3
"""Requests that a turn must have before it is worth a subagent."""


class CutResults(msgspec.Struct, frozen=True, kw_only=True):
    """Results longer than ``characters``, and what the part beyond cost (picodollars): of the shell, and of all."""

    characters: int
    shell: int
    shell_saves: int
    results: int
    saves: int


class FreshSubagent(msgspec.Struct, frozen=True, kw_only=True):
    """One turn's work done in a subagent that reports: what it would have saved (picodollars; below zero it costs).

    ``stays_out`` is what the old context cost the turn's requests, ``after`` what its work cost later; ``head`` is the
    price of tools and system written anew, ``returns`` what the report and one more look of the parent cost.
    """

    turn: ContextTurn
    report: int
    stays_out: int
    after: int
    head: int
    returns: int

    @property
    def saves(self) -> int:
        """What is left of it."""
        return self.stays_out + self.after - self.head - self.returns


class DeferredDefinitions(msgspec.Struct, frozen=True, kw_only=True):
    """Definitions of tools at the front of prompts: ``never`` were never called, ``later`` were. Picodollars that they
    cost: those never called in all, the others until they were first called."""

    never: int
    never_cost: int
    later: int
    later_cost: int


def cut_results(account: ContextAccount, cuts: Iterable[int] = CUTS) -> tuple[CutResults, ...]:
    """What results cut at so many characters would have saved, where the log tells their lengths."""
    results = [block for block in account.blocks if block.kind in ("result", "file") and block.characters]
    found = []
    for most in cuts:
        longer = [block for block in results if block.characters > most]
        shell = [block for block in longer if (block.name or "").lower() in SHELLS]
        found.append(
            CutResults(
                characters=most,
                shell=len(shell),
                shell_saves=sum(_beyond(block, most) for block in shell),
                results=len(longer),
                saves=sum(_beyond(block, most) for block in longer),
            )
        )
    return tuple(found)


def _beyond(block: ContextBlock, most: int) -> int:
    return block.cost * (block.characters - most) // block.characters


def report_tokens(account: ContextAccount) -> tuple[int, bool]:
    """The size of a subagent's report: the median of the session's own, and whether there are enough of them."""
    sizes = [
        block.tokens for block in account.blocks if block.kind == "result" and (block.name or "").lower() in SPAWNS
    ]
    if len(sizes) < FEWEST_REPORTS:
        return REPORT_TOKENS, False
    return max(1, int(median(sizes))), True


def fresh_subagents(account: ContextAccount) -> tuple[FreshSubagent, ...]:
    """The turns whose work would have cost less in a subagent of its own, the most first.

    The subagent writes tools and system once, reads them as the turn did, and carries only its own work. The parent
    looks once more at its context, reads the report, and carries that instead of the work.
    """
    report, _ = report_tokens(account)
    found = []
    for turn in account.turns:
        if turn.requests < LEAST_REQUESTS or turn.work <= report:
            continue
        one = FreshSubagent(
            turn=turn,
            report=report,
            stays_out=turn.carried,
            after=turn.after - turn.after * report // turn.work,
            head=turn.head * turn.write_rate,
            returns=turn.first_look + report * (turn.write_rate + turn.output_rate),
        )
        if one.saves > 0:
            found.append(one)
    return tuple(sorted(found, key=lambda one: (-one.saves, one.turn.first)))


def deferred_definitions(account: ContextAccount) -> DeferredDefinitions | None:
    """What definitions of tools cost before they were needed; ``None`` where the log does not hold them."""
    tools = [block for block in account.blocks if block.kind == "tools"]
    if not tools:
        return None
    never = [block for block in tools if block.name not in account.needed]
    later = {block.name for block in tools if block.name in account.needed}
    return DeferredDefinitions(
        never=len({block.name for block in never}),
        never_cost=sum(block.cost for block in never),
        later=len(later),
        later_cost=sum(account.needed[name] for name in later if name is not None),
    )
