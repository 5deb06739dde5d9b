"""How much of a serving trace the prefix cache of an engine could read, for many capacities at once.

A trace is served as if each request took no time. All capacities come out of one pass
(:mod:`agentsim.cache.stack_distances`), with the rules of :class:`agentsim.cache.engine_cache.EngineCache`: whole pages
are read, never the very last token, and what was used last is kept. A capacity of ``None`` gives nothing up: the
ceiling of any cache.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from agentsim.cache.stack_distances import PrefixStack, reaches
from agentsim.capacity.block_trace import ServingTrace, load
from agentsim.core.garbage_collection import without_collection
from agentsim.rules.providers import ProviderRules

__all__ = ["CapacityPoint", "ServedTrace", "ServingTrace", "load", "serve"]


class CapacityPoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a cache of ``capacity`` tokens (``None``: without end) read: tokens, and requests that read any."""

    capacity: int | None
    read: int
    hits: int


class ServedTrace(msgspec.Struct, frozen=True, kw_only=True):
    """One trace, served. Sums are over the requests measured, which are those after the warm-up.

    ``shared`` are the tokens of leading blocks that were seen before, whatever pages and last tokens an engine has.
    ``room`` is what a cache without end has filled at last. ``reads`` are the tokens read of each request measured, a
    tuple with one number a point, where they were asked for; ``lines`` are where the requests stand in the file.
    """

    name: str
    format: str
    requests: int
    measured: int
    tokens: int
    blocks: int
    shared: int
    room: int
    points: tuple[CapacityPoint, ...]
    ceiling: CapacityPoint
    lines: tuple[int, ...] = ()
    inputs: tuple[int, ...] = ()
    reads: tuple[tuple[int, ...], ...] = ()


def serve(
    trace: ServingTrace,
    rules: ProviderRules,
    capacities: Iterable[int],
    *,
    page: int | None = None,
    warmup: float = 0.0,
    keep_rows: bool = False,
) -> ServedTrace:
    """Serve a trace under the rules of an engine with caches of these capacities, in tokens.

    ``page`` overrides the tokens that the engine keeps together. ``warmup`` is the part of the requests, from the
    first on, that fills the cache and is not measured.
    """
    page = page or rules.quantum
    sizes = sorted(set(capacities))
    stack = PrefixStack(page)
    first = int(len(trace) * warmup)
    nothing = (0,) * (len(sizes) + 1)
    reads, hits = list(nothing), list(nothing)
    tokens = blocks = shared = 0
    rows: list[tuple[int, ...]] = []
    lines: list[int] = []
    inputs: list[int] = []
    with without_collection():
        for number, (keys, ends, space, line) in enumerate(trace.rows()):
            runs = stack.use(keys, ends, space)
            blocks += len(keys)
            if number < first:
                continue
            total = ends[-1] if ends else 0
            tokens += total
            found = nothing
            if runs:
                shared += runs[-1].ends[-1]
                found = tuple([_read(end, total, page) for end in reaches(runs, sizes, page)])
                for index, read in enumerate(found):
                    if read:
                        reads[index] += read
                        hits[index] += 1
            if keep_rows:
                rows.append(found)
                lines.append(line)
                inputs.append(total)
    points = [
        CapacityPoint(capacity=size, read=read, hits=count)
        for size, read, count in zip((*sizes, None), reads, hits, strict=True)
    ]
    return ServedTrace(
        name=trace.name,
        format=trace.format,
        requests=len(trace),
        measured=len(trace) - first,
        tokens=tokens,
        blocks=blocks,
        shared=shared,
        room=stack.tokens,
        points=tuple(points[:-1]),
        ceiling=points[-1],
        lines=tuple(lines),
        inputs=tuple(inputs),
        reads=tuple(rows),
    )


def _read(end: int, total: int, page: int) -> int:
    """Tokens read where the blocks up to ``end`` are there: whole pages, and not the last token of the prompt."""
    if end == total and total:
        end -= 1
    return end - end % page
