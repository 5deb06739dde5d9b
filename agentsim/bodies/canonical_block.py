"""The canonical form of one block: the text its digest is taken from.

Two blocks have the same canonical form when the provider would render them alike, as far as is known:

* JSON spelling does not matter: white space between tokens, ``\\u`` escapes, ``\\/``.
* A block's own fields may come in any order and a field that is ``null`` is as good as absent, because the provider
  parses them by name. The same holds for the blocks nested in a ``tool_result``.
* Below that, order is kept: the keys of ``tool_use.input`` and of a tool's ``input_schema`` are rendered as they come
  (the provider documents that the order of input keys matters to its cache).
* ``cache_control`` is no content: it is taken out and returned as marker lifetimes. It is looked for on the block and
  on blocks nested in its ``content`` or ``source``, never inside ``input`` or a schema, which belong to the user.
* Base64 data is replaced by its hash and size, so that a prompt does not hold pictures.

The canonical text puts what a person wrote first, unescaped (the text, the description, the content of a tool result),
then a separator and the remaining fields as JSON. An offset into it is thus an offset into the text that was edited.
"""

from __future__ import annotations

import json
import math
import re
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from agentsim.bodies.body_error import BodyError
from agentsim.core.prompt import Shape

SEPARATOR = "\x1e"
"""Between the main text and the other fields. JSON escapes control characters, so the last one in a text is ours."""

DEFAULT_TTL = 300
_TTL = re.compile(r"([1-9][0-9]{0,5})([smhd])")
_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DATA_KEPT = 256

_MAIN_FIELD = {
    "text": "text",
    "thinking": "thinking",
    "redacted_thinking": "data",
    "tool": "description",
    "tool_use": "input",
    "server_tool_use": "input",
    "mcp_tool_use": "input",
    "tool_result": "content",
    "mcp_tool_result": "content",
    "compaction": "content",
}


class Canonical(NamedTuple):
    """A block in canonical form. ``form`` tells how ``text`` is to be understood and takes part in the digest:
    ``text`` (plain), ``text+`` (other fields follow), ``json`` and ``json+``. ``attached`` counts the bytes of base64
    data that were replaced, ``images`` the images among them. ``references`` names tools whose definitions the
    provider expands at this place."""

    kind: str
    form: str
    text: str
    name: str | None
    markers: tuple[int, ...]
    shape: Shape | None = None
    references: tuple[str, ...] = ()
    images: int = 0
    attached: int = 0
    citations: bool = False


class _Findings:
    """What turned up while a block was put in order."""

    __slots__ = ("attached", "citations", "images", "markers", "path", "references")

    def __init__(self, path: str) -> None:
        self.path = path
        self.markers: list[int] = []
        self.references: list[str] = []
        self.images = 0
        self.attached = 0
        self.citations = False


def canonical_text(text: str) -> Canonical:
    """The canonical form of content given as a plain string: that of a text block with this text."""
    return Canonical("text", "text", text, None, (), "string")


def canonical_tool(value: Any, path: str) -> Canonical:
    """The canonical form of a tool definition. ``defer_loading`` decides where it goes and is no part of it."""
    if not isinstance(value, dict):
        raise BodyError(path, f"a tool is an object, not {_type_name(value)}")
    kind = value.get("type")
    if kind is not None and not isinstance(kind, str):
        raise BodyError(f"{path}.type", f"must be a string, not {_type_name(kind)}")
    fields = {key: item for key, item in value.items() if key != "defer_loading"}
    if kind is None or kind == "custom":
        fields.pop("type", None)
        return _canonical("tool", fields, path)
    return _canonical(kind, fields, path)


def canonical_block(value: Any, path: str) -> Canonical:
    """The canonical form of a content block. Blocks of an unknown kind are kept whole."""
    if not isinstance(value, dict):
        raise BodyError(path, f"a content block is an object, not {_type_name(value)}")
    kind = value.get("type")
    if not isinstance(kind, str):
        raise BodyError(f"{path}.type", f"must be a string, not {_type_name(kind)}")
    return _plain(kind, value) or _canonical(kind, value, path)


def _plain(kind: str, value: dict[str, Any]) -> Canonical | None:
    """What :func:`_canonical` comes to for the three blocks that most prompts are made of, without its way: a text, a
    call, and a result that is one text. ``None`` for any other."""
    if kind == "text" and len(value) == 2 and isinstance(value.get("text"), str):
        return Canonical("text", "text", value["text"], None, ())
    if kind == "tool_use" and len(value) == 4:
        id, name, input = value.get("id"), value.get("name"), value.get("input")
        if not (isinstance(id, str) and isinstance(name, str) and isinstance(input, dict)):
            return None
        return Canonical(kind, "json+", f"{encode(input)}{SEPARATOR}{encode({'id': id, 'name': name})}", name, ())
    content = value.get("content")
    if kind != "tool_result" or len(value) != 3 or not isinstance(content, list) or len(content) != 1:
        return None
    only, id = content[0], value.get("tool_use_id")
    if not isinstance(id, str) or not isinstance(only, dict) or len(only) != 2 or only.get("type") != "text":
        return None
    text = only.get("text")
    if not isinstance(text, str):
        return None
    return Canonical(kind, "text+", f"{text}{SEPARATOR}{encode({'tool_use_id': id})}", None, (), "list")


