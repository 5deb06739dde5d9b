"""Budgets judged on inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentsim.budget.budget_gate import Gate
    from agentsim.core.session import Problem


def run(paths: tuple[str, ...], config: Any, budgets: Any, baseline: str | None, against: str | None = None) -> Gate:
    """Read the inputs and judge them; ``against`` is the branch at whose point of departure the baseline is read."""
    from agentsim.budget.budget_judging import judge
    from agentsim.budget.recordings import read_recordings
    from agentsim.commands.options.budget_options import baseline_file, inputs_of, read_measures

    inputs = inputs_of(config, paths)
    growth = any(limit.kind == "max-growth" for budget in budgets for limit in budget.limits)
    measures = read_measures(baseline_file(config, baseline), against) if growth else None
    problems: list[Problem] = []
    return judge(
        read_recordings(inputs, problems),
        budgets,
        root=config.root if config is not None else ".",
        baseline=measures,
        problems=problems,
        config=config.file if config is not None else None,
        # Of files that were named, each budget takes those it is about; the others have nothing to say.
        all_must_match=not paths,
    )
