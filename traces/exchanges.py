"""Captured exchanges (a request body and what came back) to sessions.

The readers of captures differ in how they find the exchanges; what an exchange means is the same for all and stands
here: which are billed, which are copies, what each prompt grew from, and how its tokens add up.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from agentsim.bodies import BodyError, MessagesReader, ReadBody
from agentsim.bodies.answering_hosts import host_named, host_of_address
from agentsim.bodies.api_shapes import OPENAI_APIS, Api
from agentsim.bodies.messages_replies import MessagesReply, with_reply
from agentsim.bodies.openai_compaction import kept_of, take_trigger
from agentsim.bodies.openai_reader import Chat, OpenAIReader, ReadOpenAIBody, Responses, raw_input
from agentsim.bodies.serving_provider import UNKNOWN, provider_of
from agentsim.core.prompt import Prompt
from agentsim.core.session import Event, EventKind, Request, Session, Source
from agentsim.core.strict_decoding import BadRow, decode
from agentsim.rules.providers import rules_for
from agentsim.traces.capture_lanes import CapturedCall, LaneFinder
from agentsim.traces.captured_usage import closing, counted_prompt, told_lifetime
from agentsim.traces.hostile_records import Tally
from agentsim.traces.server_words import whose_server
from agentsim.traces.session_assembly import Assembly, counted_apart


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it was captured. Times in nanoseconds, ``None`` where the capture has none.

    ``reply`` is ``None`` when no response was captured; ``status`` is the HTTP status where there is one. ``api`` says
    what the body is one of; of responses ``output`` are the items that were answered. ``provider`` is what the capture
    declares, ``address`` the URL that was called, ``host`` which of several servers answered, ``account`` whose key it
    was, ``routed`` whether a header told where its conversation is known (``None``: no headers were recorded).
    """

    body: bytes
    source: Source
    api: Api = "messages"
    reply: MessagesReply | None = None
    output: tuple[bytes, ...] = ()
    status: int | None = None
    start: int | None = None
    first_token: int | None = None
    end: int | None = None
    session: str | None = None
    request_id: str | None = None
    harness: str | None = None
    harness_version: str | None = None
    betas: tuple[str, ...] = ()
    provider: str | None = None
    address: str | None = None
    host: str | None = None
    account: str | None = None
    routed: bool | None = None


ROUTE = "route_header"
"""The setting that says whether a header told where a conversation is known: ``true``, ``false``."""


def _with_route(exchange: Exchange, call: CapturedCall) -> tuple[tuple[str, str], ...]:
    """The settings of a call; where its provider looks at a header to find a conversation's machine, that, too."""
    if exchange.routed is None:
        return call.settings
    try:
        header = rules_for(exchange.provider or UNKNOWN, call.model, exchange.start).route_header
    except ValueError:
        return call.settings
    return tuple(sorted((*call.settings, (ROUTE, str(exchange.routed).lower())))) if header else call.settings


class _Outline(msgspec.Struct, gc=False):
    """As much of a body as is needed before it is read."""

    messages: list[msgspec.Raw] | None = None
    input: str | list[msgspec.Raw] | None = None
    previous_response_id: str | None = None
    model: str | None = None
    tools: list[msgspec.Raw] | None = None
    max_tokens: int | float | None = None
    max_completion_tokens: int | float | None = None
    max_output_tokens: int | float | None = None
    metadata: msgspec.Raw = msgspec.Raw(b"")


class _Metadata(msgspec.Struct, gc=False):
    user_id: str | None = None
    session_id: str | None = None


_outlines = msgspec.json.Decoder(_Outline)
_metadata = msgspec.json.Decoder(_Metadata)
_chats = msgspec.json.Decoder(Chat)
_responses = msgspec.json.Decoder(Responses)


