"""Items as the API lists them: each with an id, page by page, the newest first unless told otherwise."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

import msgspec

from agentsim.gateway.refusal import Refusal

USUAL_PAGE = 20
LARGEST_PAGE = 100

Query = dict[str, str]


def query_of(raw: bytes) -> Query:
    """The parameters of an address; of one that comes twice the last."""
    try:
        found = parse_qs(raw.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=100)
    except ValueError:
        raise Refusal(400, "too many parameters in the address") from None
    return {name: values[-1] for name, values in found.items()}


def number_of(query: Query, name: str, least: int, most: int) -> int | None:
    """A whole number among the parameters; ``None`` where it is not there. Raises Refusal (400)."""
    value = query.get(name)
    if value is None:
        return None
    if not value.isascii() or not value.isdecimal() or len(value) > 18 or not least <= int(value) <= most:
        raise Refusal(400, f"must be a whole number from {least} to {most}", path=name, code="invalid_value")
    return int(value)


def listed(items: list[bytes], prefix: str) -> dict[str, Any]:
    """All items as one list, in order."""
    data = []
    for index, raw in enumerate(items):
        value = msgspec.json.decode(raw)
        if isinstance(value, dict):
            if value.get("type") is None and value.get("role") is not None:
                value["type"] = "message"
            if value.get("type") == "message" and isinstance(value.get("content"), str):
                kind = "output_text" if value.get("role") == "assistant" else "input_text"
                value["content"] = [{"type": kind, "text": value["content"]}]
            if not isinstance(value.get("id"), str):
                value["id"] = f"{prefix}_{index}"
        data.append(value)
    return _told(data, more=False)


def page(items: list[bytes], prefix: str, query: Query) -> dict[str, Any]:
    """The items that a client asks for by ``order``, ``after`` and ``limit``. Raises Refusal (400)."""
    order = query.get("order", "desc")
    if order not in ("asc", "desc"):
        raise Refusal(400, "must be 'asc' or 'desc'", path="order", code="invalid_value")
    size = number_of(query, "limit", 1, LARGEST_PAGE) or USUAL_PAGE
    data = listed(items, prefix)["data"]
    if order == "desc":
        data.reverse()
    after = query.get("after")
    if after is not None:
        at = next((index for index, item in enumerate(data) if _id(item) == after), None)
        if at is None:
            raise Refusal(400, "no item with this id is listed here", path="after", code="invalid_value")
        data = data[at + 1 :]
    return _told(data[:size], more=len(data) > size)


def _told(data: list[Any], *, more: bool) -> dict[str, Any]:
    first, last = (_id(data[0]), _id(data[-1])) if data else (None, None)
    return {"object": "list", "data": data, "first_id": first, "last_id": last, "has_more": more}


def _id(item: object) -> object:
    return item.get("id") if isinstance(item, dict) else None
