"""LiteLLM's spend logs and standard logging payloads: one row a request, as the gateway counted it.

Usage convention: ``prompt_tokens`` includes tokens read from and written to a provider's cache (checked: what is left
is not negative). What the provider's cache did stands in ``metadata.usage_object`` or ``usage``; ``cache_hit`` is the
gateway's own cache of whole responses: such a row reached no provider, and is not billed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from agentsim.bodies.answering_hosts import host_named, host_of_address
from agentsim.bodies.input_conventions import reports_writes
from agentsim.bodies.openai_usage import logged_picodollars, usage_in
from agentsim.bodies.serving_provider import provider_of
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.traces.export_rows import add_in_order
from agentsim.traces.hostile_records import calls_in, rows_of
from agentsim.traces.session_assembly import MAIN, Assembly, read_each
from agentsim.traces.time_stamps import nanoseconds, unix_nanoseconds

NAME = "litellm"
DESCRIPTION = "LiteLLM spend logs and logging payloads, JSON lines (from descriptions)"
VERIFIED = False

Json = dict[str, Any]

_rows = msgspec.json.Decoder(dict[str, Any])


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like rows of LiteLLM."""
    start = head.lstrip()
    wanted = (b'"prompt_tokens"', b'"completion_tokens"', b'"startTime"', b'"call_type"')
    return start.startswith(b"{") and all(name in head for name in wanted)


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file; each ``session_id`` in it is a lane. What is wrong with a file is told in ``problems``;
    without that list OSError is raised for it."""
    seen: set[str] = set()
    yield from read_each(paths, problems, lambda path: _session(path, seen), "request with its counters")


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
    model = _text(row, "model") or ""
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