def sessions_of(
    exchanges: Iterable[Exchange],
    *,
    format: str,
    name: str,
    tally: Tally,
    files: tuple[str, ...],
    seen: set[str],
    of_wire: bool = True,
) -> list[Session]:
    """The sessions that these exchanges make up: one for each session they name, those that name none together.

    Each exchange is read as it comes and its body let go. ``name`` is the id of the session of those that name none.
    ``tally`` has counted the rows; each session accounts for those that it took, and the first one for the rest.
    ``seen`` holds the ids of replies already counted, and grows. Without ``of_wire`` the bodies are what a program
    meant to send, and not what went over the wire: messages, with settings that nothing tells.
    """
    groups: dict[str, _Conversation] = {}
    readers = _Readers()
    for exchange in exchanges:
        try:
            outline = _outline(exchange)
            key = exchange.session or _session_told(exchange, outline) or name
            conversation = groups.get(key)
            if conversation is None:
                assembly = Assembly(key, format, Tally(tally.file))
                assembly.files += files
                conversation = groups[key] = _Conversation(assembly, seen, readers, of_wire)
            conversation.take(exchange, outline)
        except BadRow as bad:
            tally.skip(exchange.source.line, bad, exchange.source.file)
    ordered = sorted(groups.values(), key=_Conversation.first)
    for conversation in ordered:
        conversation.assemble()
    kept = counted_apart(tally, [conversation.assembly for conversation in ordered])
    return [assembly.build("full" if of_wire else "messages") for assembly in kept]


def _outline(exchange: Exchange) -> _Outline:
    reply = exchange.reply
    if reply is not None and reply.usage is None and not _failed(exchange):
        raise BadRow("no usage", "the response reports no counters")
    try:
        return decode(_outlines, exchange.body)
    except BadRow as bad:
        raise BadRow(_not_one(exchange.api), bad.detail or bad.reason) from None


def _not_one(api: Api) -> str:
    return "not an OpenAI request" if api in OPENAI_APIS else "not a Messages request"


def _session_told(exchange: Exchange, outline: _Outline) -> str | None:
    """The session that a body names in its metadata. A key under which prompts are cached is no session: one program
    may use one for all of its conversations, or many for one."""
    return None if exchange.api in OPENAI_APIS else session_in(bytes(outline.metadata))


def session_in(metadata: bytes) -> str | None:
    """The session that a body's ``metadata`` names in its ``user_id``, as Claude Code writes it."""
    user = _decoded(metadata).user_id or ""
    _, found, session = user.rpartition("_session_")
    if found and session:
        return session
    return _decoded(user.encode()).session_id or None if user.startswith("{") else None


def _decoded(metadata: bytes) -> _Metadata:
    try:
        return decode(_metadata, metadata)
    except BadRow:
        return _Metadata()


def _by_start(exchange: Exchange) -> tuple[bool, int, str, int]:
    start = exchange.start
    return (start is not None, start or 0, exchange.source.file, exchange.source.line)


class _Readers:
    """Readers of bodies: one for each provider, because some leave text out of their caches."""

    def __init__(self) -> None:
        self.openai = OpenAIReader()
        self._messages: dict[str, MessagesReader] = {}

    def messages(self, provider: str) -> MessagesReader:
        """The reader of Messages bodies that went to a provider."""
        found = self._messages.get(provider)
        if found is None:
            found = self._messages[provider] = MessagesReader(provider=provider)
        return found


