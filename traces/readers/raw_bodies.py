"""A folder of raw bodies, as Claude Code writes it with ``OTEL_LOG_RAW_API_BODIES=file:DIR``.

Each request is a file ``<uuid>.request.json``, each response ``<request id>.response.json``, and no name links the two.
A response belongs to a request of its model that was written before it. Where several wait, a later request settles it:
it repeats the answer as its own history. Where none does, the one that waited longest is taken. The times are those at
which the files were last written: begin and end of a request as far as the file system kept them.

Thinking of earlier turns is blanked in these dumps, so that it cannot be compared.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b

import msgspec

from agentsim.bodies.messages_replies import MessagesReply, read_message
from agentsim.bodies.sse import is_stream, read_stream
from agentsim.core.session import Problem, Session, Source
from agentsim.core.strict_decoding import BadRow, decode
from agentsim.traces.capture_files import read_captures
from agentsim.traces.exchanges import Exchange
from agentsim.traces.hostile_records import Tally, tell_or_raise
from agentsim.traces.log_lines import MAX_LINE_BYTES, open_log, read_at_most
from agentsim.traces.log_walk import without_packing

NAME = "raw-bodies"
DESCRIPTION = "a folder of <uuid>.request.json and <id>.response.json (OTEL_LOG_RAW_API_BODIES=file:DIR)"
VERIFIED = False

REQUEST_END = ".request.json"
RESPONSE_END = ".response.json"


class _Block(msgspec.Struct, gc=False):
    type: str | None = None
    id: str | None = None
    text: str | None = None


class _Message(msgspec.Struct, gc=False):
    role: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"")


class _RequestPart(msgspec.Struct, gc=False):
    """As much of a request as pairing needs."""

    messages: list[_Message]
    model: str | None = None


class _ResponsePart(msgspec.Struct, gc=False):
    """As much of a response as pairing needs."""

    content: list[_Block] | None = None


class _Ask(msgspec.Struct):
    """A request to be paired. ``contents`` are hashes of what its messages hold, ``last`` that of the last one, and
    ``answers`` what the answers in its history say."""

    path: str
    time: int
    model: str | None
    last: bytes
    contents: frozenset[bytes]
    answers: frozenset[str]


class _Answer(msgspec.Struct):
    """A response to be paired."""

    path: str
    time: int
    reply: MessagesReply
    said: str | None


_asked = msgspec.json.Decoder(_RequestPart)
_answered = msgspec.json.Decoder(_ResponsePart)
_MARKER = re.compile(rb',?\s*"cache_control"\s*:\s*\{[^{}]*\}')
_MARKER_NAME = b'"cache_control"'
_blocks = msgspec.json.Decoder(list[_Block])


def detect(head: bytes, path: str) -> bool:
    """Whether this is a body file: by its name, because its content is any JSON body."""
    start = head.lstrip()[:1]
    return start == b"{" and without_packing(path).endswith((REQUEST_END, RESPONSE_END))


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The sessions of these folders (or of the body files named). A folder is read as a whole.

    What is wrong is told in ``problems``; without that list, OSError is raised for a folder that cannot be
    read and its subclass TraceError for one without a usable pair.
    """
    folders = dict(_by_folder(paths, problems))
    captures = [(folder, os.path.basename(os.path.abspath(folder))) for folder in folders]
    wanted = "Messages request with its response"

    def exchanges_of(folder: str, tally: Tally) -> Iterator[Exchange]:
        return _paired(folders[folder], tally)

    yield from read_captures(captures, problems, exchanges_of, format=NAME, wanted=wanted)


def _by_folder(paths: Iterable[str], problems: list[Problem] | None) -> list[tuple[str, list[str]]]:
    folders: dict[str, list[str]] = {}
    for path in paths:
        try:
            if os.path.isdir(path):
                files = [os.path.join(path, name) for name in os.listdir(path)]
                folders.setdefault(path, []).extend(
                    file for file in files if without_packing(file).endswith((REQUEST_END, RESPONSE_END))
                )
            else:
                folders.setdefault(os.path.dirname(path) or ".", []).append(path)
        except OSError as error:
            tell_or_raise(error, path, problems)
    return [(folder, sorted(set(files))) for folder, files in sorted(folders.items())]


def _paired(files: Sequence[str], tally: Tally) -> Iterator[Exchange]:
    asks: list[_Ask] = []
    answers: list[_Answer] = []
    for path in files:
        is_request = without_packing(path).endswith(REQUEST_END)
        tally.rows += is_request
        try:
            data, time = _content(path)
            if is_request:
                asks.append(_ask(path, time, data))
            else:
                answers.append(_answer(path, time, data))
        except (BadRow, OSError) as error:
            bad = error if isinstance(error, BadRow) else BadRow("cannot be read")
            if is_request:
                tally.skip(1, bad, path)
            else:
                # A response is no row of its own: its request will stand without one, and be counted there.
                tally.tell(1, bad, path)
    pairs = _pair(asks, answers)
    paired = {answer.path for answer in pairs.values()}
    for answer in answers:
        if answer.path not in paired:
            tally.tell(1, BadRow("no request", "a response that no request here belongs to"), answer.path)
    for ask in sorted(asks, key=_by_time):
        # The body is read again: a folder may hold more than memory does.
        try:
            body, _ = _content(ask.path)
        except (BadRow, OSError):
            tally.skip(1, BadRow("cannot be read", "the file changed while it was read"), ask.path)
        else:
            yield _exchange(ask, body, pairs.get(ask.path))


