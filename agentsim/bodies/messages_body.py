"""Anthropic Messages request bodies to prompts, at the cost of what is new in each.

Two short cuts make the cost of a body that of its new part. The raw JSON of its messages is compared with that of the
body it grew from (one memory comparison a message), and the blocks of a message that differs are looked up by a hash of
their raw JSON, so that only text never seen before is decoded, put in canonical form and hashed.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b

import msgspec
from msgspec import Raw

from agentsim.bodies import messages_wire
from agentsim.bodies.body_error import BodyError
from agentsim.bodies.canonical_block import (
    Canonical,
    canonical_block,
    canonical_text,
    canonical_tool,
    decode,
    encode,
    marker_ttl,
)
from agentsim.bodies.prompt_growth import BlockPiece, PromptGrowth
from agentsim.bodies.provider_quirks import ignored_by_provider
from agentsim.bodies.request_settings import Settings, settings_of
from agentsim.core.prompt import DIGEST_SIZE, Block, Breakpoint, Prompt, Section, Shape
from agentsim.core.tokens import estimate_quickly

RawBody = bytes | bytearray | memoryview | Raw
KEPT_BODY_BYTES = 32 * 2**20
"""How many bytes of recent bodies are kept to compare the next ones with."""

IMAGE_TOKENS = 1500
"""What an image counts in an estimate: about its size at the provider's own resolution limit."""

ATTACHED_BYTES_PER_TOKEN = 32
UNMARKABLE = frozenset(("thinking", "redacted_thinking"))
"""Blocks that cannot carry a breakpoint."""

_RENDERED_WITH_SYSTEM = ("web_search_", "web_fetch_")
"""Server tools whose coming and going leaves the tools of a prompt cached but not its system text (documented): their
definitions are rendered behind the other tools, so they stand at the head of the system section here."""

_IMAGES, _CITATIONS, _REFERENCES, _TOOL_CHANGES = 1, 2, 4, 8
_CHANGES = frozenset(("tool_addition", "tool_removal"))
"""Blocks in the middle of a conversation that add a tool, or take one away."""


class ReadBody(msgspec.Struct, frozen=True):
    """What a body says: its model, its prompt, and the settings that may be in the cache key."""

    model: str | None
    prompt: Prompt
    settings: Settings


class _Layout(msgspec.Struct, gc=False):
    """Where the raw parts of a body lie in its prompt. ``ends[i]`` is the length of the prompt after message i."""

    prompt: Prompt
    size: int
    keep_text: bool
    tools: list[Raw]
    system: Raw
    messages: list[Raw]
    tools_end: int
    system_end: int
    head_markers: tuple[Breakpoint, ...]
    deferred: dict[str, BlockPiece]
    ends: list[int]
    markers: dict[int, tuple[Breakpoint, ...]]
    flags: list[int]


