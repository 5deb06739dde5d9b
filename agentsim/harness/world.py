"""What the agents of one simulation share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentsim.harness.plan import Plan
from agentsim.harness.random_streams import Streams
from agentsim.harness.simulated_endpoint import SimulatedEndpoint
from agentsim.harness.simulation_recorder import SimulationRecorder

if TYPE_CHECKING:
    import simpy


class World(NamedTuple):
    """The clock, the plan, the provider, the record and the random streams."""

    clock: simpy.Environment
    plan: Plan
    endpoint: SimulatedEndpoint
    recorder: SimulationRecorder
    streams: Streams

    @property
    def now(self) -> int:
        """The time on the clock: a whole number, because it starts as one and only whole numbers are added."""
        now: int = self.clock.now  # type: ignore[assignment]
        return now


class GaveUp(Exception):
    """A request failed for good: the task of its agent is not finished."""