def _by_time(file: _Ask | _Answer) -> tuple[int, str]:
    return (file.time, file.path)


def _content(path: str) -> tuple[bytes, int]:
    with open_log(path) as file:
        status = os.stat(path)
        data = read_at_most(file, MAX_LINE_BYTES + 1)
    if len(data) > MAX_LINE_BYTES:
        raise BadRow("too long")
    try:
        data.decode()
    except UnicodeDecodeError:
        raise BadRow("not UTF-8") from None
    return data.removeprefix(b"\xef\xbb\xbf"), status.st_mtime_ns


def _ask(path: str, time: int, data: bytes) -> _Ask:
    try:
        asked = decode(_asked, data)
    except BadRow as bad:
        if bad.reason == "broken JSON":
            raise
        raise BadRow("not a Messages request", bad.detail) from None
    answers = frozenset(
        said
        for message in asked.messages
        if message.role == "assistant" and (said := _said(_blocks_of(message.content))) is not None
    )
    contents = [_content_hash(message.content) for message in asked.messages]
    return _Ask(path, time, asked.model, contents[-1] if contents else b"", frozenset(contents), answers)


def _content_hash(content: msgspec.Raw) -> bytes:
    """A message's content without breakpoints, which move on from one request to the next."""
    data = bytes(content)
    return blake2b(_MARKER.sub(b"", data) if _MARKER_NAME in data else data, digest_size=16).digest()


def _blocks_of(content: msgspec.Raw) -> list[_Block]:
    if not bytes(content).startswith(b"["):
        return []  # plain text
    try:
        return decode(_blocks, content)
    except BadRow:
        return []


def _answer(path: str, time: int, data: bytes) -> _Answer:
    if is_stream(data):
        return _Answer(path, time, read_stream(data), None)
    reply = read_message(data)
    try:
        said = _said(decode(_answered, data).content or [])
    except BadRow:
        said = None
    return _Answer(path, time, reply, said)


def _said(blocks: Iterable[_Block]) -> str | None:
    """By what an answer can be recognised in a later prompt: the id of its first tool call, or its text."""
    text = None
    for block in blocks:
        if block.type == "tool_use" and block.id:
            return f"tool {block.id}"
        if block.type == "text" and block.text and text is None:
            text = f"text {block.text}"
    return text


def _pair(asks: Sequence[_Ask], answers: Sequence[_Answer]) -> dict[str, _Answer]:
    """Which response belongs to which request, by the request's path."""
    waiting: dict[str | None, list[_Ask]] = {}
    for ask in sorted(asks, key=_by_time):
        waiting.setdefault(ask.model, []).append(ask)
    continuing: dict[str, list[_Ask]] = {}
    for ask in asks:
        for said in ask.answers:
            continuing.setdefault(said, []).append(ask)
    pairs: dict[str, _Answer] = {}
    for answer in sorted(answers, key=_by_time):
        fitting = [queue for model, queue in waiting.items() if queue and _same_model(model, answer.reply.model)]
        before = [queue[: bisect_right(queue, answer.time, key=_time)] for queue in fitting]
        # Copying a folder loses its times; then any request of that model may be meant.
        queues = [queue for queue in (before if any(before) else fitting) if queue]
        if not queues:
            continue
        choice = queues[0] if len(queues) == 1 else sorted((ask for queue in queues for ask in queue), key=_by_time)
        chosen = choice[0]
        if len(choice) > 1 and answer.said is not None:
            chosen = _continued_with(choice, continuing.get(answer.said, ()), answer.said) or chosen
        queue = waiting[chosen.model]
        del queue[bisect_left(queue, _by_time(chosen), key=_by_time)]
        pairs[chosen.path] = answer
    return pairs


def _time(file: _Ask) -> int:
    return file.time


def _continued_with(choice: Sequence[_Ask], continuing: Iterable[_Ask], said: str) -> _Ask | None:
    """The request whose last message stands in a later request that holds this answer too (one of ``continuing``)."""
    for later in continuing:
        for ask in choice:
            if said not in ask.answers and ask.last in later.contents:
                return ask
    return None


def _same_model(asked: str | None, answered: str | None) -> bool:
    """Whether a response may come from the model asked for: an alias is answered by a dated name."""
    if asked is None or answered is None:
        return True
    return answered.startswith(asked.removesuffix("-latest")) or asked.startswith(answered)


def _exchange(ask: _Ask, body: bytes, answer: _Answer | None) -> Exchange:
    request_id = None
    if answer is not None:
        request_id = os.path.basename(answer.path).removesuffix(RESPONSE_END)
    return Exchange(
        body=body,
        source=Source(ask.path, 1),
        reply=None if answer is None else answer.reply,
        start=ask.time,
        end=None if answer is None or answer.time < ask.time else answer.time,
        request_id=request_id,
        harness="claude-code",
    )
