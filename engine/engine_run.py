"""Simulated agents on the engine: a scenario lived through with real keys and values, beside what a rule predicts."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.core.session import Request
from agentsim.engine.engine_backend import EngineBackend, MeasuredUsage
from agentsim.engine.engine_endpoint import PROVIDER, EngineEndpoint
from agentsim.engine.engine_replay import (
    GIB,
    MOST_AT_ONCE,
    check_breakpoints,
    distinct_pages,
    most_at_once,
    predicted_reads,
    warm_up,
)
from agentsim.engine.inference_engine import Engine
from agentsim.engine.model_loading import LoadedModel
from agentsim.engine.trace_tokens import DoesNotFit, DrawnTokens, page_prompt, writer_for
from agentsim.engine.virtual_time import VirtualClock
from agentsim.harness.plan import Plan
from agentsim.harness.plan_run import Simulation, simulate

SPARE = 3
"""The engine has room for so many times the pages that the rough simulation had, and for prompts that come together."""


@dataclass(frozen=True)
class EngineRunRow:
    """One request: tokens read as predicted and as measured on pages."""

    request: Request
    predicted: int
    measured: MeasuredUsage

    @property
    def agrees(self) -> bool:
        """Whether what was predicted was measured."""
        return self.predicted == self.measured.reused


@dataclass(frozen=True)
class EngineRun:
    """A simulation whose answers came from the engine. ``busy`` is how long it computed (nanoseconds), ``rules`` whose
    lifetimes and breakpoints were enforced on its pages (``None``: nobody's)."""

    simulation: Simulation
    rows: tuple[EngineRunRow, ...]
    model: str
    precision: str
    device: str
    scale: float
    page: int
    busy: int
    rules: str | None

    @property
    def agreeing(self) -> int:
        """How many rows agree."""
        return sum(row.agrees for row in self.rows)


def run_on_engine(
    plan: Plan,
    loaded: LoadedModel,
    *,
    new_tokens: int = 8,
    page: int = 16,
    longest: int | None = None,
    memory: int = 4 * GIB,
    rules: str | None = None,
    paranoid: bool = False,
) -> EngineRun:
    """Simulate a plan with the engine as its endpoint.

    How much the prompts are shrunk is found by simulating it on the modeled provider before: until the longest has
    ``longest`` tokens, or as many as the model's context holds. ``rules`` names a provider whose lifetimes, breakpoints
    and lookback limit what is read. Raises ValueError for an unknown provider, and DoesNotFit.
    """
    if rules is not None:
        check_breakpoints(rules, plan.model, plan.start)
    config = loaded.model.config
    rough = simulate(plan, price=False).session.requests
    limit = (config.context - new_tokens) * 3 // 4  # what is lived through may grow longer than what was foreseen
    writer = writer_for(rough, vocabulary=config.vocab, limit=limit, how="drawn", drawn_limit=longest)
    known = [(request, tokens) for request in rough if (tokens := writer.write(request)) is not None]
    largest = max((len(tokens) for _, tokens in known), default=page)
    room = memory // (loaded.bytes_per_token * page)
    together = min(most_at_once(rough) + 1, MOST_AT_ONCE)
    pages = min(SPARE * distinct_pages(known, page) + 2 * together * (-(-(largest + new_tokens) // page) + 1), room)
    if pages < 2 * (largest // page + 1):
        raise DoesNotFit(
            f"{memory / GIB:.1f} GiB hold {room * page} tokens; the longest prompt alone needs half of that"
        )
    clock = VirtualClock()
    engine = Engine(
        loaded.model,
        pages=pages,
        page_size=page,
        keep_generated=False,
        step_sequences=MOST_AT_ONCE,
        join_at_once=True,
        clock=clock,
        paranoid=paranoid,
    )
    warm_up(engine)
    backend = EngineBackend(engine, DrawnTokens(config.vocab), new_tokens=new_tokens, stop=False)
    provider = None if rules is None else ModeledProvider(forgets=True)
    endpoint = EngineEndpoint(
        backend, clock, scale=writer.scale, model=loaded.name, provider=rules or PROVIDER, rules=provider
    )
    simulation = simulate(plan, price=rules is not None, live=endpoint)
    predicted = endpoint.predicted if rules is not None else _by_pages(simulation, backend, page)
    measured = {one.request: one for one in backend.measured}
    rows = tuple(
        EngineRunRow(request, _whole(predicted[request.id], page), measured[request.id])
        for request in simulation.session.requests
        if request.id in measured
    )
    return EngineRun(
        simulation=simulation,
        rows=rows,
        model=loaded.name,
        precision=loaded.precision,
        device=loaded.model.device.type,
        scale=writer.scale,
        page=page,
        busy=endpoint.busy,
        rules=rules,
    )


def _by_pages(simulation: Simulation, backend: EngineBackend, page: int) -> dict[str, int]:
    """What the rule about pages says, by request."""
    paged = []
    for request in simulation.session.requests:
        written = backend.writer.write(request)
        if written is not None:
            paged.append(msgspec.structs.replace(request, prompt=page_prompt(written.tokens, page)))
    return predicted_reads(paged, page, None, backend.measured)


def _whole(tokens: int, page: int) -> int:
    return tokens - tokens % page
