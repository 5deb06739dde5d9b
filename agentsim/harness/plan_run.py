"""Run a plan: the clock, the agents, and what comes out of it."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import msgspec

from agentsim.cache import CacheBackend
from agentsim.cache.routed_backend import RoutedProvider
from agentsim.core.garbage_collection import without_collection
from agentsim.core.session import Lane, Ledger, Session
from agentsim.harness.plan import Plan
from agentsim.harness.random_streams import Streams
from agentsim.harness.simulated_endpoint import LiveEndpoint, SimulatedEndpoint
from agentsim.harness.simulation_recorder import Link, SimulationRecorder, Span, free, priced
from agentsim.harness.task_account import TaskAccount
from agentsim.harness.world import World

if TYPE_CHECKING:
    import simpy


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan led to. ``ledger`` (with its session) is ``None`` where only the account was kept.

    ``spans`` are what lanes did beside requests, ``links`` which request read what another one wrote.
    """

    name: str
    seed: int
    account: TaskAccount
    ledger: Ledger | None
    spans: tuple[Span, ...] = ()
    links: tuple[Link, ...] = ()

    @property
    def session(self) -> Session:
        """The session. Raises ValueError where only the account was kept."""
        if self.ledger is None:
            raise ValueError("only the account of this simulation was kept")
        return self.ledger.session


def simulate(
    plan: Plan,
    backend: CacheBackend | None = None,
    *,
    keep: bool = True,
    price: bool = True,
    live: LiveEndpoint | None = None,
) -> Simulation:
    """Run a plan to its end. The same plan gives the same result, whatever the process, the platform or the time.

    ``backend`` is the one that the provider's rules describe, unless another is given; it must not have served
    anything yet. Without ``price`` nothing has a cost. ``live`` answers in its place, in its own time. With
    ``keep=False`` only the account is kept, and what the backend keeps of each request. Raises ValueError for a
    provider without known rules.
    """
    import simpy

    clock = simpy.Environment(initial_time=plan.start)
    recorder = SimulationRecorder(priced() if price else free, keep=keep)
    endpoint = SimulatedEndpoint(backend or RoutedProvider(forgets=True), plan.service, recorder, plan.provider, live)
    if live is not None:
        live.start(clock)
    world = World(clock, plan, endpoint, recorder, Streams(plan.seed))
    clock.process(_arrive(world))
    with without_collection():
        clock.run()
    recorder.trailing()
    if live is not None:
        recorder.sort()
    ledger = None
    if keep:
        session = Session(
            id=f"{plan.name}-{plan.seed}",
            format="simulation",
            completeness="full",
            lanes=_lanes(recorder),
            requests=tuple(recorder.requests),
            events=tuple(recorder.events),
            harness="simulated",
            title=plan.title or plan.name,
        )
        ledger = Ledger(session=session, rows=tuple(recorder.rows))
    return Simulation(
        name=plan.name,
        seed=plan.seed,
        account=recorder.meter.account(passes_known=plan.passes is not None, window=plan.window),
        ledger=ledger,
        spans=tuple(recorder.spans),
        links=tuple(recorder.links),
    )


def _arrive(world: World) -> Generator[simpy.Event, Any, None]:
    """Start the agents one after the other."""
    from agentsim.harness.agent import Agent, opened

    plan = world.plan
    count = plan.population.agents
    arrivals = world.streams.stream("arrivals")
    for number in range(1, count + 1):
        name = "main" if count == 1 else f"agent{number}"
        world.recorder.lane(name, "main", None)
        if plan.harness.helper is not None:
            world.recorder.lane(f"{name}/helper", "helper", name)
        agent = Agent(world, name, opened(world, name, plan.layout))
        world.clock.process(agent.go_through(plan.source.steps(world.streams.stream(f"{name}/task"))))
        if number < count:
            gap = plan.population.gap.draw(arrivals)
            if gap:
                yield world.clock.timeout(gap)


def _lanes(recorder: SimulationRecorder) -> tuple[Lane, ...]:
    """The lanes in which something was sent, in the order in which they were announced."""
    used = {request.lane for request in recorder.requests}
    return tuple(lane for lane in recorder.lanes if lane.id in used)
