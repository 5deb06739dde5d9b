"""One task of a sweep: read a shard, judge its sessions, simulate them under every policy, keep what came out.

Sessions are read, judged and made ready once, whatever the number of policies. The same shard gives the same bytes on
any machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

from agentsim.core.counts import plural
from agentsim.core.session import Problem, Row, Session
from agentsim.diagnose import Diagnosis, diagnose
from agentsim.fleet import sweep_tables
from agentsim.fleet.fleet_logs import at_hand
from agentsim.fleet.shards import Shard
from agentsim.fleet.sweep_folder import Note, SweepSettings, keep
from agentsim.fleet.sweep_tables import LOGGED, RECORDED, Home
from agentsim.rules.providers.rules_library import with_rules
from agentsim.rules.providers.rules_parsing import parse_rules
from agentsim.traces.hostile_records import TraceError
from agentsim.whatif.policies import parse
from agentsim.whatif.policy_simulation import CannotSimulate, Case, add_up, prepare, simulate


class Job(msgspec.Struct, frozen=True):
    """A shard, what is asked of it, and the folder where its results go."""

    shard: Shard
    settings: SweepSettings
    folder: str


def run(job: Job) -> str:
    """Do a job; the key of its shard. Raises OSError when a log cannot be fetched, or results cannot be written."""
    work = _Work(job.settings)
    problems: list[Problem] = []
    rules = [parse_rules(text, name) for name, text in job.settings.rules]
    with with_rules(*rules), at_hand(job.shard.files, problems.append) as placed:
        units = {file.url: unit.name for unit in job.shard.units for file in unit.files}
        try:
            for session in chain(_read(job.shard, placed, problems), _made(job.shard)):
                work.take(session, placed, units)
        except TraceError as error:
            # A file that is not what it seemed costs itself, told, and not the sweep.
            problems.append(Problem(file=error.file, line=error.line or 0, reason=error.reason, remedy=error.remedy))
    told = [
        msgspec.structs.replace(problem, file=placed.get(problem.file, problem.file))
        for problem in (*problems, *work.problems)
    ]
    keep(job.folder, work.note(job.shard, tuple(told)), work.tables())
    return job.shard.key


def _read(shard: Shard, placed: Mapping[str, str], problems: list[Problem]) -> Iterator[Session]:
    from agentsim.traces.format_registry import FORMATS, all_formats

    paths: dict[str, list[str]] = {}
    formats = {file.url: unit.format for unit in shard.units for file in unit.files}
    for path, url in placed.items():
        paths.setdefault(formats[url], []).append(path)
    known = {format.name for format in FORMATS}
    for format in FORMATS if known.issuperset(paths) else all_formats():
        if format.name in paths:
            yield from format.reader.read_sessions(paths[format.name], problems)


def _made(shard: Shard) -> Iterator[Session]:
    """The sessions of scenarios."""
    for unit in shard.units:
        if unit.recipe is not None:
            from agentsim.fleet.simulated_shards import session_of

            yield session_of(unit.recipe, unit.name)


class _Work:
    """What a shard has come to so far."""

    def __init__(self, settings: SweepSettings) -> None:
        self._policies = [parse(spec) for spec in settings.policies]
        self._team = re.compile(settings.team) if settings.team else None
        self._outcomes: dict[str, list[dict[str, Any]]] = {
            name: [] for name in (LOGGED, RECORDED, *(policy.spec for policy in self._policies))
        }
        self._usage: list[dict[str, Any]] = []
        self._misses: list[dict[str, Any]] = []
        self._ids: list[dict[str, Any]] = []
        self.problems: list[Problem] = []
        self._sessions = self._requests = 0
        self._accounts = [0, 0, 0, 0]
        self._skipped: dict[str, int] = {}

    def take(self, session: Session, placed: Mapping[str, str], units: Mapping[str, str]) -> None:
        """Judge and simulate a session."""
        self.problems += session.problems
        accounting = session.accounting
        parts = (accounting.rows, accounting.used, accounting.duplicate, accounting.not_billable)
        self._accounts = [sum(pair) for pair in zip(self._accounts, parts, strict=True)]
        for reason, count in accounting.skipped:
            self._skipped[reason] = self._skipped.get(reason, 0) + count
        if not any(request.counted for request in session.requests):
            return
        urls = sorted(placed.get(file, file) for file in session.files)
        home = _home(session, urls, self._team)
        diagnosis = diagnose(session)
        self._sessions += 1
        self._requests += sum(request.counted for request in session.requests)
        self._usage += sweep_tables.usage_records(home, diagnosis)
        self._misses += sweep_tables.miss_records(home, diagnosis)
        self._ids += sweep_tables.id_records(units.get(urls[0], urls[0]) if urls else session.id, session)
        self._add(LOGGED, _logged(home, diagnosis))
        try:
            case = prepare(session, diagnosis.verdicts)
        except CannotSimulate as error:
            for name in self._outcomes:
                if name != LOGGED:
                    self._add(name, _left_out(home, str(error)))
            return
        self._simulated(home, case)

    def _simulated(self, home: Home, case: Case) -> None:
        facts: dict[str, Any] = {
            "explained": case.calibration.explained,
            "reported": case.calibration.tokens,
            "holds": case.calibration.holds,
        }
        start, end = _span(case.rows)
        recorded = sweep_tables.outcome(home, case.sums, start=start, end=end, saving=0, **facts)
        self._add(RECORDED, recorded)
        for policy in self._policies:
            reason = policy.applies(case.session)
            if reason is not None:
                self._add(policy.spec, {**recorded, "reason": reason})
                continue
            rows = simulate(case, policy.rewrite(case.session))
            sums = add_up(rows)
            start, end = _span(rows)
            saving = case.sums.cost - sums.cost if case.calibration.holds and sums.cost + case.sums.cost else None
            if sums.refused > case.sums.refused:
                # Requests that a provider refuses cost nothing, which is not a saving.
                refused = plural(sums.refused - case.sums.refused, "request")
                saving, reason = None, f"the provider would refuse {refused}"
            self._add(
                policy.spec,
                sweep_tables.outcome(
                    home, sums, start=start, end=end, saving=saving, applied=True, reason=reason, **facts
                ),
            )

    def _add(self, name: str, record: dict[str, Any]) -> None:
        self._outcomes[name].append(record)

    def note(self, shard: Shard, problems: tuple[Problem, ...]) -> Note:
        """What was used and what was not."""
        rows, used, duplicate, not_billable = self._accounts
        return Note(
            key=shard.key,
            files=tuple(file.url for file in shard.files),
            bytes=shard.size,
            sessions=self._sessions,
            requests=self._requests,
            rows=rows,
            used=used,
            duplicate=duplicate,
            not_billable=not_billable,
            skipped=tuple(sorted(self._skipped.items())),
            problems=problems,
        )

    def tables(self) -> Iterator[tuple[str, Any]]:
        """The tables, with names as :func:`agentsim.fleet.sweep_folder.keep` takes them."""
        records = [{"policy": name, **record} for name, of_policy in self._outcomes.items() for record in of_policy]
        yield "policies", sweep_tables.table("policies", records)
        yield "usage", sweep_tables.table("usage", self._usage)
        yield "misses", sweep_tables.table("misses", self._misses)
        yield "ids", sweep_tables.table("ids", self._ids)


def _home(session: Session, urls: list[str], team: re.Pattern[str] | None) -> Home:
    file = urls[0] if urls else ""
    found = team.search(file) if team is not None else None
    tokens: dict[str, int] = {}
    for request in session.requests:
        usage = request.usage
        size = usage.total_input if usage is not None else None
        tokens[request.model] = tokens.get(request.model, 0) + (size or 0)
    return Home(
        session=session.id,
        format=session.format,
        project=_project(file, session.id),
        team=(found[1] if found.re.groups else found[0]) if found else "",
        file=file,
        harness=session.harness,
        version=next((r.harness_version for r in session.requests if r.harness_version is not None), None),
        model=max(tokens, key=lambda model: (tokens[model], model), default=None),
    )


def _project(file: str, session: str) -> str:
    """The folder that a log lies in, above the folders that a harness makes for the parts of one session."""
    folder = os.path.dirname(file)
    while True:
        name = os.path.basename(folder)
        if name and (name in ("subagents", "workflows", session) or name.startswith("wf_")):
            folder = os.path.dirname(folder)
        else:
            return name


def _logged(home: Home, diagnosis: Diagnosis) -> dict[str, Any]:
    sums = sweep_tables.sums_of((row.request, row.usage, row.cost) for row in diagnosis.rows)
    start, end = _span(diagnosis.rows)
    reports = {name for row in diagnosis.rows if row.request.counted for name in sweep_tables.counters_in(row.usage)}
    return sweep_tables.outcome(home, sums, start=start, end=end, reports=reports)


def _left_out(home: Home, reason: str) -> dict[str, Any]:
    return {**msgspec.structs.asdict(home), "reason": reason}


def _span(rows: tuple[Row, ...]) -> tuple[int | None, int | None]:
    starts = [row.start for row in rows if row.start is not None]
    ends = [time for row in rows for time in (row.end, row.start) if time is not None]
    return min(starts, default=None), max(ends, default=None)
