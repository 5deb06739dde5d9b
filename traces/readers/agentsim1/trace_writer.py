"""Sessions to ``agentsim/1`` lines. The same session always makes the same bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import msgspec

from agentsim.core.key_shapes import without_keys
from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Accounting, Event, Problem, ProviderDiagnosis, Request, Session, Usage
from agentsim.traces.readers.agentsim1.fingerprints import is_keyed
from agentsim.traces.readers.agentsim1.prompt_differences import Origin, PromptDifferences
from agentsim.traces.readers.agentsim1.trace_wire import (
    FORMAT,
    AccountingRow,
    BlockRow,
    DiagnosisRow,
    EventRow,
    LaneRow,
    ProblemRow,
    PromptRow,
    RequestRow,
    SessionRow,
    SourceRow,
    UsageRow,
    seconds,
)


def write(
    sessions: Session | Iterable[Session], target: str | os.PathLike[str] | BinaryIO, *, text: bool = True
) -> None:
    """Write sessions one after the other to a new file, or to a binary stream. ``text=False`` leaves out all content.

    Whatever looks like a key of a provider or a service is taken out of the content.

    A file is made readable for its owner only, because content is private. Raises OSError when it cannot be written.
    """
    if isinstance(sessions, Session):
        sessions = (sessions,)
    if not isinstance(target, (str, os.PathLike)):
        for session in sessions:
            target.writelines(_safe(session, text))
        return
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
    with open(descriptor, "wb") as file:
        for session in sessions:
            file.writelines(_safe(session, text))


def _safe(session: Session, text: bool) -> Iterator[bytes]:
    return map(without_keys, lines(session, text=True)) if text else lines(session, text=False)


def lines(session: Session, *, text: bool = True) -> Iterator[bytes]:
    """The lines of a session, each with its newline: the header, then requests and events as they came."""
    encode = msgspec.json.Encoder(order="deterministic").encode
    yield encode(_header(session, text)) + b"\n"
    growth = PromptDifferences()
    events = list(session.events)[::-1]
    for request in session.requests:
        while events and events[-1].before == request.id:
            yield encode(_event(events.pop())) + b"\n"
        yield encode(_request(request, growth.follow(request), text)) + b"\n"
    while events:
        yield encode(_event(events.pop())) + b"\n"


def _header(session: Session, text: bool) -> SessionRow:
    return SessionRow(
        format=FORMAT,
        id=_plain(session.id),
        source_format=session.format,
        completeness=session.completeness,
        digests="keyed" if is_keyed(session) else "plain",
        text=text and any(_has_text(request.prompt) for request in session.requests),
        lanes=tuple(
            LaneRow(
                id=_plain(lane.id), title=_plain(lane.title), purpose=lane.purpose, parent=_plain_or_none(lane.parent)
            )
            for lane in session.lanes
        ),
        requests=len(session.requests),
        harness=_plain_or_none(session.harness),
        title=_plain_or_none(session.title) if text else None,
        files=tuple(_plain(file) for file in session.files),
        accounting=_accounting(session.accounting),
        problems=tuple(_problem(problem) for problem in session.problems),
    )


def _request(request: Request, origin: Origin, text: bool) -> RequestRow:
    return RequestRow(
        id=_plain(request.id),
        lane=_plain(request.lane),
        model=request.model,
        start=seconds(request.start),
        provider=request.provider,
        parent=_plain_or_none(request.parent),
        purpose=request.purpose,
        first_token=seconds(request.first_token),
        end=seconds(request.end),
        prompt=None if request.prompt is None else _prompt(request.prompt, origin, text),
        settings=request.settings,
        usage=None if request.usage is None else _usage(request.usage),
        iterations=tuple(_usage(usage) for usage in request.iterations),
        diagnosis=_diagnosis(request.diagnosis),
        stop_reason=request.stop_reason,
        service_tier=request.service_tier,
        speed=request.speed,
        region=request.region,
        host=request.host,
        account=_plain_or_none(request.account),
        logged_cost=request.logged_cost,
        harness_version=request.harness_version,
        appended_blocks=request.appended_blocks,
        section_tokens=request.section_tokens,
        output_final=request.output_final,
        counted=request.counted,
        source=None
        if request.source is None
        else SourceRow(file=_plain(request.source.file), line=request.source.line),
    )


def _prompt(prompt: Prompt, origin: Origin, text: bool) -> PromptRow:
    return PromptRow(
        grew_from=_plain_or_none(origin.request),
        keep=origin.keep,
        blocks=tuple(_block(prompt[position], text) for position in range(origin.keep, len(prompt))),
        breakpoints=tuple((marker.position, marker.ttl) for marker in prompt.breakpoints),
    )


def _block(block: Block, text: bool) -> BlockRow:
    return BlockRow(
        section=block.section,
        kind=block.kind,
        digest=block.digest.hex(),
        role=block.role,
        tokens=block.tokens,
        origin=block.origin,
        name=block.name,
        message=block.message,
        part=block.part,
        shape=block.shape,
        text=_plain_or_none(block.text) if text else None,
    )


def _has_text(prompt: Prompt | None) -> bool:
    return prompt is not None and len(prompt) > 0 and any(prompt[at].text is not None for at in (0, len(prompt) - 1))


def _usage(usage: Usage) -> UsageRow:
    return UsageRow(
        fresh=usage.fresh,
        write_short=usage.write_short,
        write_long=usage.write_long,
        write_other=usage.write_other,
        read=usage.read,
        output=usage.output,
    )


def _diagnosis(diagnosis: ProviderDiagnosis) -> DiagnosisRow | None:
    if diagnosis == ProviderDiagnosis() or diagnosis.by != "provider":
        return None
    return DiagnosisRow(reported=diagnosis.reported, reason=diagnosis.reason, missed_tokens=diagnosis.missed_tokens)


def _event(event: Event) -> EventRow:
    return EventRow(
        kind=event.kind,
        time=seconds(event.time),
        lane=_plain(event.lane),
        before=_plain_or_none(event.before),
        detail=_plain_or_none(event.detail),
    )


def _accounting(accounting: Accounting) -> AccountingRow | None:
    if not accounting.rows:
        return None
    return AccountingRow(
        rows=accounting.rows,
        used=accounting.used,
        duplicate=accounting.duplicate,
        not_billable=accounting.not_billable,
        skipped=accounting.skipped,
    )


def _problem(problem: Problem) -> ProblemRow:
    return ProblemRow(
        file=_plain(problem.file),
        line=problem.line,
        reason=_plain(problem.reason),
        remedy=_plain(problem.remedy),
        note=problem.note,
    )


def _plain(text: str) -> str:
    """Text that UTF-8 can hold: names of files may have bytes that are none, which Python keeps as half surrogates."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _plain_or_none(text: str | None) -> str | None:
    return None if text is None else _plain(text)
