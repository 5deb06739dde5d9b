"""What a real answer of the OpenAI APIs says of its usage, whole or streamed."""

from __future__ import annotations

import msgspec

from agentsim.session import Usage
from traces.records import BadRow, Count
from traces.replies import Reply
from traces.sse import data_of


class _InputDetails(msgspec.Struct, gc=False):
    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None


class _Usage(msgspec.Struct, gc=False):
    """Both conventions: ``prompt_tokens`` of chat completions, ``input_tokens`` of responses."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_tokens_details: _InputDetails | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    input_tokens_details: _InputDetails | None = None


class _Choice(msgspec.Struct, gc=False):
    finish_reason: str | None = None


class _Body(msgspec.Struct, gc=False):
    """A completion, a chunk of one, or a response."""

    id: str | None = None
    model: str | None = None
    status: str | None = None
    service_tier: str | None = None
    usage: _Usage | None = None
    choices: list[_Choice] | None = None


class _Event(_Body, gc=False):
    """An event of a streamed response, or a chunk."""

    type: str | None = None
    response: _Body | None = None


_bodies = msgspec.json.Decoder(_Body)
_events = msgspec.json.Decoder(_Event)


def read_answer(data: bytes) -> Reply:
    """The reply that a whole answer tells. Raises BadRow when it is none."""
    try:
        return _reply(_bodies.decode(data), finished=True)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadRow("no response", str(error)) from None


def read_stream(data: bytes) -> Reply:
    """The reply that a stream tells; of one that broke off, what was seen. Raises BadRow when it holds no event."""
    whole: _Body | None = None
    finished = False
    for raw in data_of(data):
        if raw == b"[DONE]" or (whole is not None and b'"usage"' not in raw and b'"finish_reason"' not in raw):
            continue
        try:
            event = _events.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        body = event.response if event.response is not None else event
        finished = finished or event.type in ("response.completed", "response.incomplete")
        if whole is None or event.response is not None:
            whole = body
        elif event.choices is not None:
            whole.usage = body.usage or whole.usage
            whole.choices = body.choices or whole.choices
    if whole is None or whole.id is None:
        raise BadRow("no response", "the stream holds no chunk and no event with a response")
    return _reply(whole, finished=finished or whole.usage is not None)


def _reply(body: _Body, *, finished: bool) -> Reply:
    stop = next((choice.finish_reason for choice in body.choices or () if choice.finish_reason), None)
    return Reply(
        id=body.id,
        model=body.model,
        stop_reason=stop or body.status,
        usage=None if body.usage is None else _usage_of(body.usage),
        service_tier=body.service_tier,
        output_final=finished,
    )


def _usage_of(sent: _Usage) -> Usage:
    """Counters without overlap: the totals of both APIs include what was read and written."""
    total = sent.prompt_tokens if sent.prompt_tokens is not None else sent.input_tokens
    output = sent.completion_tokens if sent.completion_tokens is not None else sent.output_tokens
    details = sent.prompt_tokens_details or sent.input_tokens_details
    read = None if details is None else details.cached_tokens
    written = None if details is None else details.cache_write_tokens
    fresh = None if total is None else total - (read or 0) - (written or 0)
    if fresh is not None and fresh < 0:
        raise BadRow("bad counter", "more tokens were read and written than the prompt has")
    return Usage(fresh=fresh, read=read, write_other=written or None, output=output)