class MessagesReader:
    """Reads bodies of one kind of provider. Keep one reader for bodies that share content: it remembers blocks.

    ``key`` makes the digests keyed (up to 64 bytes), for traces that leave the machine. ``provider`` says whose cache
    the bodies were meant for: some providers ignore certain text (:mod:`agentsim.bodies.provider_quirks`). ``estimate``
    counts the tokens of a text; the default is quick and rough, because counts are scaled to reported totals later.
    """

    def __init__(
        self,
        *,
        key: bytes = b"",
        provider: str = "anthropic",
        estimate: Callable[[str], int] = estimate_quickly,
    ) -> None:
        self._key = key
        self._provider = provider
        self._estimate = estimate
        self._pieces: dict[bytes, BlockPiece] = {}
        self._persons: dict[str, bytes] = {}
        self._layouts: OrderedDict[int, _Layout] = OrderedDict()
        self._kept_bytes = 0
        self._last: tuple[RawBody, ReadBody] | None = None

    def prompt(
        self, body: RawBody | Mapping[str, object], grew_from: Prompt | None = None, keep_text: bool = True
    ) -> Prompt:
        """The body's prompt. Blocks that it has in common with ``grew_from`` are shared with it, not made again.

        Raises BodyError when the body is not a Messages request. ``keep_text=False`` keeps digests and sizes only.
        """
        return self.read(body, grew_from, keep_text).prompt

    def settings(self, body: RawBody | Mapping[str, object]) -> Settings:
        """The parameters that may be in the cache key, as sorted (name, JSON) pairs. Free for the body read last."""
        if self._last is not None and body is self._last[0]:
            return self._last[1].settings
        return self.read(body, None, keep_text=False).settings

    def read(
        self, body: RawBody | Mapping[str, object], grew_from: Prompt | None = None, keep_text: bool = True
    ) -> ReadBody:
        """Prompt, settings and model at once. Raises BodyError; see :meth:`prompt`."""
        raw = _raw(body)
        parts = messages_wire.decode_body(raw)
        layout = self._build(parts, grew_from, keep_text, memoryview(raw).nbytes)
        flags = 0
        for flag in set(layout.flags):
            flags |= flag
        settings = settings_of(
            parts,
            images=bool(flags & _IMAGES),
            citations=bool(flags & _CITATIONS),
            tool_changes=bool(layout.deferred) or bool(flags & _TOOL_CHANGES),
        )
        self._remember(layout)
        result = ReadBody(parts.model, layout.prompt, settings)
        if isinstance(body, (bytes, Raw)):
            self._last = (body, result)
        return result

    def prompt_of(
        self, system: Sequence[object], messages: Sequence[tuple[str, Sequence[object]]], keep_text: bool = True
    ) -> Prompt:
        """The prompt of blocks that are decoded already: those of the system text, and of each message its role and
        blocks. The same prompt as of a body of these blocks, and nothing is remembered. Raises BodyError."""
        growth = PromptGrowth(None)
        for part, value in enumerate(system):
            piece = self._of_value(value, f"system[{part}]", "system", None, keep_text, quirk=part == 0)
            growth.add(piece, "system", None, part, None, "list")
        for index, (role, blocks) in enumerate(messages):
            for part, value in enumerate(blocks):
                piece = self._of_value(value, f"messages[{index}].content[{part}]", "messages", role, keep_text)
                growth.add(piece, "messages", role, index, part, "list")
        return growth.finish(tuple(growth.markers))

    def _of_value(
        self, value: object, path: str, section: Section, role: str | None, keep_text: bool, quirk: bool = False
    ) -> BlockPiece:
        try:
            return self._piece(canonical_block(value, path), section, role, keep_text, quirk)
        except RecursionError:
            raise BodyError(path, "nested too deeply") from None

    def _build(
        self, parts: messages_wire.MessagesBody, grew_from: Prompt | None, keep_text: bool, size: int
    ) -> _Layout:
        tools = parts.tools or []
        system = parts.system
        before = self._layouts.get(id(grew_from)) if grew_from is not None else None
        if before is not None and (before.prompt is not grew_from or before.keep_text != keep_text):
            before = None
        growth = PromptGrowth(grew_from)
        same_tools = before is not None and before.tools == tools
        if before is not None and same_tools and before.system == system:
            growth.skip(before.system_end)
            tools_end, deferred = before.tools_end, before.deferred
            head_markers, head_flags = before.head_markers, before.flags[0]
        else:
            deferred, head_flags = self._add_tools(growth, tools, keep_text)
            tools_end = growth.count
            head_flags |= self._add_system(growth, system, deferred, keep_text)
            head_markers = tuple(growth.markers)
        head_end = growth.count
        ends: list[int] = []
        flags = [head_flags]
        markers: dict[int, tuple[Breakpoint, ...]] = {}
        first = 0
        if before is not None and growth.sharing and before.system_end == head_end:
            first = _equal_messages(before, parts.messages, same_tools)
            if first:
                ends = before.ends[:first]
                flags = [head_flags, *before.flags[1 : first + 1]]
                markers = {index: found for index, found in before.markers.items() if index < first}
                growth.skip(ends[-1])
        for index in range(first, len(parts.messages)):
            growth.markers.clear()
            flags.append(self._add_message(growth, parts.messages[index], index, deferred, keep_text))
            ends.append(growth.count)
            if growth.markers:
                markers[index] = tuple(growth.markers)
        found = [*head_markers, *(marker for index in sorted(markers) for marker in markers[index])]
        prompt = growth.finish(())
        if not messages_wire.is_absent(parts.cache_control):
            ttl = marker_ttl(decode(parts.cache_control, "cache_control"), "cache_control")
            self._add_automatic(prompt, ttl, found)
        prompt = prompt.with_breakpoints(found)
        return _Layout(
            prompt=prompt,
            size=size,
            keep_text=keep_text,
            tools=tools,
            system=system,
            messages=parts.messages,
            tools_end=tools_end,
            system_end=head_end,
            head_markers=head_markers,
            deferred=deferred,
            ends=ends,
            markers=markers,
            flags=flags,
        )

    def _add_tools(self, growth: PromptGrowth, tools: list[Raw], keep_text: bool) -> tuple[dict[str, BlockPiece], int]:
        """Adds the definitions that are rendered in front; returns those that are deferred, by name."""
        deferred: dict[str, BlockPiece] = {}
        behind: list[tuple[int, BlockPiece]] = []
        for index, raw in enumerate(tools):
            path = f"tools[{index}]"
            piece, is_deferred = self._tool(bytes(raw), path, keep_text)
            if is_deferred:
                if piece.markers:
                    raise BodyError(f"{path}.cache_control", "a deferred tool cannot carry a breakpoint")
                if piece.name is not None:
                    deferred[piece.name] = piece
            elif piece.kind.startswith(_RENDERED_WITH_SYSTEM):
                behind.append((index, piece))
            else:
                growth.add(piece, "tools", None, index, None)
        for index, piece in behind:
            growth.add(piece, "system", None, index, None)
        return deferred, 0

    def _tool(self, raw: bytes, path: str, keep_text: bool) -> tuple[BlockPiece, bool]:
        tag = self._memo_key(raw, "tool", keep_text)
        piece = self._pieces.get(tag)
        is_deferred = False
        if piece is None or b'"defer_loading"' in raw:
            value = decode(raw, path)
            is_deferred = isinstance(value, dict) and value.get("defer_loading") is True
            if piece is None:
                piece = self._pieces[tag] = self._piece(canonical_tool(value, path), "tools", None, keep_text)
        return piece, is_deferred

    def _add_system(self, growth: PromptGrowth, system: Raw, deferred: dict[str, BlockPiece], keep_text: bool) -> int:
        if messages_wire.is_absent(system):
            return 0
        flags = 0
        for part, raw, shape in _content(system, "system"):
            place = f"system[{part}]" if shape == "list" else "system"
            piece = self._block(bytes(raw), place, "system", None, deferred, keep_text, quirk=part == 0)
            flags |= piece.flags
            growth.add(piece, "system", None, part, None, shape)
        return flags

    def _add_message(
        self, growth: PromptGrowth, message: Raw, index: int, deferred: dict[str, BlockPiece], keep_text: bool
    ) -> int:
        path = f"messages[{index}]"
        fields = _message_fields(message, path)
        role = decode(fields.pop("role", Raw(b"null")), f"{path}.role")
        if not isinstance(role, str):
            raise BodyError(f"{path}.role", "must be a string")
        content = fields.pop("content", messages_wire.ABSENT)
        marker = fields.pop("cache_control", messages_wire.ABSENT)
        flags, begin = 0, growth.count
        if fields:
            options = {name: value for name in sorted(fields) if (value := decode(fields[name], path)) is not None}
            if options:
                text = encode(options)
                piece = self._piece(Canonical("options", "json", text, None, ()), "messages", role, keep_text)
                growth.add(piece, "messages", role, index, None)
        if messages_wire.is_absent(content):
            if not fields:
                raise BodyError(f"{path}.content", "is missing")
        else:
            for part, raw, shape in _content(content, f"{path}.content"):
                place = f"{path}.content[{part}]" if shape == "list" else f"{path}.content"
                piece = self._block(bytes(raw), place, "messages", role, deferred, keep_text)
                flags |= piece.flags
                growth.add(piece, "messages", role, index, part, shape)
        if not messages_wire.is_absent(marker) and growth.count > begin:
            ttl = marker_ttl(decode(marker, f"{path}.cache_control"), f"{path}.cache_control")
            if ttl is not None:
                growth.markers.append(Breakpoint(growth.count - 1, ttl))
        return flags

    def _block(
        self,
        raw: bytes,
        path: str,
        section: Section,
        role: str | None,
        deferred: dict[str, BlockPiece],
        keep_text: bool,
        quirk: bool = False,
    ) -> BlockPiece:
        tag = self._memo_key(raw, f"{section} {role} {quirk}", keep_text)
        piece = self._pieces.get(tag)
        if piece is None:
            value = decode(raw, path)
            try:
                canonical = canonical_text(value) if isinstance(value, str) else canonical_block(value, path)
            except RecursionError:
                raise BodyError(path, "nested too deeply") from None
            piece = self._pieces[tag] = self._piece(canonical, section, role, keep_text, quirk)
        if piece.references and deferred:
            piece = self._expanded(piece, deferred)
        return piece

    def _piece(
        self, canonical: Canonical, section: Section, role: str | None, keep_text: bool, quirk: bool = False
    ) -> BlockPiece:
        text = ignored_by_provider(self._provider, canonical.text) if quirk else canonical.text
        person = self._person(f"{section}\0{role}\0{canonical.kind}\0{canonical.form}")
        digest = blake2b(text.encode(), digest_size=DIGEST_SIZE, key=self._key, person=person).digest()
        tokens = self._estimate(text) + canonical.images * IMAGE_TOKENS
        tokens += canonical.attached // ATTACHED_BYTES_PER_TOKEN if not canonical.images else 0
        flags = (_IMAGES if canonical.images else 0) | (_CITATIONS if canonical.citations else 0)
        flags |= _TOOL_CHANGES if canonical.kind in _CHANGES else 0
        return BlockPiece(
            digest,
            canonical.kind,
            canonical.name,
            tokens,
            text if keep_text else None,
            canonical.shape,
            canonical.markers,
            canonical.references,
            flags | (_REFERENCES if canonical.references else 0),
        )

    def _expanded(self, piece: BlockPiece, deferred: dict[str, BlockPiece]) -> BlockPiece:
        """The piece with the definitions it refers to: they are part of the prompt at this place from now on."""
        definitions = [deferred[name] for name in piece.references if name in deferred]
        if not definitions:
            return piece
        joined = piece.digest + b"".join(definition.digest for definition in definitions)
        digest = blake2b(joined, digest_size=DIGEST_SIZE, key=self._key, person=self._person("expanded")).digest()
        tokens = piece.tokens + sum(definition.tokens for definition in definitions)
        return msgspec.structs.replace(piece, digest=digest, tokens=tokens)

    def _person(self, words: str) -> bytes:
        """16 bytes that set apart blocks of equal text but different section, role or kind."""
        person = self._persons.get(words)
        if person is None:
            person = self._persons[words] = blake2b(words.encode(), digest_size=16).digest()
        return person

    def _memo_key(self, raw: bytes, where: str, keep_text: bool) -> bytes:
        return blake2b(raw, digest_size=16, person=self._person(f"memo {where} {keep_text}")).digest()

    def _add_automatic(self, prompt: Prompt, ttl: int | None, found: list[Breakpoint]) -> None:
        """Top-level ``cache_control``: a breakpoint on the last block that can carry one."""
        if ttl is None:
            return
        position = len(prompt) - 1
        while position >= 0 and not self._can_be_marked(prompt[position]):
            position -= 1
        if position >= 0 and all(marker.position != position for marker in found):
            found.append(Breakpoint(position, ttl))
            found.sort(key=lambda marker: marker.position)

    def _can_be_marked(self, block: Block) -> bool:
        if block.kind in UNMARKABLE:
            return False
        if block.kind != "text":
            return True
        person = self._person(f"{block.section}\0{block.role}\0text\0text")
        return block.digest != blake2b(b"", digest_size=DIGEST_SIZE, key=self._key, person=person).digest()

    def _remember(self, layout: _Layout) -> None:
        self._layouts[id(layout.prompt)] = layout
        self._kept_bytes += layout.size
        while self._kept_bytes > KEPT_BODY_BYTES and len(self._layouts) > 1:
            _, dropped = self._layouts.popitem(last=False)
            self._kept_bytes -= dropped.size


