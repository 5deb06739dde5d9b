"""Captures of the ``claude-trace`` program: one pair of request and response a line, with whole bodies.

Times are those of the wire. Headers may hold live keys: the few that are used are picked out while a line is decoded,
and the others are never kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies.messages_replies import MessagesReply, read_message
from agentsim.bodies.sse import read_stream
from agentsim.core.session import Problem, Session, Source
from agentsim.core.strict_decoding import BadRow
from agentsim.traces.capture_files import read_captures
from agentsim.traces.exchanges import Exchange
from agentsim.traces.header_fields import HeaderFields, told_by
from agentsim.traces.hostile_records import Tally, calls_in, rows_of
from agentsim.traces.time_stamps import unix_nanoseconds

NAME = "claude-trace"
DESCRIPTION = "claude-trace captures (.claude-trace/log-*.jsonl): request and response pairs with bodies"
VERIFIED = True

MESSAGES_PATH = "/v1/messages"


class _Request(msgspec.Struct, gc=False):
    url: str
    timestamp: msgspec.Raw = msgspec.Raw(b"")
    headers: dict[str, msgspec.Raw] | None = None
    body: msgspec.Raw = msgspec.Raw(b"")


class _Response(msgspec.Struct, gc=False):
    timestamp: msgspec.Raw = msgspec.Raw(b"")
    status_code: int | None = None
    headers: dict[str, msgspec.Raw] | None = None
    body: msgspec.Raw = msgspec.Raw(b"")
    body_raw: str | None = None


class _Pair(msgspec.Struct, gc=False):
    request: _Request
    response: _Response | None = None


_pairs = msgspec.json.Decoder(_Pair)


def detect(head: bytes, path: str) -> bool:
    """Whether the beginning of a file looks like pairs that claude-trace wrote."""
    start = head.lstrip()[:4096]
    return start.startswith(b"{") and b'"request"' in start and b'"method"' in start and b'"headers"' in start


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The sessions of these captures. A response that came before (in the same or another file) is counted once.

    What is wrong with a file is told in ``problems``; without that list, OSError is raised for a file that cannot be
    read and its subclass TraceError for one without a usable pair.
    """
    captures = [(path, os.path.basename(path).removesuffix(".jsonl")) for path in paths]
    wanted = "pair of a Messages request and its response"
    yield from read_captures(captures, problems, _exchanges_of, format=NAME, wanted=wanted)


def _exchanges_of(path: str, tally: Tally) -> Iterator[Exchange]:
    yield from calls_in(
        rows_of(path, _pairs),
        tally,
        lambda pair, line: _exchange(pair, Source(path, line)),
        billed=lambda pair: is_messages_call(pair.request.url),
    )


def is_messages_call(url: str) -> bool:
    """Whether a URL is that of the Messages endpoint itself (not of token counting or batches)."""
    return url.partition("#")[0].partition("?")[0].rstrip("/").endswith(MESSAGES_PATH)


def _exchange(pair: _Pair, source: Source) -> Exchange:
    request, response = pair.request, pair.response
    asked = told_by(request.headers)
    answered = told_by(response.headers) if response is not None else HeaderFields()
    return Exchange(
        body=bytes(request.body),
        source=source,
        reply=None if response is None else _reply(response),
        status=None if response is None else response.status_code,
        start=unix_nanoseconds(bytes(request.timestamp)),
        end=None if response is None else unix_nanoseconds(bytes(response.timestamp)),
        session=asked.session,
        request_id=answered.request_id,
        harness=asked.harness,
        harness_version=asked.harness_version,
        betas=asked.betas,
        address=request.url,
        account=asked.account or answered.account,
    )


def _reply(response: _Response) -> MessagesReply | None:
    if response.status_code is not None and response.status_code >= 400:
        return None
    if response.body_raw:
        return read_stream(response.body_raw)
    if not response.body or bytes(response.body) == b"null":
        raise BadRow("no response", "neither body nor body_raw")
    return read_message(response.body)
