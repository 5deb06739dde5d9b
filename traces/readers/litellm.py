"""LiteLLM's spend logs and standard logging payloads: one row a request, as the gateway counted it.

Usage convention: ``prompt_tokens`` includes tokens read from and written to a provider's cache (checked: what is left
is not negative). What the provider's cache did stands in ``metadata.usage_object`` or ``usage``; ``cache_hit`` is the
gateway's own cache of whole responses: such a row reached no provider, and is not billed.

Where the gateway stored prompts, each row holds the ``messages`` that it was sent. They are compared as they stand:
what the gateway made of them the log does not tell, nor, without the parameters of the call, what went with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from agentsim.bodies.answering_hosts import host_named, host_of_address
from agentsim.bodies.input_conventions import reports_writes
from agentsim.bodies.messages_replies import MessagesReply
from agentsim.bodies.openai_usage import logged_picodollars, usage_in
from agentsim.bodies.serving_provider import provider_of
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.traces.capture_files import read_captures
from agentsim.traces.exchanges import Exchange
from agentsim.traces.export_rows import add_in_order
from agentsim.traces.hostile_records import Tally, calls_in, rows_of
from agentsim.traces.logged_prompts import chat_body, held_in, read_better
from agentsim.traces.session_assembly import MAIN, Assembly, read_each, stem
from agentsim.traces.time_stamps import nanoseconds, unix_nanoseconds

NAME = "litellm"
DESCRIPTION = "LiteLLM spend logs and logging payloads, JSON lines (from descriptions)"
VERIFIED = False

WANTED = "request with its counters"

Json = dict[str, Any]

_rows = msgspec.json.Decoder(dict[str, Any])
_lists = msgspec.json.Decoder(list[Any])


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like rows of LiteLLM."""
    start = head.lstrip()
    wanted = (b'"prompt_tokens"', b'"completion_tokens"', b'"startTime"', b'"call_type"')
    return start.startswith(b"{") and all(name in head for name in wanted)


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file; each ``session_id`` in it is a lane, and a session of its own where every row holds its
    messages. What is wrong with a file is told in ``problems``; without that list OSError is raised for it."""
    seen: set[str] = set()
    for path in paths:
        as_rows = partial(_by_counters, path)
        held = held_in(partial(rows_of, path, _rows), _is_billed, _messages, _parameters, _model)
        if held == "nothing":
            yield from as_rows(problems, seen)
        else:
            yield from read_better(partial(_by_prompts, path, held == "request"), as_rows, problems, seen)


def _by_counters(path: str, problems: list[Problem] | None, seen: set[str]) -> Iterator[Session]:
    return read_each([path], problems, lambda path: _session(path, seen), WANTED)


def _by_prompts(path: str, of_wire: bool, problems: list[Problem] | None, seen: set[str]) -> Iterator[Session]:
    named = [(path, stem(path))]
    return read_captures(named, problems, _exchanges_of, format=NAME, wanted=WANTED, of_wire=of_wire, seen=seen)


def _messages(row: Json) -> list[Any]:
    found = row.get("messages")
    if isinstance(found, str) and found[:1] == "[":
        try:
            found = _lists.decode(found)
        except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
            return []
    return found if isinstance(found, list) and all(isinstance(each, dict) for each in found) else []


def _parameters(row: Json) -> Json:
    return next((found for name in ("model_parameters", "optional_params") if (found := _object(row.get(name)))), {})


def _model(row: Json) -> str:
    return _text(row, "model") or ""


def _exchanges_of(path: str, tally: Tally) -> Iterator[Exchange]:
    yield from calls_in(
        rows_of(path, _rows), tally, lambda row, line: _exchange(row, Source(path, line)), billed=_is_billed
    )


def _exchange(row: Json, source: Source) -> Exchange:
    request = _request(row, source)
    return Exchange(
        body=chat_body(request.model, _messages(row), _parameters(row)),
        source=source,
        api="chat",
        reply=MessagesReply(id=_id(row), usage=request.usage, host=request.host, logged_cost=request.logged_cost),
        start=request.start,
        first_token=request.first_token,
        end=request.end,
        session=None if request.lane == MAIN else request.lane,
        request_id=_id(row),
        provider=request.provider,
        address=_address(row),
    )


def _session(path: str, seen: set[str]) -> Session:
    assembly = Assembly.of_file(path, NAME)
    calls = calls_in(
        rows_of(path, _rows),
        assembly.tally,
        lambda row, line: _request(row, Source(path, line)),
        billed=_is_billed,
        seen=seen,
        id_of=_id,
    )
    add_in_order(assembly, calls)
    return assembly.build("usage")


def _is_billed(row: Json) -> bool:
    return row.get("cache_hit") not in (True, "True", "true") and row.get("status") != "failure"


def _id(row: Json) -> str | None:
    return _text(row, "request_id", "id")


def _request(row: Json, source: Source) -> Request:
    model = _model(row)
    start, end, first = (_time(row.get(name)) for name in ("startTime", "endTime", "completionStartTime"))
    declared = _text(row, "custom_llm_provider")
    provider = provider_of(declared=declared, address=_address(row), model=model)
    return Request(
        id=_id(row) or f"#{source.line}",
        lane=_text(row, "session_id", "trace_id") or MAIN,
        model=model.rpartition("/")[2],
        provider=provider,
        start=start,
        first_token=first if first is not None and start is not None and first > start else None,
        end=end,
        usage=_usage(row, provider, model),
        host=_host(row),
        logged_cost=logged_picodollars(row.get("spend", row.get("response_cost"))),
        source=source,
    )


def _places(row: Json) -> list[Json]:
    return [row, *(_object(row.get(name)) for name in ("hidden_params", "metadata"))]


def _address(row: Json) -> str | None:
    return next((found for place in _places(row) if (found := _text(place, "api_base"))), None)


def _host(row: Json) -> str | None:
    """Where the gateway sent the request: the host of the address, or else the name of the deployment."""
    places = _places(row)
    found = (host_of_address(place.get("api_base")) for place in places)
    named = (host_named(place.get("model_id")) for place in places)
    return next((host for host in (*found, *named) if host is not None), None)


def _usage(row: Json, provider: str, model: str) -> Usage:
    metadata = _object(row.get("metadata"))
    places = [
        _object(place.get(name))
        for place in (metadata, row)
        for name in ("usage_object", "additional_usage_values", "usage")
    ]
    counts = {name: row.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    usage = usage_in((counts, *places))
    silent = usage.write_other == 0 and not reports_writes(provider, model)
    return msgspec.structs.replace(usage, write_other=None) if silent else usage


def _object(value: object) -> Json:
    """An object, also where it is text: a table has no other place for it."""
    if isinstance(value, str) and value[:1] == "{":
        try:
            return _rows.decode(value)
        except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _text(row: Json, *names: str) -> str | None:
    return next((value for name in names if isinstance(value := row.get(name), str) and value), None)


def _time(value: object) -> int | None:
    if isinstance(value, str):
        return nanoseconds(value)
    return unix_nanoseconds(repr(value).encode()) if isinstance(value, int | float) else None
