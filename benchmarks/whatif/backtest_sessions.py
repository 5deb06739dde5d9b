"""Agents that live a session: which scenario, which settings, which seed, and the same agent under other settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

from agentsim.core.session import Request, Session
from agentsim.harness.plan import Compaction, Plan
from agentsim.harness.plan_run import simulate
from agentsim.harness.random_draws import FixedNumber
from agentsim.rules.prices import cost, default_book
from agentsim.scenarios.bundled_scenarios import text
from agentsim.scenarios.scenario_loading import parse
from benchmarks.whatif.backtest_world import BacktestWorld, Gateway
from benchmarks.whatif.hidden_facts import HiddenFacts, drawn, nothing_hidden, share

DATA = Path(__file__).parents[3] / "shared" / "data"
SHORT, LONG = 300, 3600
LIFETIMES = ((LONG, SHORT), (LONG, LONG), (SHORT, SHORT), (SHORT, SHORT))
"""Of the main loop and of subagents."""
MARKS = (("system", "last"), ("system", "project", "last"), ("system", "previous", "last"))


@dataclass(frozen=True)
class Scene:
    """A scenario with the keys that are changed in it. With ``pauses`` those of its user are drawn for each session."""

    name: str
    base: str
    settings: tuple[str, ...] = ()
    pauses: bool = False


_DAYS = (
    Scene("claude-code-day", "claude-code-day", pauses=True),
    Scene("claude-code-day, parallel calls", "claude-code-day", ("task.calls=3",), pauses=True),
    Scene("claude-code-day, subagents", "claude-code-day", ("task.delegation.chance=0.12",), pauses=True),
    Scene("pi-day", "pi-day", ("harness.keep_alive=off",), pauses=True),
    Scene("claude-code-day, compacting", "claude-code-day", ("harness.compaction.trigger=60_000",), pauses=True),
)
SCENES: tuple[Scene, ...] = (
    *_DAYS,
    *_DAYS,
    Scene("idle-afternoon", "idle-afternoon", ("harness.keep_alive=off",)),
    Scene("compaction-stages", "compaction-stages"),
    Scene("tool-loading", "tool-loading"),
    Scene("codemode-logs", "codemode-logs"),
    Scene("fanout-2x2", "fanout-2x2"),
    Scene("atlas-14", "atlas-14"),
)
SUMMARY, NEVER = 3_500, 10**9
LEFT = (3_500, 7_000, 10_500, 13_800, 13_800, 13_800, 17_500, 22_000, 31_200)
"""Tokens that stand in place of a history: between a summary alone and the most that is recorded."""
REREAD = ((0, 0), (2_600, 2), (2_600, 2), (6_000, 4))
"""Tokens that agents read again after it, and in how many requests."""
FITTED_EACH = 4
"""Of so many sessions one is of a scenario that was fitted to real logs."""


@dataclass(frozen=True)
class BacktestOrder:
    """One session to be lived."""

    number: int
    seed: int
    hidden: bool = True

    @property
    def name(self) -> str:
        """What all that is drawn follows from."""
        return f"{self.seed}/{self.number}"


@dataclass(frozen=True)
class LivedSession:
    """What the agents sent and what they were billed."""

    session: Session
    facts: HiddenFacts


def orders(count: int, seed: int, *, first: int = 0, hidden: bool = True) -> Iterator[BacktestOrder]:
    """So many sessions, from this number on."""
    return (BacktestOrder(number, seed, hidden) for number in range(first, first + count))


@lru_cache(maxsize=4)
def plan_of(order: BacktestOrder) -> tuple[str, Plan]:
    """The scenario of a session, and its plan under the settings of its log."""
    fitted = fitted_scenarios()
    if fitted and order.number % FITTED_EACH == FITTED_EACH - 1:
        path, document = fitted[order.number // FITTED_EACH % len(fitted)]
        scene = Scene(f"fit of {path}", "", pauses=False)
        cells = parse(document, "fit", path, _drawn_keys(order, scene))
    else:
        scene = SCENES[(order.number - order.number // FITTED_EACH) % len(SCENES)]
        cells = parse(text(scene.base), scene.base, scene.base, (*scene.settings, *_drawn_keys(order, scene)))
    cell = cells[int(share(order.name, "cell") * len(cells))]
    plan = cell.plan(order.seed * 1_000_003 + order.number)
    main, children = LIFETIMES[int(share(order.name, "lifetimes") * len(LIFETIMES))]
    marks = MARKS[int(share(order.name, "marks") * len(MARKS))]
    if plan.marks.ttl:
        plan = msgspec.structs.replace(
            plan, marks=msgspec.structs.replace(plan.marks, at=marks, ttl=main, subagent_ttl=children)
        )
    rule = plan.harness.compaction
    if rule is None or rule.method == "reuse_prefix":
        # What logs show is left of a history: a summary, and files that are attached to it again.
        left = LEFT[int(share(order.name, "left of a history") * len(LEFT))]
        again, requests = REREAD[int(share(order.name, "read again") * len(REREAD))]
        rule = msgspec.structs.replace(
            rule or Compaction(trigger=NEVER),
            summary=FixedNumber(SUMMARY),
            keep=0,
            attached=left - SUMMARY,
            reread=again,
            rereads=requests,
            instruction=500,
        )
        plan = msgspec.structs.replace(plan, harness=msgspec.structs.replace(plan.harness, compaction=rule))
    return scene.name, plan


def _drawn_keys(order: BacktestOrder, scene: Scene) -> Sequence[str]:
    keys = []
    if scene.pauses or scene.name.startswith("fit"):
        keys.append(f"task.turns={3 + int(6 * share(order.name, 'turns'))}")
    if scene.pauses:
        median = (60, 150, 240, 400, 900)[int(5 * share(order.name, "pauses"))]
        keys.append(f"task.pause={{ lognormal = {{ median = {median}, p95 = {10 * median}, max = 9_000 }} }}")
    return keys


@lru_cache(maxsize=1)
def fitted_scenarios() -> tuple[tuple[str, str], ...]:
    """Scenarios fitted to the recorded logs, by the name of the log."""
    from agentsim.scenarios.scenario_fitting import as_toml, fit
    from agentsim.traces.format_registry import read

    found = []
    for path in sorted((DATA / "claude-code").glob("*.jsonl")):
        try:
            document = as_toml(fit(read([str(path)])), path.stem)
            parse(document, "fit", path.stem)
        except (ValueError, TypeError):
            continue
        found.append((path.stem.split("__")[-1], document))
    return tuple(found)


def live(
    order: BacktestOrder,
    changed: Plan | None = None,
    gateway: Gateway | None = None,
    world: Callable[[HiddenFacts], BacktestWorld] | None = None,
) -> LivedSession:
    """Live one session, under the settings of its log or under a changed plan, gateway or provider (``world``)."""
    _, plan = plan_of(order)
    if changed is not None:
        plan = changed
    facts = drawn(order.name, plan.start) if order.hidden else nothing_hidden(order.name)
    simulation = simulate(plan, BacktestWorld(facts, gateway) if world is None else world(facts))
    return LivedSession(simulation.session, facts)


def logged(lived: LivedSession) -> tuple[Request, ...]:
    """The requests that a log may hold: those that ended, behind the place where it begins."""
    requests = lived.session.requests
    main = [request for request in requests if request.purpose == "main" and "/" not in request.lane]
    first = main[min(lived.facts.begins, len(main) // 4)].start or 0
    return tuple(request for request in requests if (request.start or 0) >= first)


def bill(requests: Sequence[Request]) -> int:
    """What requests cost, in picodollars."""
    book, total = default_book(), 0
    for request in requests:
        assert request.usage is not None
        card = book.card_for(request, request.usage)
        paid = None if card is None else cost(card, request.usage)
        assert paid is not None, request.model
        total += paid
    return total
