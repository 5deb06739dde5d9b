"""A sweep: every shard of a fleet's logs under every policy, on this machine's cores or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agentsim.core.session import Problem
from agentsim.fleet import sweep_folder as folders
from agentsim.fleet.fleet_logs import list_inputs
from agentsim.fleet.shard_copies import join, linked_units
from agentsim.fleet.shards import SHARD_BYTES, Shard, ShardUnit, cut, units_of
from agentsim.fleet.sweep_folder import Note, SweepSettings
from agentsim.fleet.sweep_task import Job, run
from agentsim.fleet.sweep_workers import ATTEMPTS, workers_at

if TYPE_CHECKING:
    from distributed import Client

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all."""

_LINKS = "linked.json"
_ROUNDS = 5


class FailedShard(msgspec.Struct, frozen=True):
    """A shard that could not be done: its files, and why."""

    files: tuple[str, ...]
    reason: str


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """What a sweep came to. ``notes`` are those of finished shards; ``done_before`` of them were there already."""

    folder: str
    notes: tuple[Note, ...]
    done_before: int
    failed: tuple[FailedShard, ...]
    problems: tuple[Problem, ...]


def sweep(
    paths: Sequence[str],
    settings: SweepSettings,
    folder: str,
    *,
    made: Sequence[ShardUnit] = (),
    scheduler: str | None = None,
    workers: int | None = None,
    memory: str = "auto",
    shard_bytes: int = SHARD_BYTES,
    progress: Progress | None = None,
) -> Sweep:
    """Judge and simulate all logs at and under ``paths``, and ``made`` sessions, and keep the results in ``folder``.

    Shards that were finished before are not done again; those of logs that changed since are. ``scheduler`` is the
    address of a Dask scheduler whose workers have agentsim and reach both the logs and the folder; else this machine
    works, with ``workers`` processes (one a core; 0: this process alone) of at most ``memory`` each.

    Raises NotOurs for a folder of something else, OSError for one that cannot be written or a storage that cannot be
    reached, ValueError for a URL that no installed package serves.
    """
    folders.prepare(folder, settings)
    problems: list[Problem] = []
    units = [*units_of(list_inputs(paths, problems.append), problems.append, shard_bytes), *made]
    links = _known_links(folder)
    failed: list[FailedShard] = []
    shards: list[Shard] = []
    before: set[str] = set()
    work: Client | None = None
    with folders.held(folder), ExitStack() as stack:
        for _ in range(_ROUNDS):
            shards = cut(units, settings.digest, shard_bytes, links)
            missing = [shard for shard in shards if not folders.finished(folder, shard.key)]
            before = before or {shard.key for shard in shards} - {shard.key for shard in missing}
            if missing and work is None:
                work = stack.enter_context(workers_at(scheduler, workers, memory))
            failed = _do([Job(shard, settings, folder) for shard in missing], work, progress)
            keys = [shard.key for shard in shards]
            more = join([*links, *linked_units(folder, keys)])
            if more == links:
                break
            links = more
            folders.write_document(folder, _LINKS, links)
        folders.forget_others(folder, [shard.key for shard in shards])
    notes = [note for shard in shards if (note := folders.note_of(folder, shard.key)) is not None]
    notes.sort(key=lambda note: note.key)
    return Sweep(
        folder=folder,
        notes=tuple(notes),
        done_before=sum(note.key in before for note in notes),
        failed=tuple(failed),
        problems=tuple(problems),
    )


def _known_links(folder: str) -> list[list[str]]:
    try:
        return msgspec.json.decode((Path(folder) / _LINKS).read_bytes(), type=list[list[str]])
    except (OSError, msgspec.DecodeError):
        return []


def _do(jobs: Sequence[Job], work: Client | None, progress: Progress | None) -> list[FailedShard]:
    """Do jobs here, or on a cluster; those that could not be done."""
    total = sum(max(job.shard.size, 1) for job in jobs)
    done = 0
    failed: list[FailedShard] = []
    for job, reason in _outcomes(jobs, work):
        done += max(job.shard.size, 1)
        if reason is not None:
            failed.append(FailedShard(tuple(file.url for file in job.shard.files), reason))
        if progress is not None:
            progress(done, total)
    return sorted(failed, key=lambda failure: failure.files)


def _outcomes(jobs: Sequence[Job], work: Client | None) -> Iterator[tuple[Job, str | None]]:
    if work is None:
        for job in jobs:
            try:
                run(job)
            except Exception as error:  # whatever went wrong with one shard, the others are done
                yield job, _told(error)
            else:
                yield job, None
        return
    from distributed import as_completed

    futures = {work.submit(run, job, key=f"shard-{job.shard.key}", pure=False): job for job in jobs}
    for future in as_completed(futures, loop=work.loop):
        wrong = future.exception()
        yield futures[future], None if wrong is None else _told(wrong)


def _told(error: BaseException) -> str:
    if type(error).__name__ == "KilledWorker":
        return f"{ATTEMPTS} workers died over it; give them more memory (--memory), or make shards smaller"
    return f"{type(error).__name__}: {error}"[:500]