def model_of(body: RawBody | Mapping[str, object]) -> str | None:
    """The model that a body names; ``None`` when it names none."""
    if isinstance(body, Mapping):
        model = body.get("model")
        return model if isinstance(model, str) else None
    return messages_wire.decode_model(body)


def _raw(body: RawBody | Mapping[str, object]) -> RawBody:
    if not isinstance(body, Mapping):
        return body
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return json.dumps(body).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BodyError("", f"not JSON ({type(error).__name__})") from None


def _content(raw: Raw, path: str) -> list[tuple[int, Raw, Shape]]:
    """The parts of a content that is a string or a list, each with its index and how the content was written."""
    first = bytes(memoryview(raw)[:1])
    if first == b'"':
        return [(0, raw, "string")]
    if first != b"[":
        raise BodyError(path, "must be a string or an array")
    try:
        return [(part, item, "list") for part, item in enumerate(_list_decoder.decode(raw))]
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BodyError(path, f"not valid JSON ({error})") from None


def _message_fields(raw: Raw, path: str) -> dict[str, Raw]:
    try:
        return _fields_decoder.decode(raw)
    except msgspec.ValidationError:
        raise BodyError(path, "a message is an object") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise BodyError(path, f"not valid JSON ({error})") from None


def _equal_messages(before: _Layout, messages: list[Raw], same_tools: bool) -> int:
    """How many leading messages are the same bytes and mean the same blocks as in the body before."""
    old, flags = before.messages, before.flags
    count = 0
    for count, (one, other) in enumerate(zip(old, messages)):  # noqa: B905 - the shorter one ends it
        if one != other or (flags[count + 1] & _REFERENCES and not same_tools):
            return count
    return min(len(old), len(messages))


_list_decoder = msgspec.json.Decoder(list[Raw])
_fields_decoder = msgspec.json.Decoder(dict[str, Raw])
