"""A real engine as the endpoint of simulated agents: what they do next depends on what it measured.

Prompts are the scenario's, each block shrunk to a share of its tokens where they do not fit the model. Waits,
keep-alives, staggered subagents and compactions react to its answers, which come when the clock of the simulation says
so.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import msgspec

from agentsim.cache import NOTHING, Served
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request, Usage
from agentsim.engine.engine_backend import EngineBackend
from agentsim.engine.virtual_time import EngineProcess, VirtualClock
from agentsim.harness.simulated_endpoint import SimulatedAnswer

if TYPE_CHECKING:
    import simpy

    from agentsim.harness.simulation_recorder import SimulationRecorder
    from agentsim.harness.task_account import CompactionMeter

PROVIDER = "vllm"
"""By whose rules requests are judged that were answered by the engine alone."""


class EnginePending:
    """See :class:`agentsim.harness.simulated_endpoint.PendingAnswer`."""

    def __init__(self, clock: simpy.Environment) -> None:
        self.first = clock.event()
        self.done = clock.event()
        self.answer: SimulatedAnswer | None = None


class EngineEndpoint:
    """An :class:`agentsim.harness.simulated_endpoint.LiveEndpoint` on one engine, for one simulation.

    ``scale`` is the share of their tokens that blocks keep, ``model`` what the engine's model is called. Without
    ``rules`` the engine reads what it has, and what is recorded are the requests as it saw them, to be judged by the
    rules of ``PROVIDER``. With them (the model of a provider with breakpoints, which has served nothing yet) only what
    its lifetimes, breakpoints and lookback allow is read of the pages, and what is recorded are the scenario's requests
    with what that provider would have counted. Mutable.
    """

    def __init__(
        self,
        backend: EngineBackend,
        clock: VirtualClock,
        *,
        scale: float,
        model: str,
        provider: str = PROVIDER,
        rules: ModeledProvider | None = None,
    ) -> None:
        self.backend = backend
        self.predicted: dict[str, int] = {}
        """What the rules let each request read of its pages, where there are any."""
        self._clock = clock
        self._scale = scale
        self._model = model
        self._provider = provider
        self._rules = rules
        self._models: dict[str, int] = {}
        self._blocks: dict[bytes, Block] = {}
        self._process: EngineProcess | None = None
        self._environment: simpy.Environment | None = None

    @property
    def busy(self) -> int:
        """How long the engine has computed so far (nanoseconds)."""
        return 0 if self._process is None else self._process.busy

    def start(self, clock: simpy.Environment) -> None:
        """See :class:`agentsim.harness.simulated_endpoint.LiveEndpoint`."""
        self._environment = clock
        self._process = EngineProcess(clock, self.backend.engine, self._clock)

    def send(
        self,
        request: Request,
        recorder: SimulationRecorder,
        following: CompactionMeter | None,
        compacting: CompactionMeter | None,
        *,
        first_token: int | None = None,
        took: int | None = None,
    ) -> SimulatedAnswer:
        """See :class:`agentsim.harness.simulated_endpoint.LiveEndpoint`. Raises ValueError for a provider whose rules
        are no such rules."""
        process, clock = self._process, self._environment
        assert process is not None
        assert clock is not None
        assert request.prompt is not None
        now = process.now
        sent = msgspec.structs.replace(
            request,
            prompt=self.scaled(request.prompt),
            provider=self._provider,
            model=self._called(request.model),
        )
        shown = sent if self._rules is None else msgspec.structs.replace(request, provider=self._provider)
        lookup = self.backend.look_up(sent, now)
        ruled = None if self._rules is None else _LookedUpRequest(self._rules, shown, now)
        refused = lookup.rejected or (None if ruled is None else ruled.rejected)
        if refused is not None:
            shown = msgspec.structs.replace(shown, usage=NOTHING, end=now)
            served = Served(usage=NOTHING, rejected=refused)
            cost = recorder.served(shown, served, now, now, following, compacting)
            return SimulatedAnswer(shown, 0, now, now, refused, cost)
        limit = None
        if ruled is not None:
            assert sent.prompt is not None
            limit = self.predicted[request.id] = sent.prompt.tokens_until(ruled.length)
        joined = self.backend.join(process, lookup, limit)
        pending = EnginePending(clock)

        def deliver() -> Generator[simpy.Event, Any, None]:
            yield joined.timed.first
            yield clock.timeout(max(0, now + (first_token or 0) - process.now))
            first = process.now
            if ruled is not None:
                ruled.keep(first)
            pending.first.succeed()
            if not joined.timed.done.processed:
                yield joined.timed.done
            yield clock.timeout(max(0, now + (took or 0) - process.now))
            served, end = joined.served, process.now
            assert served is not None
            if ruled is not None:
                assert limit is not None
                size = self.backend.engine.page_size
                if (served.usage.read or 0) == min(limit, len(lookup.found[1]) - 1) // size * size:
                    served = msgspec.structs.replace(served, usage=ruled.bill(), hit=ruled.length)
                else:  # the pages were not there
                    assert request.prompt is not None
                    read = request.prompt.tokens_until(served.hit)
                    usage = Usage(fresh=request.prompt.tokens - read, read=read, output=served.usage.output)
                    served = msgspec.structs.replace(served, usage=usage)
            answered = msgspec.structs.replace(shown, usage=served.usage, first_token=first, end=end)
            cost = recorder.served(answered, served, first, end, following, compacting)
            known = msgspec.structs.replace(request, first_token=first, end=end)
            pending.answer = SimulatedAnswer(known, served.usage.read or 0, first, end, None, cost)
            pending.done.succeed()

        clock.process(deliver())
        return SimulatedAnswer(request, 0, now, now, None, None, pending)

    def _called(self, model: str) -> str:
        """What the engine's model is called where a scenario names one of several: no rules of their makers hold."""
        number = self._models.setdefault(model, len(self._models) + 1)
        return self._model if number == 1 else f"{self._model} {number}"

    def scaled(self, prompt: Prompt) -> Prompt:
        """A prompt whose blocks have a share of their tokens, at least one each, and no breakpoint: there are none."""
        return Prompt.of([self._scaled(block) for block in prompt])

    def _scaled(self, block: Block) -> Block:
        found = self._blocks.get(block.digest)
        if found is None or found.message != block.message or found.part != block.part or found.role != block.role:
            tokens = max(1, round((block.tokens or 0) * self._scale)) if found is None else found.tokens
            found = msgspec.structs.replace(block, tokens=tokens)
            self._blocks[block.digest] = found
        return found


class _LookedUpRequest:
    """A request as the model of its provider finds it when it arrives; kept there once its answer begins."""

    def __init__(self, provider: ModeledProvider, request: Request, now: int) -> None:
        self._provider = provider
        self._request = request
        self._asked = provider.ask(request, now)
        self.rejected = self._asked.rejected
        self._hit = None if self.rejected is not None else provider.find(request, self._asked, now)

    @property
    def length(self) -> int:
        """Blocks that may be read."""
        return 0 if self._hit is None else self._hit.length

    def keep(self, first_token: int) -> None:
        """The answer begins: what was read is refreshed, what is marked is kept and can be read from now on."""
        asked = msgspec.structs.replace(self._asked, readable=first_token)
        self._provider.record(self._request, asked, first_token, self._hit)

    def bill(self) -> Usage:
        """What the provider would have counted."""
        return self._provider.bill(self._request, self._asked, self._hit)
