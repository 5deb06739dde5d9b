"""JSON lines of counters without prompts: what a program of one's own notes of each answer it gets.

A row holds the ``usage`` of an answer (or Gemini's ``usageMetadata``), at its top or in the response that it keeps, and
somewhere the model; times, ids, conversation, provider, address and account where they have a usual name. Whose
counters they are, and whether input includes what was cached, their names tell, as in captures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from agentsim.bodies.answering_hosts import host_named, host_of_address
from agentsim.bodies.api_shapes import Api
from agentsim.bodies.captured_calls import read_answered
from agentsim.bodies.input_conventions import is_empty, reports_writes
from agentsim.bodies.messages_replies import MessagesReply, with_reply
from agentsim.bodies.openai_usage import logged_picodollars
from agentsim.bodies.serving_provider import provider_of
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow
from agentsim.traces.export_rows import add_in_order
from agentsim.traces.hostile_records import calls_in, rows_of
from agentsim.traces.readers import pairs
from agentsim.traces.session_assembly import MAIN, Assembly, read_each
from agentsim.traces.time_stamps import nanoseconds, unix_nanoseconds

NAME = "usage-lines"
DESCRIPTION = "JSON lines of a model, the usage of an answer and its time, without prompts"
VERIFIED = False

Json = dict[str, Any]

MODEL_NAMES = ("model", "model_name", "modelId", "modelVersion")
COST_NAMES = ("cost", "spend", "response_cost", "cost_usd", "costUSD", "total_cost_usd")

_CONVERSE_COUNTERS = frozenset(("inputTokens", "outputTokens"))
_OPENAI_COUNTERS = frozenset(("prompt_tokens", "prompt_tokens_details", "input_tokens_details", "completion_tokens"))

_rows = msgspec.json.Decoder(dict[str, Any])


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins with an object of one line that tells a model and the counters of an answer."""
    line = head.lstrip().partition(b"\n")[0]
    if not line.startswith(b"{") or (b'"usage"' not in line and b'"usageMetadata"' not in line):
        return False
    try:
        row = _rows.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return _counters(row) is not None and _model(row) is not None


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file; each conversation that its rows name is a lane. What is wrong with a file is told in
    ``problems``; without that list OSError is raised for it."""
    seen: set[str] = set()
    yield from read_each(paths, problems, lambda path: _session(path, seen), "answer with its counters")


def _session(path: str, seen: set[str]) -> Session:
    assembly = Assembly.of_file(path, NAME)
    calls = calls_in(
        rows_of(path, _rows),
        assembly.tally,
        lambda row, line: _request(row, Source(path, line)),
        seen=seen,
        id_of=_id,
    )
    add_in_order(assembly, calls)
    return assembly.build("usage")


def _request(row: Json, source: Source) -> Request | None:
    reply = _reply(row)
    model = _model(row) or reply.model or ""
    address = _text(_places(row), pairs.ADDRESS_NAMES)
    declared = _text([row], pairs.PROVIDER_NAMES)
    provider = provider_of(declared=declared, address=address, model=model, shown=reply.provider)
    usage = _measured(reply.usage, provider, model)
    if usage is None or is_empty(usage):
        return None
    start, end = _time(row, pairs.START_NAMES), _time(row, pairs.END_NAMES)
    first = _time(row, pairs.FIRST_TOKEN_NAMES)
    request = Request(
        id=_id(row) or f"#{source.line}",
        lane=_text([row], pairs.SESSION_NAMES) or MAIN,
        model=model.rpartition("/")[2],
        provider=provider,
        start=start,
        first_token=first if first is not None and start is not None and first > start else None,
        end=end if end is None or start is None or end >= start else None,
        usage=usage,
        account=_text([row], pairs.ACCOUNT_NAMES),
        source=source,
    )
    named = msgspec.structs.replace(reply, model=None)  # a dated name is one more of the same model
    host = reply.host or host_named(_text([row], pairs.HOST_NAMES)) or host_of_address(address)
    cost = reply.logged_cost or next((found for n in COST_NAMES if (found := logged_picodollars(row.get(n)))), None)
    return msgspec.structs.replace(with_reply(request, named), host=host, logged_cost=cost)


def _measured(usage: Usage | None, provider: str, model: str) -> Usage | None:
    if usage is None or usage.write_other != 0 or usage.write_short or usage.write_long:
        return usage
    return usage if reports_writes(provider, model) else msgspec.structs.replace(usage, write_other=None)


def _places(row: Json) -> list[Json]:
    """Where a row may keep what an answer told: at its top, in its request or response, or in the body of these."""
    found = [row]
    for name in (*pairs.RESPONSE_NAMES, *pairs.REQUEST_NAMES):
        inner = row.get(name)
        if isinstance(inner, dict):
            found.append(inner)
            found += [body for each in pairs.BODY_NAMES if isinstance(body := inner.get(each), dict)]
    return found


def _counters(row: Json) -> tuple[Json, Api] | None:
    """The object with the counters, and the API whose names they have."""
    for place in _places(row):
        if isinstance(place.get("usageMetadata"), dict):
            return place, "generate"
        usage = place.get("usage")
        if isinstance(usage, dict) and usage:
            if not _CONVERSE_COUNTERS.isdisjoint(usage):
                return place, "converse"
            return place, "messages" if _OPENAI_COUNTERS.isdisjoint(usage) else "chat"
    return None


_TOLD = ("id", "usage", "usageMetadata", "provider", "service_tier", "stop_reason", "stopReason", "diagnostics")


def _reply(row: Json) -> MessagesReply:
    found = _counters(row)
    if found is None:
        raise BadRow("no usage", "a row without the counters of an answer")
    place, api = found
    told = {name: place[name] for name in _TOLD if name in place and (place is not row or name.startswith("usage"))}
    return read_answered(msgspec.json.encode(told), api).reply


def _model(row: Json) -> str | None:
    return _text(_places(row), MODEL_NAMES)


def _id(row: Json) -> str | None:
    found = _counters(row)
    own = _text([row], pairs.ID_NAMES)
    return own or (None if found is None or found[0] is row else _text([found[0]], ("id", "responseId")))


def _text(places: Sequence[Json], names: Sequence[str]) -> str | None:
    return next(
        (value for place in places for name in names if isinstance(value := place.get(name), str) and value), None
    )


def _time(row: Json, names: Sequence[str]) -> int | None:
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and (time := nanoseconds(value)) is not None:
            return time
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                return unix_nanoseconds(repr(value).encode())
            except BadRow:
                continue
    return None
