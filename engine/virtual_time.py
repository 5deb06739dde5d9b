"""The engine on the clock of a simulation: its steps take as long as they are measured to take.

A request joins at the first step that begins at its arrival or later: what is in the cache by then it reads, what
others are still computing it computes, too. All that overlaps is in the engine together, as it would be on a calendar
that ran as fast as this machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from agentsim.engine.inference_engine import Engine
from agentsim.engine.sequence import Sequence, SequenceState

if TYPE_CHECKING:
    import simpy


class VirtualClock:
    """Nanoseconds of the simulation. Within a step it goes on as fast as ``timer``. Mutable."""

    def __init__(self, timer: Callable[[], int] = time.perf_counter_ns) -> None:
        self.now = 0
        self._timer = timer
        self._began: int | None = None

    def __call__(self) -> int:
        """The time."""
        return self.now if self._began is None else self.now + self._timer() - self._began

    def measure(self, step: Callable[[], object], now: int) -> int:
        """Do a step that begins at ``now``. Returns how long it took."""
        self.now = now
        self._began = self._timer()
        try:
            step()
            return max(self._timer() - self._began, 1)
        finally:
            self._began = None


class TimedSequence:
    """A request in the engine. ``first`` and ``done`` happen with its first token and its last one.

    ``joined``, ``first_token`` and ``end`` are the times of the steps that it joined and that chose those tokens;
    ``computed`` is when each block of its prompt was there (nanoseconds). Mutable; the engine's process alone writes.
    """

    def __init__(self, environment: simpy.Environment, sequence: Sequence) -> None:
        self.sequence = sequence
        self.first = environment.event()
        self.done = environment.event()
        self.joined = 0
        self.first_token = 0
        self.end = 0
        self.computed: list[int] = []
        self.when_over: Callable[[TimedSequence], None] | None = None
        """Called before whoever waits for ``done`` goes on."""
        self._has_joined = False

    def step(self, began: int, ended: int) -> None:
        """A step is over, which may have been one of this request."""
        sequence = self.sequence
        if not self._has_joined and sequence.state is not SequenceState.WAITING:
            self._has_joined, self.joined = True, began
            self.computed = [began] * (sequence.reused // sequence.chain.block)
        blocks = min(sequence.computed, sequence.prompt_length) // sequence.chain.block
        self.computed += [ended] * (blocks - len(self.computed))
        if sequence.first_token is not None and not self.first.triggered:
            self.first_token = ended
            self.first.succeed(self)
        if sequence.is_over:
            self.end = ended
            if self.when_over is not None:
                self.when_over(self)
            self.done.succeed(self)


class EngineProcess:
    """Runs an engine on a SimPy clock as long as there is something to do. Its ``clock`` must be the engine's own."""

    def __init__(self, environment: simpy.Environment, engine: Engine, clock: VirtualClock) -> None:
        self._environment = environment
        self._engine = engine
        self._clock = clock
        self.busy = 0
        """How long it has computed (nanoseconds)."""
        self._live: list[TimedSequence] = []
        self._runs = False

    @property
    def now(self) -> int:
        """The time on the clock of the simulation."""
        now: int = self._environment.now  # type: ignore[assignment]
        return now

    def add(self, submit: Callable[[], Sequence]) -> TimedSequence:
        """A request arrives now; ``submit`` hands it to the engine."""
        self._clock.now = self.now
        timed = TimedSequence(self._environment, submit())
        self._live.append(timed)
        if not self._runs:
            self._runs = True
            self._environment.process(self._run())
        return timed

    def _run(self) -> Generator[simpy.Event, Any, None]:
        while self._live:
            began = self.now
            yield self._environment.timeout(0)
            while self._environment.peek() <= began:  # whoever arrives at the same instant joins at the same step
                yield self._environment.timeout(0)
            lasts = self._clock.measure(self._engine.step, began)
            self.busy += lasts
            yield self._environment.timeout(lasts)
            ended = self.now
            live, self._live = self._live, []
            for timed in live:
                timed.step(began, ended)
            # Whoever came during the step is in the list already.
            self._live = [*(timed for timed in live if not timed.sequence.is_over), *self._live]
        self._runs = False