def marker_ttl(value: Any, path: str) -> int | None:
    """The lifetime in seconds that a ``cache_control`` asks for; ``None`` for ``null``."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise BodyError(path, f"must be an object, not {_type_name(value)}")
    ttl = value.get("ttl")
    if ttl is None:
        return DEFAULT_TTL
    match = _TTL.fullmatch(ttl) if isinstance(ttl, str) else None
    if match is None:
        raise BodyError(f"{path}.ttl", "must be a duration such as 5m or 1h")
    return int(match[1]) * _UNIT[match[2]]


def decode(raw: bytes | bytearray | memoryview | msgspec.Raw, path: str) -> Any:
    """A JSON value. Raises BodyError with the path instead of the decoder's own errors."""
    try:
        return _decoder.decode(raw)
    except msgspec.MsgspecError as error:
        raise BodyError(path, f"not valid JSON ({error})") from None
    except RecursionError:
        raise BodyError(path, "nested too deeply") from None


def encode(value: Any) -> str:
    """Compact JSON that keeps the order of keys."""
    try:
        return _encoder.encode(value).decode()
    except RecursionError:
        raise BodyError("", "nested too deeply") from None


def encode_sorted(value: Any) -> str:
    """Compact JSON with sorted keys at every depth."""
    return msgspec.json.encode(value, order="sorted").decode()


def split_text(text: str) -> tuple[str, str]:
    """A canonical text of form ``text+`` or ``json+`` as main text and the JSON of the other fields."""
    main, separator, rest = text.rpartition(SEPARATOR)
    return (main, rest) if separator else (text, "")


def same_json_sorted(one: str, other: str) -> bool:
    """True when both texts are JSON and say the same once the keys of all objects are sorted."""
    try:
        first, second = json.loads(one), json.loads(other)
        return isinstance(first, (dict, list)) and encode_sorted(first) == encode_sorted(second)
    except (ValueError, TypeError, RecursionError):
        return False


def _canonical(kind: str, fields: dict[str, Any], path: str) -> Canonical:
    found = _Findings(path)
    shape: Shape | None = None
    main, form = "", "text"
    main_field = _MAIN_FIELD.get(kind)
    ordered = _ordered(fields, found, "")
    ordered.pop("type", None)
    if main_field is not None and main_field in ordered:
        value = ordered[main_field]
        text, shape = _plain_text(value) if main_field == "content" else (value, None)
        if isinstance(text, str):
            main = text
            del ordered[main_field]
        else:
            main, form = encode(ordered.pop(main_field)), "json"
    elif kind == "document":
        main = _take_document_text(ordered)
    if kind == "image":
        found.images += 1
    text = main
    if ordered:
        text, form = f"{main}{SEPARATOR}{encode(ordered)}", form + "+"
    name = fields.get("name")
    return Canonical(
        kind=kind,
        form=form,
        text=text,
        name=name if isinstance(name, str) else None,
        markers=tuple(found.markers),
        shape=shape,
        references=tuple(found.references) if kind != "tool_removal" else (),
        images=found.images,
        attached=found.attached,
        citations=found.citations,
    )


def _take_document_text(document: dict[str, Any]) -> str:
    """Removes and returns the text of a document that is given as plain text; "" for any other."""
    source = document.get("source")
    if not isinstance(source, dict) or source.get("type") != "text" or not isinstance(source.get("data"), str):
        return ""
    text: str = source["data"]
    document["source"] = {key: item for key, item in source.items() if key != "data"}
    return text


def _plain_text(content: Any) -> tuple[str | None, Shape | None]:
    """The text of a content that is a string, or a list of one text block with nothing but text; and which of the two.
    A list without blocks counts as the empty text."""
    if isinstance(content, str):
        return content, "string"
    if isinstance(content, list):
        if not content:
            return "", "list"
        only = content[0]
        if len(content) == 1 and isinstance(only, dict) and only.get("type") == "text" and len(only) == 2:
            text = only.get("text")
            return (text if isinstance(text, str) else None), "list"
        return None, "list"
    return None, None


def _ordered(block: dict[str, Any], found: _Findings, where: str) -> dict[str, Any]:
    """The block's fields sorted, without markers and nulls; nested blocks likewise. ``found`` collects the rest."""
    marker = block.get("cache_control")
    if marker is not None:
        ttl = marker_ttl(marker, f"{found.path}{where}.cache_control")
        if ttl is not None:
            found.markers.append(ttl)
    if block.get("type") == "tool_reference":
        name = block.get("tool_name", block.get("name"))
        if isinstance(name, str):
            found.references.append(name)
    result: dict[str, Any] = {}
    for key in sorted(block):
        value = block[key]
        if value is None or key == "cache_control":
            continue
        if key in _NESTED:
            value = _ordered_nested(key, value, found, f"{where}.{key}")
        elif key == "citations" and isinstance(value, dict) and value.get("enabled") is True:
            found.citations = True
        result[key] = value
    return result


_NESTED = frozenset(("content", "source", "tool", "tools", "tool_references", "configs"))
"""Fields that may hold further blocks. ``input`` and schemas are not among them: their content is the user's own."""


def _ordered_nested(key: str, value: Any, found: _Findings, where: str) -> Any:
    if isinstance(value, list):
        return [_ordered_nested(key, item, found, f"{where}[{index}]") for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "image":
        found.images += 1
    if key == "source" and value.get("type") == "base64" and isinstance(data := value.get("data"), str):
        found.attached += len(data)
        if len(data) > _DATA_KEPT:
            hashed = blake2b(data.encode(), digest_size=16).hexdigest()
            value = {**value, "data": {"blake2b": hashed, "size": len(data)}}
    if key == "configs":
        return {name: value[name] for name in sorted(value)}
    return _ordered(value, found, where)


def _finite(number: str) -> float | str:
    value = float(number)
    return value if math.isfinite(value) else number


def _type_name(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


_decoder = msgspec.json.Decoder(float_hook=_finite)
_encoder = msgspec.json.Encoder()