class _Conversation:
    """The exchanges of one session, which may come in any order."""

    def __init__(self, assembly: Assembly, seen: set[str], readers: _Readers, of_wire: bool) -> None:
        self.assembly = assembly
        self.seen = seen
        self.readers = readers
        self.of_wire = of_wire
        self.noted: set[tuple[str, str | None]] = set()
        self.held: dict[str, tuple[str | None, tuple[bytes, ...]]] = {}
        """Items of responses by id, each behind those of another response."""
        self.prompts: dict[bytes, Prompt] = {}
        self.calls: list[tuple[Exchange, CapturedCall]] = []

    def first(self) -> tuple[bool, int, str, int]:
        """Where the session's first exchange stands among others."""
        return min((_by_start(exchange) for exchange, _ in self.calls), default=(True, 0, "", 0))

    def take(self, exchange: Exchange, outline: _Outline) -> None:
        """Read an exchange. Raises BadRow when its body is no Messages request."""
        guess = _guess(outline)
        provider = _provider(exchange, outline.model or "")
        before = self.prompts.get(guess)
        triggered = False
        try:
            read: ReadBody | ReadOpenAIBody
            if exchange.api not in OPENAI_APIS:
                read = self.readers.messages(provider).read(exchange.body, before)
            elif exchange.api == "chat":
                read = self.readers.openai.chat(decode(_chats, exchange.body), before)
            else:
                asked = decode(_responses, exchange.body)
                triggered = take_trigger(asked)
                history = self._history(asked.previous_response_id)
                read = self.readers.openai.responses(asked, history, before)
                if exchange.reply is not None and exchange.reply.id is not None:
                    self.held[exchange.reply.id] = self._left(exchange, asked, history, triggered)
        except BodyError as error:
            raise BadRow(_not_one(exchange.api), str(error)) from None
        self.prompts[guess] = read.prompt
        settings = read.settings
        if exchange.betas and not any(name == "betas" for name, _ in settings):
            betas = msgspec.json.encode(sorted(set(exchange.betas))).decode()
            settings = tuple(sorted((*settings, ("betas", betas))))
        call = CapturedCall(
            prompt=read.prompt,
            model=read.model or (exchange.reply.model if exchange.reply is not None else None) or "",
            settings=settings,
            start=exchange.start,
            end=exchange.end,
            max_tokens=_most(outline),
            tools=len(outline.tools or ()),
            messages=len(outline.messages or outline.input or ()) if outline.input != "" else 0,
            summarises=exchange.api == "compact" or triggered,
        )
        identity = b"" if _named(exchange) else blake2b(exchange.body, digest_size=16).digest()
        self.calls.append((msgspec.structs.replace(exchange, body=identity, output=(), provider=provider), call))

    def _left(
        self, exchange: Exchange, asked: Responses, history: list[bytes], triggered: bool
    ) -> tuple[str | None, tuple[bytes, ...]]:
        """What stands behind a response: the id of the one before it, and items. A compaction leaves none before it."""
        if exchange.api == "compact":
            return None, exchange.output
        new = raw_input(asked.input)
        if triggered:
            return None, (*kept_of([*history, *new]), *exchange.output)
        return asked.previous_response_id, (*new, *exchange.output)

    def _history(self, id: str | None) -> list[bytes]:
        """The items that a response ended with. Raises BadRow where the capture does not hold them all."""
        turns: list[tuple[bytes, ...]] = []
        while id is not None:
            if id not in self.held or len(turns) > len(self.held):
                raise BadRow("prompt unknown", "it continues a response that is not in the capture")
            id, items = self.held[id]
            turns.append(items)
        return [item for turn in reversed(turns) for item in turn]

    def assemble(self) -> None:
        """Put what was taken into the session, in order of its start."""
        calls = sorted(self.calls, key=lambda item: _by_start(item[0]))
        lanes = LaneFinder(call for _, call in calls)
        for exchange, call in calls:
            self._add(exchange, call, lanes)

    def _add(self, exchange: Exchange, call: CapturedCall, lanes: LaneFinder) -> None:
        reply, tally = exchange.reply, self.assembly.tally
        if reply is None or _failed(exchange):
            tally.not_billable += 1
            continued = lanes.continued(call)
            if continued is not None:
                detail = None if exchange.status is None else f"HTTP {exchange.status}"
                kind: EventKind = "api_error" if _failed(exchange) else "interrupted"
                self.assembly.note(kind, exchange.start, lane=continued.id, detail=detail)
            return
        if reply.id is not None and reply.id in self.seen:
            tally.duplicate += 1
            return
        if reply.id is not None:
            self.seen.add(reply.id)
        elif not _named(exchange) and self._is_copy(exchange, reply):
            tally.duplicate += 1
            return
        place = lanes.place(call)
        lane = place.lane_state.lane
        self.assembly.lane(lane.id, title=lane.title, purpose=lane.purpose, parent=lane.parent)
        self.assembly.harness = self.assembly.harness or exchange.harness
        usage = told_lifetime(exchange.api, reply.usage, call)
        prompt = counted_prompt(call.prompt, usage, place.before, behind=closing(exchange.api, usage, call.prompt))
        host = reply.host or host_named(exchange.host) or host_of_address(exchange.address)
        request = Request(
            id=exchange.request_id or reply.id or f"#{len(self.assembly.requests) + 1}",
            lane=lane.id,
            model=call.model,
            start=exchange.start,
            provider=exchange.provider or UNKNOWN,
            purpose=place.purpose,
            first_token=exchange.first_token,
            end=exchange.end,
            prompt=prompt,
            settings=_with_route(exchange, call) if self.of_wire else (),
            usage=usage,
            harness_version=exchange.harness_version,
            account=exchange.account,
            logged_cost=reply.logged_cost,
            source=exchange.source,
        )
        request = msgspec.structs.replace(with_reply(request, reply), host=host)
        replaced = [Event(kind="compaction", time=exchange.start, lane=lane.id)] if place.after_compaction else ()
        kept = self.assembly.add(request, parent=place.parent, events=replaced)
        place.lane_state.remember(kept.id, call, prompt, place.purpose)
        self._say_whose(exchange, host, call.model)
        if reply.doubt is not None and ("", reply.doubt.partition(" says")[0]) not in self.noted:
            self.noted.add(("", reply.doubt.partition(" says")[0]))
            told = BadRow("contradictory counters", f"{reply.doubt}, here and in rows like it")
            self.assembly.tally.tell(exchange.source.line, told, exchange.source.file, note=True)

    def _say_whose(self, exchange: Exchange, host: str | None, model: str) -> None:
        """Say once of each server whose rules it is judged by, where that is not plain."""
        provider = exchange.provider or UNKNOWN
        if (provider, host) in self.noted:
            return
        self.noted.add((provider, host))
        words = whose_server(exchange.api, provider, exchange.address, model)
        if words is not None:
            self.assembly.tally.tell(
                exchange.source.line, BadRow("other server", words), exchange.source.file, note=True
            )

    def _is_copy(self, exchange: Exchange, reply: MessagesReply) -> bool:
        """Whether a call without an id is one that was counted: the same body, counters and time. Where the capture has
        no times, two that are equal may have been two; they count, and it is said."""
        key = f"={exchange.body.hex()} {exchange.start} {exchange.end} {reply.usage}"
        again = key in self.seen
        self.seen.add(key)
        if again and exchange.start is None and exchange.end is None:
            words = "the same body and counters as an earlier row, and neither has an id or a time"
            self.assembly.tally.tell(
                exchange.source.line, BadRow("perhaps a copy", words), exchange.source.file, note=True
            )
            return False
        return again


def _named(exchange: Exchange) -> bool:
    """Whether a call has an id by which a copy of it can be told."""
    return exchange.request_id is not None or (exchange.reply is not None and exchange.reply.id is not None)


def _failed(exchange: Exchange) -> bool:
    return exchange.status is not None and exchange.status >= 400


def _guess(outline: _Outline) -> bytes:
    """By what a conversation can be told before its prompt is read: its model and its first message."""
    first = bytes(outline.messages[0]) if outline.messages else b""
    if not first and outline.input:
        first = bytes(outline.input[0]) if isinstance(outline.input, list) else outline.input.encode()
    return blake2b(first, digest_size=16, key=(outline.model or "").encode()[:64]).digest()


def _provider(exchange: Exchange, model: str) -> str:
    reply = exchange.reply
    return provider_of(
        declared=exchange.provider,
        address=exchange.address,
        api=exchange.api,
        model=model or (reply.model if reply is not None else None) or "",
        shown=None if reply is None else reply.provider,
    )


def _most(outline: _Outline) -> int | None:
    given = (outline.max_completion_tokens, outline.max_output_tokens, outline.max_tokens)
    return next((most for most in given if isinstance(most, int)), None)
