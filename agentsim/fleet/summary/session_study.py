"""What the sessions of a summary tell when they are read whole: their rows by number, what stands in front of losses,
and what each setting of their harness would have saved. Each session is read once for all of it, by as many processes
as there are processors.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from agentsim.core.garbage_collection import without_collection
from agentsim.core.session import Problem, Session
from agentsim.diagnose import Diagnosis, diagnose
from agentsim.diagnose.harness_settings import known_harness, settings_for
from agentsim.diagnose.loss_leads import marked_rows
from agentsim.fleet.summary.repeated_losses import SessionMarks
from agentsim.fleet.summary.summary_shape import SessionLine, Summary
from agentsim.fleet.summary.summary_workers import IndexQueue, scratch_file
from agentsim.traces.format_registry import format_named, read
from agentsim.whatif.cache_bounds import CacheBounds, bounds, is_automatic
from agentsim.whatif.policies import policy
from agentsim.whatif.policy_simulation import CannotSimulate, add_up, prepare, simulate, under

MOST_REQUESTS = 3_000
"""Requests that are read whole at most: those of the sessions that lost most."""

MOST_PROCESSES = 8
_WORTH_A_PROCESS = 300
"""Requests; for fewer a process costs more than it saves."""

_WORD = 4


class SessionStudy(msgspec.Struct, array_like=True, gc=False):
    """One session. ``rows`` are the numbers of those that lost something, by request. ``harness`` is ``None`` where no
    settings of it are known.

    ``cost`` is what its simulation comes to, in picodollars, and ``savings`` what each policy would have saved of it,
    by name, of those that had something to do; ``cost`` is ``None`` where it cannot be simulated. Where a provider
    keeps prompts by itself ``bounds`` stand instead of both.
    """

    session: str
    files: tuple[str, ...]
    harness: str | None
    version: str | None
    providers: tuple[str, ...]
    rows: dict[str, int]
    marks: SessionMarks
    cost: int | None = None
    savings: dict[str, int] = msgspec.field(default_factory=dict)
    bounds: CacheBounds | None = None


_Studies = list[tuple[int, list[SessionStudy]]]


def studies_of(
    sessions: Sequence[SessionLine],
    progress: Callable[[int, int], object] | None = None,
    *,
    processes: int | None = None,
) -> list[SessionStudy]:
    """The studies of the sessions that lost most, in the order of their names; as many as are affordable.

    ``progress`` is told how many sessions of how many are done. The result does not depend on ``processes``.
    """
    groups = _read_together(affordable(sessions))
    if processes is None:
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        requests = sum(line.requests for group in groups for line in group)
        processes = min(processors, MOST_PROCESSES, 1 + requests // _WORTH_A_PROCESS)
    count = max(1, min(processes, len(groups))) if hasattr(os, "fork") else 1
    order = sorted(range(len(groups)), key=lambda at: -sum(line.requests for line in groups[at]))
    with mmap.mmap(-1, count * _WORD) as done:

        def tell() -> None:
            if progress is not None:
                made = (int.from_bytes(done[at * _WORD : (at + 1) * _WORD], "little") for at in range(count))
                progress(sum(made), sum(len(group) for group in groups))

        found = _spread(groups, order, count, done, tell)
        tell()  # what other processes did last
    return [study for _, studies in sorted(found, key=lambda one: one[0]) for study in studies]


def with_rows(summary: Summary, studies: Sequence[SessionStudy]) -> Summary:
    """The summary, in which the dearest misses name their rows, as far as their sessions were studied."""
    known = {(study.session, request): (study, row) for study in studies for request, row in study.rows.items()}
    misses = []
    for miss in summary.worst_misses:
        found = known.get((miss.session, miss.request))
        if found is not None:
            miss = msgspec.structs.replace(miss, row=found[1], files=found[0].files)
        misses.append(miss)
    return msgspec.structs.replace(summary, worst_misses=tuple(misses))


def affordable(sessions: Sequence[SessionLine]) -> list[SessionLine]:
    """The sessions that lost most, as many as stay within the number of requests; the first one always."""
    chosen: list[SessionLine] = []
    requests = 0
    for line in sorted(sessions, key=lambda line: (-(line.lost_cost or 0), -(line.cost or 0), line.session)):
        if chosen and requests + line.requests > MOST_REQUESTS:
            continue
        chosen.append(line)
        requests += line.requests
    return chosen


def _read_together(lines: Sequence[SessionLine]) -> list[list[SessionLine]]:
    """Sessions in groups: those of one file, and those of which one may hold copies of another's requests."""
    groups: list[list[SessionLine]] = []
    by_file: dict[str, list[SessionLine]] = {}
    for line in sorted(lines, key=lambda line: (line.format, line.files, line.session)):
        names = [*line.files, f"copies in {line.format}"] if line.copies else line.files
        known = [by_file[name] for name in names if name in by_file]
        group = known[0] if known else []
        for other in known[1:]:
            if other is not group and other:
                group += other
                by_file.update((name, group) for name, where in list(by_file.items()) if where is other)
                other.clear()
        groups += [] if known else [group]
        group.append(line)
        by_file.update((name, group) for name in names)
    return [group for group in groups if group]


