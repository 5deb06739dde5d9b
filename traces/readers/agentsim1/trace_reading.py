"""``agentsim/1`` lines to sessions, one session at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.core.prompt import Block, Breakpoint, Prompt
from agentsim.core.session import Accounting, Event, Problem, ProviderDiagnosis, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow, decode
from agentsim.traces.hostile_records import RawRow, Tally, TraceError, rows_of, tell_or_raise
from agentsim.traces.readers.agentsim1.trace_wire import (
    FORMAT,
    KINDS,
    ROWS,
    BlockRow,
    EventRow,
    PromptRow,
    RequestRow,
    Row,
    SessionRow,
    UsageRow,
    nanoseconds,
)
from agentsim.traces.session_assembly import Assembly

_SECTIONS = {"tools": 0, "system": 1, "messages": 2}
_NO_DIAGNOSIS = ProviderDiagnosis()


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The sessions of these files, in order. A session that came before (in the same or another file) is left out.

    What belongs to no session is told in ``problems``, and so is a file that cannot be read, is of another version or
    holds no session; without that list, OSError is raised for it (TraceError where its content is at fault).
    """
    seen: dict[str, str] = {}
    for path in paths:
        count = 0
        try:
            for session in _sessions_of(path, problems):
                count += 1
                if session.id not in seen:
                    seen[session.id] = path
                    yield session
                elif problems is not None:
                    reason = "this session is in the input twice"
                    remedy = f"the copy in {seen[session.id]} was used, this one was left out"
                    problems.append(Problem(file=path, line=0, reason=reason, remedy=remedy))
            if not count:
                remedy = 'its first line must be {"record": "session", ...}'
                raise TraceError(path, f"no {FORMAT} session in it", remedy)
        except OSError as error:
            tell_or_raise(error, path, problems)


def _sessions_of(path: str, problems: list[Problem] | None) -> Iterator[Session]:
    stray = Tally(path)
    session: _Session | None = None
    for raw in rows_of(path, ROWS):
        try:
            row = _row(path, raw)
        except BadRow as bad:
            tally = session.tally if session is not None else stray
            tally.rows += 1
            tally.skip(raw.line, bad)
            continue
        if isinstance(row, SessionRow):
            if session is not None:
                yield session.finished()
            session = _Session(path, raw.line, row)
            session.tally.begin_with(stray)
            stray = Tally(path)
        elif session is None:
            stray.rows += 1
            stray.skip(raw.line, BadRow("no header", "a session must begin before it"))
        else:
            session.take(raw.line, row)
    if session is not None:
        yield session.finished()
    if problems is not None:
        problems += stray.problems


def _row(path: str, raw: RawRow[Row]) -> Row:
    if raw.bad is not None and raw.bad.reason in ("bad field", "bad counter", "not an object"):
        kind = decode(KINDS, raw.data)
        if kind.record == "session" or (kind.record is None and kind.format is not None):
            check_version(path, raw.line, kind.format)
        elif kind.record not in ("request", "event"):
            raise BadRow("unknown record", "neither session, request nor event")
    return raw.checked()


def check_version(path: str, line: int, version: str | None) -> None:
    """Raise TraceError for a header of another version than this reader knows."""
    if version is not None and version != FORMAT and version.startswith("agentsim/"):
        shown = version if len(version) < 20 and version.isprintable() else "of an unknown version"
        raise TraceError(path, f"a trace in format {shown}", f"this program reads {FORMAT}: update it", line)


