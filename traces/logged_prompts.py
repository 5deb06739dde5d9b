"""Prompts that a program beside the wire stored: what it handed on, with or without its parameters.

Where every billed row holds its messages they are compared. Where every row holds the parameters of its call as well,
they stand for the whole request; markers of a cache that asks for some must be among them, or somebody set them later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeVar

import msgspec

from agentsim.core.session import Problem, Session
from agentsim.core.strict_decoding import BadRow
from agentsim.traces.hostile_records import RawRow

Json = dict[str, Any]
Row = TypeVar("Row")

Held = Literal["nothing", "messages", "request"]
"""What all billed rows of a file hold of what was sent."""


def held_in(
    rows: Callable[[], Iterable[RawRow[Row]]],
    billed: Callable[[Row], bool],
    messages: Callable[[Row], list[Any]],
    parameters: Callable[[Row], Json],
    model: Callable[[Row], str],
) -> Held:
    """What every billed row holds. A file that cannot be read holds nothing; its reader says why."""
    found = False
    whole = True
    marked: dict[str, bool] = {}
    try:
        for raw in rows():
            if raw.value is None or not billed(raw.value):
                continue
            sent = messages(raw.value)
            if not sent:
                return "nothing"
            found = True
            asked = parameters(raw.value)
            whole = whole and bool(asked)
            name = model(raw.value).lower()
            if "claude" in name:
                marked[name] = marked.get(name, False) or _is_marked(sent)
    except OSError:
        return "nothing"
    if not found:
        return "nothing"
    return "request" if whole and all(marked.values()) else "messages"


Read = Callable[[list[Problem] | None, set[str]], Iterable[Session]]
"""Reads a file: what is wrong with it is told in the list, and the set of ids counted before grows."""


def read_better(as_prompts: Read, as_rows: Read, problems: list[Problem] | None, seen: set[str]) -> Iterator[Session]:
    """The sessions of a file that holds prompts; those of its counters alone where these bring more of the bill: a
    prompt of no known shape costs no row."""
    told: list[Problem] = []
    ids = set(seen)
    found = list(as_prompts(told, ids))
    if not found or any(session.accounting.skipped for session in found):
        others: list[Problem] = []
        counted = set(seen)
        plain = list(as_rows(others, counted))
        if _used(plain) > _used(found):
            found, told, ids = plain, others, counted
    if problems is None and not found:
        yield from as_rows(None, seen)  # raises what is wrong
    seen |= ids
    if problems is not None:
        problems += told
    yield from found


def _used(sessions: list[Session]) -> int:
    return sum(session.accounting.used for session in sessions)


_WORDS = ("reasoning_effort", "verbosity", "prompt_cache_key", "prompt_cache_retention", "service_tier")
_OBJECTS = ("tool_choice", "response_format", "prompt_cache_options")


def chat_body(model: str, messages: list[Any], parameters: Json) -> bytes:
    """The body of Chat Completions that these make up, with what bears on a cache. Raises BadRow for text that is
    none."""
    body: Json = {name: parameters[name] for name in _WORDS if isinstance(parameters.get(name), str)}
    body |= {name: found for name in _OBJECTS if isinstance(found := parameters.get(name), dict)}
    tools = _tools(parameters.get("tools"))
    if tools:
        body["tools"] = tools
    try:
        return msgspec.json.encode({**body, "model": model, "messages": messages})
    except (UnicodeEncodeError, msgspec.MsgspecError, RecursionError):
        raise BadRow("bad field", "messages") from None


def _tools(given: object) -> list[Json]:
    """Tools in the shape of Chat Completions; none where one is of no known shape."""
    tools: list[Json] = []
    for tool in given if isinstance(given, list) else ():
        if isinstance(tool, dict) and isinstance(tool.get("function"), dict):
            tools.append(tool)
        elif isinstance(tool, dict) and isinstance(tool.get("name"), str):
            parameters = tool.get("input_schema") or tool.get("parameters") or {}
            named = {"name": tool["name"], "description": tool.get("description") or "", "parameters": parameters}
            tools.append({"type": "function", "function": named})
        else:
            return []
    return tools


def _is_marked(messages: list[Any]) -> bool:
    blocks = (block for one in messages if isinstance(one, dict) for block in _blocks(one.get("content")))
    return any(isinstance(block, dict) and block.get("cache_control") for block in (*messages, *blocks))


def _blocks(content: object) -> list[Any]:
    return content if isinstance(content, list) else []
