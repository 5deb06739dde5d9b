"""From what TOML or JSON holds to msgspec structs, with a problem for each mistake, at its key.

msgspec's own conversion ends at the first mistake and knows no numbers with a unit. A type may say more:

- ``Annotated[int, Written(dollars)]``: a function reads what is written; it raises ValueError with what is wrong.
- A struct's classmethod ``from_written(value)`` turns what may be written in place of its table into that table.
- A struct's ``__post_init__`` raises ValueError where its keys do not go together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from math import isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from agentsim.core.near_words import did_you_mean, nearest
from agentsim.core.toml_lines import Path

Say = Callable[[Path, str, str], object]
"""Takes a problem: the path of the key, the reason, the remedy."""

MISFIT: Any = object()
"""What does not fit."""

_CORRECT = "correct the value"
_LISTS = (list, tuple)


class WrittenForm:
    """How a value of a type is written, where the type itself does not say it; ``schema`` says it in JSON Schema."""

    def __init__(self, read: Callable[[Any], Any], schema: dict[str, Any] | None = None) -> None:
        self.read = read
        self.schema = schema


class KeyFault(ValueError):
    """What is wrong with one key inside a value: the key or the index, and the reason."""

    def __init__(self, key: str | int, reason: str, remedy: str = _CORRECT) -> None:
        super().__init__(reason)
        self.key = key
        self.remedy = remedy


def fit(value: Any, kind: Any, path: Path, say: Say) -> Any:
    """A ``value`` as one of the type ``kind``, or MISFIT; ``say`` gets each mistake, its key at or below ``path``."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _fit_annotated(value, kind, path, say)
    if origin in (Union, UnionType):
        return _fit_union(value, get_args(kind), path, say)
    if _is_struct(kind):
        return _fit_struct(value, kind, path, say)
    if origin in _LISTS:
        return _fit_list(value, kind, path, say)
    if origin is dict:
        return _fit_dict(value, kind, path, say)
    return _fit_leaf(value, kind, path, say)


def _fit_annotated(value: Any, kind: Any, path: Path, say: Say) -> Any:
    inner, *marks = get_args(kind)
    for mark in marks:
        if isinstance(mark, WrittenForm):
            return _called(mark.read, value, path, say)
    if not _is_made_of_parts(inner):
        return _fit_leaf(value, kind, path, say)
    found = fit(value, inner, path, say)
    if found is not MISFIT and isinstance(found, _LISTS):
        for mark in marks:
            least, most = mark.min_length or 0, mark.max_length
            if len(found) < least or (most is not None and len(found) > most):
                wanted = f"at least {least:,}" if len(found) < least else f"at most {most:,}"
                say(path, f"must have {wanted}", _CORRECT)
                return MISFIT
    return found


def _is_made_of_parts(kind: Any) -> bool:
    return _is_struct(kind) or get_origin(kind) in (*_LISTS, dict, Union, UnionType)


def _fit_union(value: Any, members: Sequence[Any], path: Path, say: Say) -> Any:
    if value is None and NoneType in members:
        return None
    members = [member for member in members if member is not NoneType]
    shape = _shape(value)
    alike = [member for member in members if _shape_of(member) is shape]
    if len(alike) > 1 and shape is dict and all(_is_struct(member) for member in alike):
        return _fit_tagged(value, alike, path, say)
    if not alike:
        alike = [member for member in members if hasattr(member, "from_written")] or members
    if len(alike) == 1:
        return fit(value, alike[0], path, say)
    return _fit_leaf(value, Union[tuple(alike)], path, say)  # noqa: UP007 - made of a list


def _shape(value: Any) -> type:
    return dict if isinstance(value, dict) else list if isinstance(value, _LISTS) else object


