"""Compiles what the kernels' cases launch, by many processes at once: for GPUs that are not here, or before timing."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from benchmarks.kernels import Case, calls, cases, tiles_to_try
from benchmarks.measure import markdown

CAPABILITIES = (80, 90, 100)
_OTHER_PROCESSORS = 80
"""Of devices that are not in the table: it decides whether splits are compiled, and hardly any does without."""


class Task(NamedTuple):
    """One kernel to compile: of a case (by its line), with a tile of its own or the table's, for sm_<capability>."""

    line: str
    tile: tuple[int, ...] | None
    capability: int
    place: int
    """Which of the launches of the case."""


class Outcome(NamedTuple):
    """What became of it; ``reason`` says why it does not compile."""

    task: Task
    name: str
    registers: int
    spilled: int
    shared: int
    programs: int
    warps: int
    seconds: float
    reason: str = ""


def _launches(line: str, tile: tuple[int, ...] | None, capability: int) -> list[Any]:
    """The launches of a case as on a device of that capability."""
    from agentsim.kernels import int4_attention_triton, page_attention_triton
    from agentsim.kernels.tile_sizes import Tile
    from benchmarks.ahead_of_time import MULTIPROCESSORS, launches_of

    number = MULTIPROCESSORS[capability].processors if capability in MULTIPROCESSORS else _OTHER_PROCESSORS
    vars(page_attention_triton)["capability"] = lambda _device: capability // 10
    for module in (page_attention_triton, int4_attention_triton):
        vars(module)["processors"] = lambda _device: number
    case = next(case for case in cases() if case.line == line)
    call: Callable[..., Any] = calls(case, "meta")["ours"]
    return launches_of(call if tile is None else partial(call, configuration=Tile(*tile)))


def tasks_of(chosen: Iterable[Case], capabilities: Iterable[int], *, tuning: bool) -> Iterator[Task]:
    """Each compiled kernel once, however many cases launch it."""
    from benchmarks.ahead_of_time import variant

    seen: set[tuple[int, str]] = set()
    listed = list(chosen)
    for capability in capabilities:
        for case in listed:
            for tile in map(tuple, tiles_to_try(case)) if tuning else (None,):
                for place, launch in enumerate(_launches(case.line, tile, capability)):
                    known = (capability, variant(launch, capability))
                    if known not in seen:
                        seen.add(known)
                        yield Task(case.line, tile, capability, place)


def _compile(task: Task) -> Outcome:
    from benchmarks.ahead_of_time import compiled

    began = time.perf_counter()
    launch = _launches(task.line, task.tile, task.capability)[task.place]
    try:
        made = compiled(launch, task.capability)
    except Exception as error:  # whatever the compiler says of a tile that does not fit
        reason = type(error).__name__
        return Outcome(task, launch.kernel.__name__, 0, 0, 0, 0, 0, time.perf_counter() - began, reason)
    seconds = time.perf_counter() - began
    programs = made.programs(task.capability)
    return Outcome(task, made.name, made.registers, made.spilled, made.shared, programs, made.warps, seconds)


def _fill(task: Task) -> float:
    from benchmarks.ahead_of_time import fill_cache

    began = time.perf_counter()
    with suppress(Exception):  # timing meets it again, and says so
        fill_cache(_launches(task.line, task.tile, task.capability)[task.place], task.capability)
    return time.perf_counter() - began


def _pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


def compile_table(chosen: list[Case], jobs: int, *, tuning: bool) -> str:
    """Registers, spills, shared memory and occupancy of all that the cases launch; with ``tuning`` of all tiles."""
    began = time.perf_counter()
    tasks = list(tasks_of(chosen, CAPABILITIES[1:2] if tuning else CAPABILITIES, tuning=tuning))
    with _pool(jobs) as pool:
        outcomes = list(pool.map(_compile, tasks))
    rows = []
    for each in outcomes:
        task = each.task
        found = [each.reason] * 5
        if not each.reason:
            share = f"{each.programs * each.warps * 100 // 64} %"
            found = [str(each.registers), str(each.spilled), f"{each.shared / 1024:.0f} KiB", str(each.programs), share]
        rows.append(
            [f"sm_{task.capability}", each.name, task.line, str(task.tile or ""), *found, f"{each.seconds:.1f}"]
        )
    columns = ["", "kernel", "first case", "tile", "registers", "spilled", "shared", "programs", "occupancy", "s"]
    spent = sum(each.seconds for each in outcomes)
    spilling = sum(each.spilled > 0 for each in outcomes)
    return (
        f"{markdown(rows, columns)}\n\n{len(outcomes)} kernels, {spilling} spill; {spent:.0f} s of compiling "
        f"by {jobs} processes in {time.perf_counter() - began:.0f} s"
    )


def compile_ahead(chosen: list[Case], jobs: int, *, tuning: bool) -> str:
    """Compile what is going to be timed on this device."""
    import torch

    major, minor = torch.cuda.get_device_capability()
    began = time.perf_counter()
    tasks = list(tasks_of(chosen, [10 * major + minor], tuning=tuning))
    with _pool(jobs) as pool:
        spent = sum(pool.map(_fill, tasks))
    return f"{len(tasks)} kernels compiled: {spent:.0f} s by {jobs} processes in {time.perf_counter() - began:.0f} s"
