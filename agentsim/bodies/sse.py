"""Server-sent events of a streamed Messages response.

Only the three events that carry counters are decoded; the text of the answer is passed over. Usage comes from
``message_start`` and from the last ``message_delta``: whatever field was sent last and was not ``null`` holds. A stream
that broke off keeps what was seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from agentsim.bodies.messages_replies import MessagesReply, ReplyUsage, ResponseMessage, reply_of
from agentsim.core.strict_decoding import BadRow, decode

_LINE_END = re.compile(rb"\r\n|\n|\r")
_STREAM_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?::|event:|data:|id:|retry:)")
_WANTED = re.compile(rb'"(?:message_start|message_delta|message_stop|error)"')


class _Delta(msgspec.Struct, gc=False):
    stop_reason: str | None = None


class _Event(msgspec.Struct, gc=False):
    type: str | None = None
    message: ResponseMessage | None = None
    delta: _Delta | None = None
    usage: ReplyUsage | None = None


_events = msgspec.json.Decoder(_Event)
_USAGE_FIELDS = ReplyUsage.__struct_fields__


def is_stream(data: bytes) -> bool:
    """Whether a body is one of server-sent events: it begins with a field, or with a comment (which gateways send while
    they wait for the first event). No JSON begins so."""
    return _STREAM_START.match(data) is not None


def read_stream(text: bytes | str) -> MessagesReply:
    """The reply that a stream's text tells. Raises BadRow when there is no event in it, or a counter is wrong."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return read_events(data_of(data))


def read_events(events: Iterable[bytes | msgspec.Raw]) -> MessagesReply:
    """The reply that a list of events tells, each given as its JSON. Raises BadRow as :func:`read_stream` does."""
    message: ResponseMessage | None = None
    finished = counted = False
    wanted = _WANTED.search
    for data in events:
        raw = bytes(data)
        if wanted(raw) is None:
            continue
        try:
            event = decode(_events, raw)
        except BadRow as bad:
            if bad.reason == "bad counter":
                raise
            continue  # an event cut short, or the text of an answer that looks like one
        if event.type == "message_start" and event.message is not None:
            message = event.message
        elif event.type == "message_delta":
            message = message or ResponseMessage()
            if event.delta is not None and event.delta.stop_reason is not None:
                message.stop_reason = event.delta.stop_reason
            if event.usage is not None:
                message.usage = _later(message.usage, event.usage)
                counted = counted or event.usage.output_tokens is not None
        elif event.type == "message_stop":
            finished = True
    if message is None:
        raise BadRow("no response", "the stream holds no message_start and no message_delta")
    return reply_of(message, output_final=counted or (finished and message.stop_reason is not None))


def _later(before: ReplyUsage | None, after: ReplyUsage) -> ReplyUsage:
    if before is None:
        return after
    sent = {field: value for field in _USAGE_FIELDS if (value := getattr(after, field)) is not None}
    return msgspec.structs.replace(before, **sent)


def data_of(stream: bytes) -> Iterator[bytes]:
    """The ``data`` of each event of a stream. Several ``data`` lines of one event are joined by a newline."""
    pending: list[bytes] = []
    stream = stream.removeprefix(b"\xef\xbb\xbf")
    for line in _LINE_END.split(stream) if b"\r" in stream else stream.split(b"\n"):
        if line.startswith(b"data:"):
            pending.append(line[5:].lstrip(b" "))
        elif not line and pending:
            yield b"\n".join(pending)
            pending = []
    if pending:
        yield b"\n".join(pending)