class _Session:
    """A session being read. Mutable."""

    def __init__(self, path: str, line: int, header: SessionRow) -> None:
        self.header = header
        self.line = line
        self.assembly = Assembly(header.id, header.source_format, Tally(path))
        self.assembly.states_lifetimes = self.assembly.states_links = True
        self.assembly.files += header.files
        self.assembly.harness = header.harness
        self.assembly.title = header.title
        self.tally = self.assembly.tally
        self.tally.rows = self.tally.not_billable = 1
        self.of_log = _accounting_of(header)
        if self.of_log is not None and not self.of_log.adds_up:
            self.of_log = None
            self.tally.tell(line, BadRow("bad accounting", "the header's accounting does not add up"), note=True)
        self.requests: list[Request] = []
        self.prompts: dict[str, Prompt | None] = {}
        for lane in header.lanes:
            self.assembly.lane(lane.id, title=lane.title, purpose=lane.purpose, parent=lane.parent)

    def take(self, line: int, row: RequestRow | EventRow) -> None:
        """Add a request or an event; a row that does not fit is counted as skipped."""
        self.tally.rows += 1
        try:
            if isinstance(row, EventRow):
                time = nanoseconds(row.time)
                event = Event(kind=row.kind, time=time, lane=row.lane, before=row.before, detail=row.detail)
                self.assembly.keep(event)
                self.tally.not_billable += 1
            elif row.id in self.prompts:
                self.tally.duplicate += 1
            else:
                self._take_request(line, row)
        except BadRow as bad:
            self.tally.skip(line, bad)

    def finished(self) -> Session:
        """The session as read."""
        header = self.header
        missing = (header.requests or 0) - len(self.requests) - sum(self.tally.skipped.values())
        if missing > 0:
            self.tally.tell(self.line, BadRow("cut short", f"{missing:,} of {header.requests:,} requests are missing"))
        self.tally.problems[:0] = [
            Problem(file=one.file, line=one.line, reason=one.reason, remedy=one.remedy, note=one.note)
            for one in header.problems
        ]
        of_log = None if self.of_log is None else self._less_what_is_lost(self.of_log)
        for request in _parents_first(self.requests):
            self.assembly.add(request)
        session = self.assembly.build(header.completeness)
        return session if of_log is None else msgspec.structs.replace(session, accounting=of_log)

    def _less_what_is_lost(self, log: Accounting) -> Accounting:
        """The accounting of the log that the trace was made from, less what of it cannot be read here any more."""
        skipped = dict(log.skipped)
        for reason, count in self.tally.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + count
        lost = min(log.used, max(0, (self.header.requests or 0) - len(self.requests)))
        gone = lost - sum(self.tally.skipped.values())
        if gone > 0:
            skipped["cut short"] = skipped.get("cut short", 0) + gone
        duplicate, used = log.duplicate + self.tally.duplicate, log.used - lost
        return Accounting(
            rows=used + duplicate + log.not_billable + sum(skipped.values()),
            used=used,
            duplicate=duplicate,
            not_billable=log.not_billable,
            skipped=tuple(sorted(skipped.items())),
        )

    def _take_request(self, line: int, row: RequestRow) -> None:
        prompt = None
        if row.prompt is not None:
            base = self._base(row.prompt)
            if base is None:
                # One lost row must not take the counters of all that follow it along.
                self.tally.tell(
                    line, BadRow("prompt unknown", "the request it grew from is missing or has none"), note=True
                )
            else:
                prompt = _grown(base, row.prompt)
        said = row.diagnosis
        request = Request(
            id=row.id,
            lane=row.lane,
            model=row.model,
            start=nanoseconds(row.start),
            provider=row.provider,
            parent=row.parent,
            purpose=row.purpose,
            first_token=nanoseconds(row.first_token),
            end=nanoseconds(row.end),
            prompt=prompt,
            settings=row.settings,
            usage=None if row.usage is None else _usage(row.usage),
            iterations=tuple(_usage(usage) for usage in row.iterations),
            diagnosis=_NO_DIAGNOSIS
            if said is None
            else ProviderDiagnosis(reported=said.reported, reason=said.reason, missed_tokens=said.missed_tokens),
            stop_reason=row.stop_reason,
            service_tier=row.service_tier,
            speed=row.speed,
            region=row.region,
            host=row.host,
            account=row.account,
            logged_cost=row.logged_cost,
            harness_version=row.harness_version,
            appended_blocks=row.appended_blocks,
            section_tokens=row.section_tokens,
            output_final=row.output_final,
            counted=row.counted,
            source=None if row.source is None else Source(row.source.file, row.source.line),
        )
        self.prompts[row.id] = prompt
        self.requests.append(request)

    def _base(self, row: PromptRow) -> Prompt | None:
        return Prompt.of(()) if row.grew_from is None else self.prompts.get(row.grew_from)


def _grown(base: Prompt, row: PromptRow) -> Prompt:
    if row.keep > len(base):
        raise BadRow("bad delta", "prompt.keep is more than the prompt it grew from has")
    section = _SECTIONS[base[row.keep - 1].section] if row.keep else 0
    for block in row.blocks:
        if _SECTIONS[block.section] < section:
            raise BadRow("bad delta", "prompt.blocks are not in the order tools, system, messages")
        section = _SECTIONS[block.section]
    length = row.keep + len(row.blocks)
    if any(position >= length for position, _ in row.breakpoints):
        raise BadRow("bad delta", "prompt.breakpoints lie outside the prompt")
    if row.keep == 0:
        base = Prompt.of(())
    markers = (Breakpoint(position, ttl) for position, ttl in row.breakpoints)
    return base.replace_after(row.keep, map(_block, row.blocks), markers)


def _accounting_of(header: SessionRow) -> Accounting | None:
    row = header.accounting
    if row is None:
        return None
    return Accounting(
        rows=row.rows,
        used=row.used,
        duplicate=row.duplicate,
        not_billable=row.not_billable,
        skipped=row.skipped,
    )


def _block(row: BlockRow) -> Block:
    return Block(
        section=row.section,
        kind=row.kind,
        digest=bytes.fromhex(row.digest),
        role=row.role,
        tokens=row.tokens,
        origin=row.origin,
        name=row.name,
        message=row.message,
        part=row.part,
        shape=row.shape,
        text=row.text,
    )


def _usage(row: UsageRow) -> Usage:
    return Usage(
        fresh=row.fresh,
        write_short=row.write_short,
        write_long=row.write_long,
        write_other=row.write_other,
        read=row.read,
        output=row.output,
    )


def _parents_first(requests: list[Request]) -> tuple[Request, ...]:
    """Requests in the order of the file, but a parent that stands behind its child (lines were exchanged) before it."""
    seen: set[str] = set()
    here = {request.id: request for request in requests}
    ordered: list[Request] = []
    for request in requests:
        line: list[Request] = []
        one: Request | None = request
        while one is not None and one.id not in seen:
            seen.add(one.id)
            line.append(one)
            one = here.get(one.parent or "")
        ordered += reversed(line)
    return tuple(ordered)
