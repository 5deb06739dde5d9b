"""A session on the engine, beside what a rule predicts: the same tokens, once computed and once only counted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from agentsim.cache.engine_cache import EngineCache
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.simulate import arrivals_of
from agentsim.core.session import Request, Session
from agentsim.engine.engine_backend import EngineBackend, MeasuredUsage
from agentsim.engine.inference_engine import Engine
from agentsim.engine.model_loading import LoadedModel
from agentsim.engine.restore_costs import RestoredPrompt, measure_restore
from agentsim.engine.trace_tokens import DoesNotFit, How, PromptTokens, TokenWriter, page_prompt, writer_for
from agentsim.engine.virtual_time import EngineProcess, VirtualClock
from agentsim.rules.providers import rules_for
from agentsim.rules.providers.rules_library import load_rules
from agentsim.rules.providers.rules_resolution import resolve

if TYPE_CHECKING:
    import simpy

RULES = "vllm"
"""Whose rules predict: the longest prefix of whole pages, the last token always computed."""

GIB = 2**30

MOST_AT_ONCE = 64
"""Requests that are in the engine together; those above wait."""

Progress = Callable[[int, int], None]
"""Called with tokens done and tokens in all."""


@dataclass(frozen=True)
class ReplayedRow:
    """One request: tokens reused as predicted and as measured; times to the first token in nanoseconds, ``cold`` with
    nothing reused (``None`` where nothing was reused, or it was not measured)."""

    request: Request
    predicted: int
    measured: MeasuredUsage
    cold: int | None

    @property
    def agrees(self) -> bool:
        """Whether the rule predicted what was measured."""
        return self.predicted == self.measured.reused


@dataclass(frozen=True)
class EngineReplay:
    """All that a replay on the engine shows. Sizes are bytes, times nanoseconds."""

    session: Session
    rows: tuple[ReplayedRow, ...]
    without_prompt: int
    """Requests of which too little is known to replay them."""
    model: str
    precision: str
    device: str
    threads: int
    how: How
    scale: float
    page: int
    capacity: int | None
    """How many tokens the cache keeps; ``None``: all."""
    bytes_per_token: int
    peak_bytes: int
    """The most K/V memory that requests held at once."""
    stored_bytes: int
    """K/V memory that the cache holds at the end."""
    restored: RestoredPrompt | None
    rules: str | None = None
    """Whose lifetimes, breakpoints and lookback were imposed on the pages."""

    @property
    def agreeing(self) -> int:
        """How many rows agree."""
        return sum(row.agrees for row in self.rows)


class NotForPages(ValueError):
    """Rules that cannot be imposed on an engine's pages."""


class NoKnownPrompts(ValueError):
    """A session of which no prompt is known, not even its size."""


