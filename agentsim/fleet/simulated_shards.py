"""Sessions that a sweep simulates itself: each cell of a scenario under each seed is a shard."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agentsim.core.session import Session
from agentsim.fleet.shards import Recipe, ShardUnit


def units_of_scenarios(sources: Sequence[str], seeds: int, settings: Sequence[str] = ()) -> list[ShardUnit]:
    """One unit for each cell and seed of scenarios (files, or names of bundled ones). Raises WrittenFileError."""
    from agentsim.scenarios.scenario_loading import find, parse

    units = []
    for source in sources:
        name, text, file = find(source)
        for number, cell in enumerate(parse(text, name, file, settings)):
            first = cell.scenario.seed
            for seed in range(first, first + seeds):
                recipe = Recipe(text=text, name=name, file=file, settings=tuple(settings), cell=number, seed=seed)
                title = f"{name} {cell.label} seed {seed}".replace("  ", " ")
                units.append(ShardUnit(title, "scenario", "scenarios", (), recipe))
    return units


def session_of(recipe: Recipe, title: str) -> Session:
    """The session that a recipe makes: the same on every machine."""
    from agentsim.harness.plan_run import simulate
    from agentsim.scenarios.scenario_loading import parse

    cell = parse(recipe.text, recipe.name, recipe.file, recipe.settings)[recipe.cell]
    session = simulate(cell.plan(recipe.seed)).session
    return msgspec.structs.replace(session, id=title, files=(f"scenario/{recipe.name}",))
