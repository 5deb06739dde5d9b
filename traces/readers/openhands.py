"""OpenHands: completions logged one by one (``log_completions``), and the metrics in ``base_state.json``.

Usage convention: ``prompt_tokens`` includes what was read from and written to a cache (checked: what is left of the
input is not negative). A logged completion holds its whole request; those to Claude become prompts, translated from the
chat shape, so that causes can be proved. Calls of other models become rows of usage. Its time is its end,
``latency_sec`` gives its start. Files of one folder that hold one call each are one session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from agentsim.bodies.answering_hosts import host_named
from agentsim.bodies.input_conventions import input_includes_cached, is_empty
from agentsim.bodies.messages_replies import MessagesReply
from agentsim.bodies.openai_usage import OpenAIUsage, openai_usage
from agentsim.bodies.serving_provider import provider_of
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow, counter, decode
from agentsim.traces.capture_files import raise_nothing_found
from agentsim.traces.chat_bodies import messages_body
from agentsim.traces.exchanges import Exchange, sessions_of
from agentsim.traces.hostile_records import Tally, rows_of, tell_or_raise
from agentsim.traces.json_documents import document_bytes, parse_document
from agentsim.traces.session_assembly import MAIN, Assembly, refuse_empty, stem
from agentsim.traces.time_stamps import unix_nanoseconds

NAME = "openhands"
DESCRIPTION = "OpenHands: logged completions (log_completions), or base_state.json"
VERIFIED = True

TAIL_BYTES = 64 * 1024
MAX_DEPTH = 8

Json = dict[str, Any]


class _Response(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    provider: msgspec.Raw = msgspec.Raw(b"")
    """Which of a gateway's hosts answered."""
    usage: OpenAIUsage | None = None


class _Completion(msgspec.Struct, gc=False):
    response: _Response
    timestamp: msgspec.Raw = msgspec.Raw(b"")
    latency_sec: msgspec.Raw = msgspec.Raw(b"")


_completions = msgspec.json.Decoder(_Completion)
_anything = msgspec.json.Decoder(dict[str, Any])


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like a logged completion, or holds the state of a conversation."""
    start = head.lstrip()
    if not start.startswith(b"{"):
        return False
    if b'"token_usages"' in head:
        return True
    if b'"messages"' not in start[:64]:
        return os.path.basename(path) == "base_state.json"
    return b'"latency_sec"' in head or b'"latency_sec"' in _tail(path)


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The sessions of these files. A response that came before (in the same or another file) is counted once.

    What is wrong with a file is told in ``problems``; without that list OSError is raised for it.
    """
    seen: set[str] = set()
    groups: dict[str, list[str]] = {}
    for path in paths:
        single = path.endswith(".json") and os.path.basename(path) != "base_state.json"
        groups.setdefault(os.path.dirname(path) or "." if single else path, []).append(path)
    for key, files in groups.items():
        try:
            yield from _sessions(os.path.basename(key) if len(files) > 1 else stem(files[0]), files, seen, problems)
        except OSError as error:
            tell_or_raise(error, files[0], problems)


def _sessions(name: str, files: list[str], seen: set[str], problems: list[Problem] | None) -> list[Session]:
    tally = Tally(files[0])
    calls: list[tuple[Source, bytes, _Completion]] = []
    states: list[Session] = []
    for path in files:
        try:
            state = _rows(path, tally, calls)
        except OSError as error:
            tell_or_raise(error, path, problems)
            continue
        if state is not None:
            states.append(_of_state(path, state, seen, problems))
    if not calls:
        if not states:
            raise_nothing_found(files[0], tally, problems, "logged completion")
        return [session for session in states if session.requests]
    if all("claude" in (call.response.model or "").lower() for _, _, call in calls):
        exchanges = _exchanges(calls, tally)
        found = sessions_of(exchanges, format=NAME, name=name, tally=tally, files=tuple(files), seen=seen,
                                of_wire=False)  # fmt: skip
        if not found:
            raise_nothing_found(files[0], tally, problems, "logged completion")
        return [*states, *found]
    return [*states, *_of_rows(name, files, calls, tally, seen, problems)]


def _rows(path: str, tally: Tally, calls: list[tuple[Source, bytes, _Completion]]) -> Json | None:
    """Collect the completions of a file; the state, where it is one."""
    with open(path, "rb") as file:
        whole = file.readline().rstrip() in (b"{", b"\xef\xbb\xbf{")
    if whole or os.path.basename(path) == "base_state.json":
        data = document_bytes(path)
        document = parse_document(data, path, _anything)
        if "response" not in document:
            return document
        tally.rows += 1
        try:
            calls.append((Source(path, 1), data, decode(_completions, data)))
        except BadRow as bad:
            tally.skip(1, bad, path)
        return None
    for row in rows_of(path, _completions):
        tally.rows += 1
        try:
            calls.append((Source(path, row.line), row.data, row.checked()))
        except BadRow as bad:
            tally.skip(row.line, bad, path)
    return None


def _exchanges(calls: list[tuple[Source, bytes, _Completion]], tally: Tally) -> Iterator[Exchange]:
    for source, data, call in calls:
        try:
            start, end = _times(call)
            model = (call.response.model or "").rpartition("/")[2]
            host = host_named(call.response.provider)
            shown = None if host is None else "openrouter"
            reply = MessagesReply(
                provider=shown, id=call.response.id, model=model, usage=_usage(call.response.usage), host=host
            )
            body = messages_body(decode(_anything, data), model)
        except BadRow as bad:
            tally.skip(source.line, bad, source.file)
            continue
        yield Exchange(body=body, source=source, reply=reply, start=start, end=end, harness="openhands")