def _spread(
    groups: Sequence[Sequence[SessionLine]],
    order: Sequence[int],
    count: int,
    done: mmap.mmap,
    tell: Callable[[], None],
) -> _Studies:
    """The studies of all groups, each with its place; what a process does not bring home is made here."""
    if count == 1:
        return _work(groups, order, done, 0, tell)
    queue = IndexQueue(order)
    children = []
    for slot in range(1, count):
        file = scratch_file()
        pid = os.fork()
        if not pid:
            status = 1
            try:
                with without_collection():
                    file.write(msgspec.msgpack.encode(_work(groups, queue, done, slot)))
                    file.flush()
                status = 0
            finally:
                os._exit(status)  # without the parent's clean-up: no buffers flushed twice, no handlers run
        children.append((pid, file))
    found = _work(groups, queue, done, 0, tell)
    for pid, file in children:
        _, status = os.waitpid(pid, 0)
        with file:
            if status == 0:
                file.seek(0)
                found += msgspec.msgpack.decode(file.read(), type=_Studies)
    made = {place for place, _ in found}
    found += _work(groups, [place for place in order if place not in made], done, 0, tell)
    return found


def _work(
    groups: Sequence[Sequence[SessionLine]],
    places: Sequence[int] | IndexQueue,
    done: mmap.mmap,
    slot: int,
    tell: Callable[[], None] | None = None,
) -> _Studies:
    found: _Studies = []
    at = slice(slot * _WORD, (slot + 1) * _WORD)
    for place in places:
        found.append((place, [_study(session) for session in _sessions(groups[place])]))
        done[at] = (int.from_bytes(done[at], "little") + len(groups[place])).to_bytes(_WORD, "little")
        if tell is not None:
            tell()
    return found


def _sessions(lines: Sequence[SessionLine]) -> list[Session]:
    files = list(dict.fromkeys(file for line in lines for file in line.files))
    wanted = {line.session for line in lines}
    problems: list[Problem] = []
    if not files:
        return []
    format = format_named(lines[0].format)
    with suppress(OSError):
        found = read(files, problems) if format is None else format.reader.read_sessions(files, problems)
        return [session for session in found if session.id in wanted]
    return []


def _study(session: Session) -> SessionStudy:
    diagnosis = diagnose(session)
    known = known_harness(session.harness or session.format)
    versions = [request.harness_version for request in session.requests]
    study = SessionStudy(
        session=session.id,
        files=session.files,
        harness=None if known is None else known.name,
        version=next((version for version in reversed(versions) if version), None),
        providers=tuple(sorted({request.provider for request in session.requests})),
        rows={
            verdict.request: number for number, verdict in enumerate(diagnosis.verdicts, 1) if verdict.kind == "miss"
        },
        marks=_marks(diagnosis),
    )
    if known is None:
        return study
    if is_automatic(session):
        study.bounds = bounds([session])
        return study
    tried = {
        kind
        for setting in settings_for(known.name)
        if setting.set and (not setting.providers or {*study.providers} & {*setting.providers})
        for kind in setting.policies
        if policy(kind).changes is None
    }
    if tried:
        _simulate(study, diagnosis, sorted(tried))
    return study


def _marks(diagnosis: Diagnosis) -> SessionMarks:
    lost = {verdict.request for verdict in diagnosis.verdicts if verdict.kind == "miss"}
    present: dict[str, int] = {}
    rows = marked_rows(diagnosis.session, diagnosis.verdicts)
    for row in rows:
        for mark in row.marks:
            present[mark] = present.get(mark, 0) + 1
    return SessionMarks(len(rows), present, {row.request: tuple(row.marks) for row in rows if row.request in lost})


def _simulate(study: SessionStudy, diagnosis: Diagnosis, kinds: Sequence[str]) -> None:
    """Put into a study what its session costs in the simulation, and what each policy saves of that."""
    try:
        case = prepare(diagnosis.session, diagnosis.verdicts)
    except CannotSimulate:
        return
    if not case.calibration.holds or not case.sums.cost or case.sums.unpriced:
        return
    study.cost = case.sums.cost
    for kind in kinds:
        session, applied = under(case, [policy(kind)])
        if applied:
            study.savings[kind] = case.sums.cost - add_up(simulate(case, session)).cost
