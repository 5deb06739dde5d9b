"""OpenAI Batch: a file of requests and a file of results, in any order, joined by ``custom_id``.

Usage convention: input includes cached tokens, in both of its APIs (checked: what is left is not negative). All parts
are billed at the price of a batch: the service tier is ``batch``, also where a result does not say so. There are no
times, and how many requests ran side by side is not known; they keep the order in which they were asked. A result
without its request is a row of usage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies.messages_usage import ABSENT
from agentsim.bodies.openai_usage import OpenAIUsage, openai_usage
from agentsim.core.prompt import Prompt
from agentsim.core.session import Problem, Request, Session, Source
from agentsim.core.strict_decoding import BadRow, decode
from agentsim.traces.body_prompts import BodyPrompts, Settings
from agentsim.traces.hostile_records import Tally, rows_of, tell_or_raise
from agentsim.traces.session_assembly import MAIN, Assembly, refuse_empty, stem

NAME = "openai-batch"
DESCRIPTION = "OpenAI Batch: requests and results together (from descriptions)"
VERIFIED = False

TEXT_ENDPOINTS = ("/chat/completions", "/responses")


class _Response(msgspec.Struct, gc=False):
    status_code: int | None = None
    request_id: str | None = None
    body: msgspec.Raw = ABSENT


class _Row(msgspec.Struct, gc=False):
    custom_id: str
    url: str | None = None
    body: msgspec.Raw = ABSENT
    response: _Response | None = None
    error: msgspec.Raw = ABSENT


class _Answer(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    usage: OpenAIUsage | None = None
    service_tier: str | None = None


class _BatchRequest(msgspec.Struct, frozen=True, gc=False):
    source: Source
    order: int
    url: str
    body: bytes


_rows = msgspec.json.Decoder(_Row)
_answers = msgspec.json.Decoder(_Answer)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like the requests or the results of a batch."""
    start = head.lstrip()[:4096]
    if not start.startswith(b"{") or b'"custom_id"' not in start:
        return False
    if b'"method"' in start and b'"url"' in start and b'"body"' in start:
        return True
    return b'"response"' in start and (b'"status_code"' in start or b'"request_id"' in start or b'"error"' in head)


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of these files, which belong together: one for all of them, named after the first.

    What is wrong with a file is told in ``problems``; without that list, OSError is raised for a file that cannot be
    read and its subclass TraceError where there is no result.
    """
    if not paths:
        return
    tally = Tally(paths[0])
    asked: dict[str, _BatchRequest] = {}
    results: list[tuple[Source, _Row]] = []
    for path in paths:
        try:
            _take(path, tally, asked, results)
        except OSError as error:
            tell_or_raise(error, path, problems)
    session = _session(paths, tally, asked, results)
    try:
        refuse_empty(session, paths[0], "result of a batch", problems)
    except OSError as error:
        tell_or_raise(error, paths[0], problems)
        return
    if session.requests:
        yield session


def _take(path: str, tally: Tally, asked: dict[str, _BatchRequest], results: list[tuple[Source, _Row]]) -> None:
    for raw in rows_of(path, _rows):
        tally.rows += 1
        try:
            row = raw.checked()
            source = Source(path, raw.line)
            if row.response is not None or (row.error and bytes(row.error) != b"null"):
                results.append((source, row))
            elif row.body:
                # A request is billed by its result.
                tally.not_billable += 1
                asked.setdefault(row.custom_id, _BatchRequest(source, len(asked), row.url or "", bytes(row.body)))
            else:
                raise BadRow("unknown record", "neither body nor response")
        except BadRow as bad:
            tally.skip(raw.line, bad, path)


def _session(
    paths: Sequence[str], tally: Tally, asked: dict[str, _BatchRequest], results: list[tuple[Source, _Row]]
) -> Session:
    assembly = Assembly(stem(paths[0]), NAME, tally)
    assembly.files += paths
    prompts = BodyPrompts()
    last = len(asked)
    results.sort(key=lambda result: asked[result[1].custom_id].order if result[1].custom_id in asked else last)
    seen: set[str] = set()
    for source, row in results:
        try:
            response = row.response
            if response is None or (response.status_code or 0) >= 400 or (row.error and bytes(row.error) != b"null"):
                tally.not_billable += 1
                continue
            request = _request(source, row, response, asked.get(row.custom_id), prompts, tally)
            if request.id in seen:
                tally.duplicate += 1
                continue
            seen.add(request.id)
            assembly.add(request, parent=None)
        except BadRow as bad:
            tally.skip(source.line, bad, source.file)
    whole = all(request.prompt is not None for request in assembly.requests)
    return assembly.build("full" if whole else "usage")


def _request(
    source: Source, row: _Row, response: _Response, asked: _BatchRequest | None, prompts: BodyPrompts, tally: Tally
) -> Request:
    if asked is not None and asked.url and not asked.url.rstrip("/").endswith(TEXT_ENDPOINTS):
        raise BadRow("other endpoint", "")
    answer = decode(_answers, response.body)
    if answer.usage is None:
        raise BadRow("no usage", "response.body.usage")
    usage = openai_usage(answer.usage)
    prompt: Prompt | None = None
    settings: Settings = ()
    if asked is not None:
        try:
            prompt, settings = prompts.read(asked.body, MAIN, messages_api=False, total=usage.total_input)
        except BadRow as bad:
            tally.tell(asked.source.line, BadRow("prompt unknown", str(bad)), asked.source.file, note=True)
    return Request(
        id=row.custom_id,
        lane=MAIN,
        model=answer.model or "",
        provider="openai",
        start=None,
        prompt=prompt,
        settings=settings,
        usage=usage,
        service_tier="batch",
        source=source if asked is None else asked.source,
    )
