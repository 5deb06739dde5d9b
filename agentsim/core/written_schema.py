"""The JSON Schema of what people write, from the types that :mod:`agentsim.core.written_types` fits it to."""

from __future__ import annotations

from decimal import Decimal
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from agentsim.core.written_types import WrittenForm

_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


def json_schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a file that is one of a type. There is no null: TOML has none."""
    tables: dict[str, Any] = {}
    _of(kind, tables)
    root = tables.pop(kind.__name__)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **root, "$defs": tables}


def _of(kind: Any, tables: dict[str, Any]) -> dict[str, Any]:
    origin, items = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _of_annotated(items[0], items[1:], tables)
    if origin in (Union, UnionType):
        found = [_of(member, tables) for member in items if member is not NoneType]
        return found[0] if len(found) == 1 else {"anyOf": found}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _of_table(kind, tables)
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(items[1], tables)}
    if origin is list or items[1:] == (...,):
        return {"type": "array", "items": _of(items[0], tables)}
    if origin is tuple:
        found = [_of(item, tables) for item in items]
        return {"type": "array", "prefixItems": found, "minItems": len(found), "maxItems": len(found)}
    return msgspec.json.schema(kind)


def _of_annotated(inner: Any, marks: tuple[Any, ...], tables: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] | None = None
    for mark in marks:
        if isinstance(mark, WrittenForm):
            found = dict(mark.schema or {})
    if found is None:
        found = _of(inner, tables)
    for mark in marks:
        if isinstance(mark, msgspec.Meta):
            bounds = {name: getattr(mark, said) for said, name in _BOUNDS.items() if getattr(mark, said) is not None}
            what = "Items" if found.get("type") == "array" else "Length"
            lengths = {"min" + what: mark.min_length, "max" + what: mark.max_length, "description": mark.description}
            found = {**found, **bounds, **{name: value for name, value in lengths.items() if value is not None}}
    return found


def _of_table(kind: type[msgspec.Struct], tables: dict[str, Any]) -> dict[str, Any]:
    name = kind.__name__
    if name not in tables:
        tables[name] = {}  # a table may hold others of its kind
        tag = kind.__struct_config__.tag_field
        keys: dict[str, Any] = {} if tag is None else {tag: {"const": kind.__struct_config__.tag}}
        required = [*keys]
        for field in msgspec.structs.fields(kind):
            keys[field.encode_name] = _of(field.type, tables)
            if field.required:
                required.append(field.encode_name)
            elif field.default not in (None, msgspec.NODEFAULT):
                keys[field.encode_name] = {**keys[field.encode_name], "default": _plain(field.default)}
        table = {
            "type": "object",
            "description": " ".join((kind.__doc__ or "").split()),
            "properties": keys,
            "required": required,
            "additionalProperties": False,
        }
        alone = getattr(kind, "ALONE", None)
        tables[name] = table if alone is None else {"anyOf": [alone, table]}
    return {"$ref": f"#/$defs/{name}"}


def _plain(value: Any) -> Any:
    """A default as JSON has it; of a table what differs from the table's own defaults."""
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, msgspec.Struct):
        fields = ((field, getattr(value, field.name)) for field in msgspec.structs.fields(value))
        return {field.encode_name: _plain(own) for field, own in fields if own != field.default}
    return msgspec.to_builtins(value)
