"""The policies that ``--policy`` and ``--all`` ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.whatif.policies import Policy


def chosen_policies(specs: tuple[str, ...], every: bool) -> list[Policy]:
    """Those named, and behind them with ``every`` all others; without either, those under which each request shows the
    model the same blocks. Raises Failure for a name or a parameter that does not exist."""
    named, others = named_and_others(specs, every)
    return named + others


def named_and_others(specs: tuple[str, ...], every: bool) -> tuple[list[Policy], list[Policy]]:
    """The policies that were named, and those tried beside them. Raises Failure as chosen_policies does."""
    from agentsim.whatif.policies import PolicyError, every_policy, parse

    try:
        named = [parse(spec) for spec in specs]
    except PolicyError as error:
        raise Failure(str(error), code=ExitCode.USAGE) from None  # it says what there is instead
    if named and not every:
        return named, []
    given = {policy.spec for policy in named}
    others = [policy for policy in every_policy() if policy.spec not in given]
    return named, [policy for policy in others if every or policy.changes is None]