def _shape_of(kind: Any) -> type:
    if get_origin(kind) is Annotated:
        return _shape_of(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        shapes = {_shape_of(member) for member in get_args(kind)}
        return shapes.pop() if len(shapes) == 1 else object
    if _is_struct(kind) or get_origin(kind) is dict:
        return dict
    return list if get_origin(kind) in _LISTS else object


def _fit_tagged(value: dict[str, Any], kinds: Sequence[Any], path: Path, say: Say) -> Any:
    field = kinds[0].__struct_config__.tag_field
    by_tag = {kind.__struct_config__.tag: kind for kind in kinds}
    if field not in value:
        for key in nearest(field, value):
            say((*path, key), "no such key", f"did you mean {field}?")
            return MISFIT
        say((*path, field), "this key is missing", f"add {field} = ..., one of {', '.join(by_tag)}")
        return MISFIT
    tag = value[field]
    if not isinstance(tag, str) or tag not in by_tag:
        say((*path, field), f"there is no such kind: {str(tag)[:60]!r}", did_you_mean(str(tag), by_tag, _there(by_tag)))
        return MISFIT
    return _fit_struct(value, by_tag[tag], path, say)


def _fit_struct(value: Any, kind: Any, path: Path, say: Say) -> Any:
    if hasattr(kind, "from_written"):
        value = _called(kind.from_written, value, path, say)
        if value is MISFIT:
            return MISFIT
    if not isinstance(value, dict):
        say(path, "must be a table", _CORRECT)
        return MISFIT
    fields = msgspec.structs.fields(kind)
    known = [field.encode_name for field in fields]
    tag = kind.__struct_config__.tag_field
    good = True
    for key in value:
        if key not in known and key != tag:
            say((*path, key), "no such key", did_you_mean(key, known, _there(known)))
            good = False
    made = {}
    for field in fields:
        key = field.encode_name
        if key in value:
            made[field.name] = fit(value[key], field.type, (*path, key), say)
            good = good and made[field.name] is not MISFIT
        elif field.required:
            say((*path, key), "this key is missing", f"add {key} = ...")
            good = False
    return _called(lambda given: kind(**given), made, path, say) if good else MISFIT


def _fit_list(value: Any, kind: Any, path: Path, say: Say) -> Any:
    if not isinstance(value, _LISTS):
        of_tables = _shape_of(get_args(kind)[0]) is dict
        say(path, "must be a list" + of_tables * " of tables", f"write [[{_dotted(path)}]]" if of_tables else _CORRECT)
        return MISFIT
    items = get_args(kind)
    if get_origin(kind) is list or items[1:] == (...,):
        items = (items[0],) * len(value)
    elif len(items) != len(value):
        say(path, f"must have {len(items):,} values", _CORRECT)
        return MISFIT
    found = [
        fit(each, item, (*path, number), say) for number, (each, item) in enumerate(zip(value, items, strict=True))
    ]
    return MISFIT if any(each is MISFIT for each in found) else get_origin(kind)(found)


def _fit_dict(value: Any, kind: Any, path: Path, say: Say) -> Any:
    if not isinstance(value, dict):
        say(path, "must be a table", _CORRECT)
        return MISFIT
    of_keys, of_values = get_args(kind)
    found = {
        fit(key, of_keys, (*path, key), say): fit(each, of_values, (*path, key), say) for key, each in value.items()
    }
    return MISFIT if any(MISFIT in pair for pair in found.items()) else found


def _fit_leaf(value: Any, kind: Any, path: Path, say: Say) -> Any:
    if isinstance(value, Decimal) and _is_whole(kind) and value.is_finite() and abs(value.adjusted()) < 20:
        value = int(value) if value == value.to_integral_value() else value
    if isinstance(value, float) and not isfinite(value):
        say(path, "must be a finite number", _CORRECT)
        return MISFIT
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        choices = _choices(kind)
        if choices:
            few = len(choices) < 3
            reason = f"must be {' or '.join(map(repr, choices)) if few else 'one of ' + ', '.join(choices)}"
            say(path, reason, did_you_mean(str(value), choices, _CORRECT))
        else:
            reason = str(error).split(" - at `", 1)[0]
            remedy = "say which zone, as in 2026-09-01T10:00:00Z" if "timezone" in reason else _CORRECT
            say(path, reason[:1].lower() + reason[1:], remedy)
        return MISFIT


def _is_whole(kind: Any) -> bool:
    if get_origin(kind) is Annotated:
        return _is_whole(get_args(kind)[0])
    return kind is int or (get_origin(kind) in (Union, UnionType) and int in get_args(kind))


def _choices(kind: Any) -> tuple[str, ...]:
    """What a literal may be; a type that takes anything else has none."""
    if get_origin(kind) is Annotated:
        return _choices(get_args(kind)[0])
    return get_args(kind) if get_origin(kind) is Literal else ()


def _called(read: Callable[[Any], Any], value: Any, path: Path, say: Say) -> Any:
    try:
        return read(value)
    except KeyFault as fault:
        say((*path, fault.key), str(fault), fault.remedy)
    except ValueError as error:
        say(path, str(error), _CORRECT)
    return MISFIT


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _there(known: Sequence[str] | dict[str, Any]) -> str:
    return "there are " + ", ".join(known) if known else "leave it out"


def _dotted(path: Path) -> str:
    return ".".join(str(part) for part in path if not isinstance(part, int))