def _of_rows(
    name: str,
    files: list[str],
    calls: list[tuple[Source, bytes, _Completion]],
    tally: Tally,
    seen: set[str],
    problems: list[Problem] | None,
) -> list[Session]:
    assembly = Assembly(name, NAME, tally)
    assembly.files += files
    assembly.harness = "openhands"
    for source, _, call in sorted(calls, key=lambda item: (_times(item[2])[0] or 0, item[0].file, item[0].line)):
        response, (start, end) = call.response, _times(call)
        try:
            usage = _usage(response.usage)
        except BadRow as bad:
            tally.skip(source.line, bad, source.file)
            continue
        if is_empty(usage):
            tally.not_billable += 1
        elif response.id is not None and response.id in seen:
            tally.duplicate += 1
        else:
            seen.add(response.id or "")
            model = response.model or ""
            id = response.id or f"{name}#{len(assembly.requests) + 1}"
            host = host_named(response.provider)
            provider = provider_of(model=model, shown=None if host is None else "openrouter")
            assembly.add(Request(id=id, lane=MAIN, model=model, provider=provider, start=start, end=end, usage=usage,
                                 host=host, source=source))  # fmt: skip
    session = assembly.build("usage")
    refuse_empty(session, files[0], "logged completion", problems)
    return [session] if session.requests else []


def _usage(sent: OpenAIUsage | None) -> Usage:
    if sent is None:
        raise BadRow("no usage", "a response without usage")
    return openai_usage(sent)


def _times(call: _Completion) -> tuple[int | None, int | None]:
    end = unix_nanoseconds(bytes(call.timestamp))
    took = unix_seconds(bytes(call.latency_sec))
    return (None if end is None or took is None else end - took), end


def unix_seconds(number: bytes) -> int | None:
    """A duration in seconds as a JSON number, in nanoseconds; ``None`` for what is none, or longer than a day."""
    try:
        value = Decimal(number.decode())
    except (ArithmeticError, UnicodeDecodeError):
        return None
    return int(value.scaleb(9)) if value.is_finite() and 0 <= value < 86_400 else None


def _of_state(path: str, state: Json, seen: set[str], problems: list[Problem] | None) -> Session:
    """The rows of ``token_usages``, wherever in the state they stand: one lane for each list."""
    tally = Tally(path)
    id = state.get("id")
    assembly = Assembly(id if isinstance(id, str) and id else stem(path), NAME, tally)
    assembly.files.append(path)
    assembly.harness = "openhands"
    for name, metrics in _metrics(state, "", 0):
        lane = assembly.lane(name or MAIN)
        times = _state_times(metrics)
        for place, usage in enumerate(metrics["token_usages"], 1):
            tally.rows += 1
            try:
                if not isinstance(usage, dict):
                    raise BadRow("not an object")
                read, write, output = (
                    counter(usage.get(field), field)
                    for field in ("cache_read_tokens", "cache_write_tokens", "completion_tokens")
                )
                model = usage.get("model") if isinstance(usage.get("model"), str) else ""
                provider = provider_of(model=model or "")
                if write == 0 and provider != "anthropic":
                    write = None
                counted = input_includes_cached(counter(usage.get("prompt_tokens")), read, write, output)
            except BadRow as bad:
                tally.skip(place, bad)
                continue
            response = usage.get("response_id")
            response = response if isinstance(response, str) and response else None
            if is_empty(counted):
                tally.not_billable += 1
            elif response in seen:
                tally.duplicate += 1
            else:
                seen.update(() if response is None else (response,))
                start, end = times.get(response or "", (None, None))
                assembly.add(Request(id=response or f"{lane}#{place}", lane=lane, model=model or "", provider=provider,
                                     start=start, end=end, usage=counted, source=Source(path, place)))  # fmt: skip
    session = assembly.build("usage")
    refuse_empty(session, path, "token_usages", problems)
    return session


def _metrics(value: object, name: str, depth: int) -> Iterator[tuple[str, Json]]:
    if depth > MAX_DEPTH or not isinstance(value, dict):
        return
    if isinstance(value.get("token_usages"), list):
        yield name, value
        return
    for key, inner in value.items():
        yield from _metrics(inner, key, depth + 1)


def _state_times(metrics: Json) -> dict[str, tuple[int | None, int | None]]:
    """Start and end by response. Costs stand in the order of the usages, latencies name their response."""
    usages, costs, latencies = (metrics.get(key) for key in ("token_usages", "costs", "response_latencies"))
    if not (isinstance(usages, list) and isinstance(costs, list) and len(costs) == len(usages)):
        return {}
    took = {
        entry.get("response_id"): unix_seconds(repr(entry.get("latency")).encode())
        for entry in latencies or ()
        if isinstance(entry, dict) and isinstance(entry.get("response_id"), str)
    }
    times: dict[str, tuple[int | None, int | None]] = {}
    for usage, cost in zip(usages, costs, strict=True):
        if isinstance(usage, dict) and isinstance(cost, dict) and isinstance(usage.get("response_id"), str):
            end = unix_nanoseconds(repr(cost.get("timestamp")).encode())
            spent = took.get(usage["response_id"])
            times[usage["response_id"]] = (None if end is None or spent is None else end - spent, end)
    return times


def _tail(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            return file.read()
    except OSError:
        return b""
