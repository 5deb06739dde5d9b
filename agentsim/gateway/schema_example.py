"""A value that satisfies a JSON schema: the smallest that is easily found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DEEPEST = 32
_FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "a@example.com",
    "uri": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "127.0.0.1",
    "hostname": "example.com",
}


def example_of(schema: object) -> Any:
    """A value for a schema. Of a pattern nothing is known; a schema that contradicts itself gets what comes closest."""
    return _Maker(schema if isinstance(schema, Mapping) else {}).make(schema, 0)


class _Maker:
    """Makes values, and finds what ``$ref`` names in the whole schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def make(self, schema: object, depth: int) -> Any:
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return None
        if isinstance(schema.get("$ref"), str):
            return self.make(self._found(schema["$ref"]), depth + 1)
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return schema["enum"][0]
        for name in ("anyOf", "oneOf"):
            options = schema.get(name)
            if isinstance(options, list) and options:
                rest = {key: value for key, value in schema.items() if key != name}
                return self.make(self._merged([rest, self._shortest(options, depth)]), depth + 1)
        if isinstance(schema.get("allOf"), list):
            rest = {key: value for key, value in schema.items() if key != "allOf"}
            return self.make(self._merged([rest, *schema["allOf"]]), depth + 1)
        return self._typed(schema, depth)

    def _typed(self, schema: Mapping[str, Any], depth: int) -> Any:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = "null" if "null" in kind and depth > 4 else next((one for one in kind if one != "null"), "null")
        if kind is None:
            kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
        if kind == "object":
            properties = schema.get("properties")
            known = properties if isinstance(properties, Mapping) else {}
            wanted = schema.get("required")
            names = [name for name in wanted if isinstance(name, str)] if isinstance(wanted, list) else []
            return {name: self.make(known.get(name, {"type": "string"}), depth + 1) for name in names}
        if kind == "array":
            least = schema.get("minItems")
            count = min(least, 1000) if isinstance(least, int) else 0
            first = schema.get("prefixItems")
            shapes = list(first) if isinstance(first, list) else []
            shapes += [schema.get("items", {"type": "string"})] * max(count - len(shapes), 0)
            made = [self.make(shape, depth + 1) for shape in shapes]
            if schema.get("uniqueItems") and all(isinstance(one, str) for one in made):
                made = [f"{one}{number}" for number, one in enumerate(made)]
            return made
        if kind in ("integer", "number"):
            return _number(schema, whole=kind == "integer")
        if kind == "boolean":
            return False
        if kind == "null":
            return None
        text = _FORMATS.get(str(schema.get("format")), "text")
        least = schema.get("minLength")
        most = schema.get("maxLength")
        text += "x" * ((least if isinstance(least, int) else 0) - len(text))
        return text[:most] if isinstance(most, int) else text

    def _shortest(self, options: list[Any], depth: int) -> Any:
        """The option to take: deep inside one that ends."""
        if depth > 4:
            for option in options:
                if isinstance(option, Mapping) and option.get("type") in ("null", "string", "integer", "boolean"):
                    return option
        return options[0]

    def _merged(self, schemas: list[Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for schema in schemas:
            if isinstance(schema, Mapping) and isinstance(schema.get("$ref"), str):
                schema = self._found(schema["$ref"])
            if not isinstance(schema, Mapping):
                continue
            for name, value in schema.items():
                if name == "required" and isinstance(value, list):
                    found[name] = [*found.get(name, []), *(one for one in value if one not in found.get(name, []))]
                elif name == "properties" and isinstance(value, Mapping):
                    found[name] = {**found.get(name, {}), **value}
                else:
                    found[name] = value
        return found

    def _found(self, reference: str) -> object:
        here: Any = self._root
        for part in reference.removeprefix("#").split("/"):
            if part:
                here = here.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(here, Mapping) else None
        return here


def _number(schema: Mapping[str, Any], *, whole: bool) -> int | float:
    low, over = schema.get("minimum"), schema.get("exclusiveMinimum")
    high, under = schema.get("maximum"), schema.get("exclusiveMaximum")
    value: int | float = 0
    if isinstance(low, (int, float)) and value < low:
        value = low
    if isinstance(over, (int, float)) and value <= over:
        value = over + 1
    if isinstance(high, (int, float)) and value > high:
        value = high
    if isinstance(under, (int, float)) and value >= under:
        value = under - 1
    step = schema.get("multipleOf")
    if isinstance(step, (int, float)) and step:
        value = -(-value // step) * step
    return -int(-value // 1) if whole else value