def replay_on_engine(
    session: Session,
    loaded: LoadedModel,
    *,
    new_tokens: int = 8,
    page: int = 16,
    how: How | None = None,
    scale: float | None = None,
    capacity: int | None = None,
    memory: int = 4 * GIB,
    cold: bool = True,
    step_tokens: int = 512,
    paranoid: bool = False,
    longest: int | None = None,
    progress: Progress | None = None,
    rules: str | None = None,
) -> EngineReplay:
    """Replay a session's requests at their recorded times; those that overlap are in the engine together.

    Prompts whose tokens are drawn are shrunk until the longest has at most ``longest`` tokens, or else as many as the
    model's context holds. ``progress`` is called with tokens done and tokens in all.

    With ``rules``, the name of a provider with breakpoints, a request reads only what they would let it read at its
    recorded time; that is predicted then.

    ``capacity`` limits the tokens that the cache keeps (to whole pages); without one it keeps all that ``memory`` bytes
    hold. ``cold`` measures each request that reuses something once more without a cache. Raises NothingToReplay,
    agentsim.engine.trace_tokens.DoesNotFit.
    """
    config = loaded.model.config
    writer = writer_for(
        session.requests,
        vocabulary=config.vocab,
        limit=config.context - new_tokens,
        encoder=loaded.encoder,
        marks=loaded.marks,
        how=how,
        scale=scale,
        drawn_limit=longest,
    )
    written = [(request, writer.write(request)) for request in session.requests]
    known = [(request, tokens) for request, tokens in written if tokens is not None]
    if not known:
        raise NoKnownPrompts("no request tells its prompt, or how large it was")
    largest = max((tokens for _, tokens in known), key=len)
    transient = -(-(len(largest) + new_tokens) // page) + 1
    room = memory // (loaded.bytes_per_token * page)
    if room < 2 * transient:
        raise DoesNotFit(
            f"{memory / GIB:.1f} GiB hold {room * page} tokens; the longest prompt alone needs half of that"
        )
    kept = None if capacity is None else capacity // page
    wanted = distinct_pages(known, page)
    if kept is None and wanted + transient > room:
        kept = room - transient
    if kept is not None:
        wanted = min(wanted, kept)
    limits = {} if rules is None else _limits(known, rules)
    paged = _paged(session, known, page)
    clock = VirtualClock()
    engine = Engine(
        loaded.model,
        pages=min(wanted + transient * most_at_once(session.requests), room),
        page_size=page,
        keep_generated=False,
        step_tokens=step_tokens,
        step_sequences=MOST_AT_ONCE,
        join_at_once=True,
        clock=clock,
        paranoid=paranoid,
    )
    told = None if progress is None else _TokenProgress(progress, sum(len(tokens) for _, tokens in known))
    backend = EngineBackend(engine, _WrittenPrefixes(writer, known), new_tokens=new_tokens, capacity=kept, told=told)
    warm_up(engine)
    _run(paged, backend, clock, limits)
    predicted = predicted_reads(paged.requests, page, None if kept is None else kept * page, backend.measured)
    by_id = {one.request: one for one in backend.measured}
    for name, limit in limits.items():
        most = min(limit, by_id[name].prompt - 1)
        predicted[name] = most - most % page
    rows = []
    for number, (request, tokens) in enumerate(known):
        measured = by_id[str(number)]
        again = _cold(loaded, tokens, page, step_tokens) if cold and measured.reused else None
        rows.append(ReplayedRow(request, predicted[str(number)], measured, again))
    return EngineReplay(
        session=session,
        rows=tuple(rows),
        without_prompt=len(written) - len(known),
        model=loaded.name,
        precision=loaded.precision,
        device=loaded.model.device.type,
        threads=loaded.threads,
        how=writer.how,
        scale=writer.scale,
        page=page,
        capacity=None if kept is None else kept * page,
        bytes_per_token=loaded.bytes_per_token,
        peak_bytes=engine.peak_bytes,
        stored_bytes=engine.stored_bytes,
        restored=measure_restore(loaded.model, largest.tokens, page) if cold and len(largest) > page else None,
        rules=rules,
    )


class _TokenProgress:
    """Adds up how many tokens are done."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def __call__(self, tokens: int) -> None:
        self._done += tokens
        self._progress(self._done, self._total)


class _WrittenPrefixes:
    """What was written already."""

    def __init__(self, writer: TokenWriter, known: Sequence[tuple[Request, PromptTokens]]) -> None:
        self.how = writer.how
        self.scale = writer.scale
        self._known = known

    def write(self, request: Request) -> PromptTokens | None:
        return self._known[int(request.id)][1]


def _paged(session: Session, known: Sequence[tuple[Request, PromptTokens]], page: int) -> Session:
    """The session with prompts whose blocks are pages of the model's tokens, and with ids that are there once."""
    requests = [
        msgspec.structs.replace(request, id=str(number), prompt=page_prompt(tokens.tokens, page))
        for number, (request, tokens) in enumerate(known)
    ]
    return msgspec.structs.replace(session, requests=tuple(requests))


def check_breakpoints(rules: str, model: str, when: int | None) -> None:
    """Raise NotForPages for a provider whose rules are not known, or are about no breakpoints."""
    try:
        found = resolve(load_rules(rules), model, when, None, True)
    except ValueError as error:
        raise NotForPages(str(error)) from None
    if found.matching != "breakpoint":
        raise NotForPages(f"{rules} keeps prompts without breakpoints: its rules cannot be imposed on pages")


def _limits(known: Sequence[tuple[Request, PromptTokens]], rules: str) -> dict[str, int]:
    """Tokens that a provider's rules let each request read, by its number, where its prompt is known."""
    backend = ModeledProvider()
    for request, _ in known:
        check_breakpoints(rules, request.model, request.start)
    limits = {}
    numbered = {id(request): (str(number), tokens) for number, (request, tokens) in enumerate(known)}
    for now, request in arrivals_of([request for request, _ in known]):
        if request.prompt is None:
            continue
        number, tokens = numbered[id(request)]
        length = backend.serve(msgspec.structs.replace(request, provider=rules), now).hit
        limits[number] = tokens.ends[length - 1] if length else 0
    return limits


def _run(session: Session, backend: EngineBackend, clock: VirtualClock, limits: Mapping[str, int]) -> None:
    """Let the requests of a session arrive at their times, each to read what it may."""
    import simpy

    arrivals = arrivals_of(session.requests)
    environment = simpy.Environment(initial_time=arrivals[0][0])
    process = EngineProcess(environment, backend.engine, clock)

    def arrive() -> Generator[simpy.Event, Any, None]:
        for start, request in arrivals:
            if start > process.now:
                yield environment.timeout(start - process.now)
            backend.join(process, backend.look_up(request, process.now), limits.get(request.id))

    environment.process(arrive())
    environment.run()


def predicted_reads(
    requests: Sequence[Request], page: int, capacity: int | None, measured: Sequence[MeasuredUsage]
) -> dict[str, int]:
    """What the rule says is read, by request, when it looks up what is computed by then: how long that takes is not the
    rule's to say."""
    known = {request.id: (number, request) for number, request in enumerate(requests)}
    pages = {one.request: one.pages for one in measured}
    rules = rules_for(RULES, "", None).with_(quantum=page)
    # The last page of a prompt is not whole: nobody can read it.
    cache = EngineCache(rules, capacity, computed=lambda request: (*pages[request.id], *_never(request, pages)))
    found = {}
    for one in sorted(measured, key=lambda one: (one.joined, known[one.request][0])):
        found[one.request] = cache.serve(known[one.request][1], one.joined).usage.read or 0
    return found


def _never(request: Request, pages: Mapping[str, Sequence[int]]) -> Sequence[int]:
    missing = len(request.prompt or ()) - len(pages[request.id])
    return [sys.maxsize] * missing


def most_at_once(requests: Sequence[Request]) -> int:
    """How many requests of a session overlap, by its own times; those that start at the same time do."""
    changes = [
        change
        for start, request in arrivals_of(requests)
        for change in ((start, 1), (max(start + 1, request.end or 0), -1))
    ]
    now = most = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return min(most, MOST_AT_ONCE)


def distinct_pages(known: Sequence[tuple[Request, PromptTokens]], page: int) -> int:
    """How many pages all prompts have together, those that they share counted once."""
    seen: set[tuple[str, bytes]] = set()
    for request, tokens in known:
        prompt = page_prompt(tokens.tokens[: len(tokens) // page * page], page)
        seen.update((request.model, prompt.chain(end)) for end in range(1, len(prompt) + 1))
    return len(seen)


def warm_up(engine: Engine) -> None:
    """The first pass of a process pays for what the later ones find ready."""
    vocabulary = engine.model.config.vocab
    tokens = [
        number % vocabulary for number in range(min(3 * engine.page_size, engine.pool.size * engine.page_size - 2))
    ]
    engine.submit(tokens, 2, namespace=b"warm up")
    engine.run()
    engine.cache.clear()
    engine.pool.peak = 0


def _cold(loaded: LoadedModel, tokens: PromptTokens, page: int, step_tokens: int) -> int:
    """The time to the first token when nothing is reused."""
    pages = -(-len(tokens) // page)
    engine = Engine(loaded.model, pages=pages, page_size=page, prefix_cache=False, step_tokens=step_tokens)
    sequence = engine.submit(tokens.tokens, 1)
    engine.run()
    assert sequence.time_to_first_token is not None
    return sequence.time_to_first_token
