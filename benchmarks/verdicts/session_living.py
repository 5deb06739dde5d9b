"""Sessions to be lived: which cells, in which world, with which seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.verdicts import causes_in_prefix, causes_in_settings, causes_in_time
from benchmarks.verdicts.automatic_world import AutomaticWorld
from benchmarks.verdicts.breakpoint_world import BreakpointWorld
from benchmarks.verdicts.cell_registry import CELLS, Cell
from benchmarks.verdicts.documented_rules import CLAUDES, CODEX, DEEPSEEK, GPT_52, GPT_54, GPT_56, ModelRules
from benchmarks.verdicts.made_content import Content
from benchmarks.verdicts.simulated_agent import Agent, Life, World, with_previous

SCRIPTS = (causes_in_prefix, causes_in_time, causes_in_settings)
"""The modules that register cells when they are imported."""

OCTOBER = 1_791_100_000.0
"""2026-10-04: before the day from which an automatic cache keeps a day by default."""
MAY = 1_778_500_000.0
"""2026-05: entries were not always readable at once."""

MODELS: dict[str, tuple[ModelRules, ...]] = {
    "claude": CLAUDES,
    "openai": (GPT_54, GPT_52),
    "deepseek": (DEEPSEEK,),
    "gpt-5.6": (GPT_56,),
    "codex": (CODEX,),
}
HEAVY_EACH = 6
"""Of so many sessions of a cell and family one is heavy."""
WEIGHTS = {"claude": 3, "openai": 2, "deepseek": 1, "gpt-5.6": 1, "codex": 1}


@dataclass(frozen=True)
class Order:
    """One session to be lived."""

    cell: Cell
    family: str
    number: int
    seed: int
    heavy: bool = False
    """With as much tools and system text as real harnesses have: tens of thousands of tokens."""

    @property
    def id(self) -> str:
        """The session's name, the same for the same order."""
        return f"{self.cell.name}.{self.family}.{self.number}".replace(":", "-").replace("+", "-and-")


def orders(count: int, seed: int, only: str | None = None, *, heavy: bool = False) -> Iterator[Order]:
    """So many sessions, every cell in each of its families by turns. ``only`` is the beginning of a cell's name, and of
    a family's behind ``@``."""
    name, _, family = (only or "").partition("@")
    places = [
        (cell, of)
        for turn in range(max(WEIGHTS.values()))
        for cell in CELLS.values()
        if cell.name.startswith(name)
        for of in cell.families
        if of.startswith(family) and turn < WEIGHTS[of]
    ]
    if not places:
        raise ValueError(f"no cell begins with {only!r}")
    counts: dict[tuple[str, str], int] = {}
    for number in range(count):
        cell, of = places[number % len(places)]
        at = counts[cell.name, of] = counts.get((cell.name, of), -1) + 1
        yield Order(cell, of, at, seed, heavy or at % HEAVY_EACH == HEAVY_EACH - 1)


def live(order: Order, *, shipped_only: bool = False) -> Life:
    """Live one session."""
    rng = random.Random(f"{order.seed}/{order.cell.name}/{order.family}/{order.number}")
    fitting = [rules for rules in order.cell.models if rules in MODELS[order.family]] or list(
        order.cell.models if order.family == "claude" and order.cell.models else MODELS[order.family]
    )
    rules = rng.choice(fitting)
    life = Life(order.id, order.cell.name, order.family, rules)
    agent = Agent(life, _world(rules, rng), rng, _begin(order, rng), Content(rng, shipped_only=shipped_only))
    if order.heavy:
        agent.system[-1] += "\n" + agent.content.text(14_000)
        agent.words = (600, 1_800)
    if rules.matching == "breakpoint" and rng.random() < 0.4 and order.cell.name != "lookback":
        agent.marked = with_previous
    if rules.matching == "implicit":
        agent.settings["prompt_cache_key"] = order.id[:60]
    agent.head_is_warm = rules.matching == "breakpoint" and rng.random() < 0.3
    order.cell.script(agent)
    return life


def _begin(order: Order, rng: random.Random) -> float:
    start = MAY if order.cell.early else OCTOBER
    return start + rng.randrange(0, 12) * 86_400 + rng.randrange(0, 36_000)


def _world(rules: ModelRules, rng: random.Random) -> World:
    """A world with the hidden facts of this session."""
    if rules.matching in ("breakpoint", "implicit"):
        return BreakpointWorld(rules, linger=rng.choice((0.0, 0.0, 2.0, 9.0)), closing=rng.choice((0, 2, 2, 3)))
    idle = rng.uniform(420, 1_200) if rules.provider == "openai" else rng.uniform(20_000, 80_000)
    return AutomaticWorld(rules, idle=idle)
