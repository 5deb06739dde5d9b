"""The parameters of a request that may take part in its cache key."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from agentsim.bodies.body_error import BodyError
from agentsim.bodies.canonical_block import decode, encode_sorted
from agentsim.bodies.messages_wire import KEY_SETTINGS, MessagesBody, is_absent

Settings = tuple[tuple[str, str], ...]


def settings_of(body: MessagesBody, *, images: bool, citations: bool, tool_changes: bool = False) -> Settings:
    """Sorted (name, value) pairs; a value is JSON with sorted keys. A parameter that is absent or ``null`` is left out.

    ``effort`` is taken out of ``output_config`` to stand by itself. ``images_present`` and ``citations`` are always
    there: they are no parameters, but their coming and going re-keys the cache as one would. So does that of
    ``tool_changes``, which is there where a tool is deferred, or comes or goes in the middle of the conversation.
    ``fallback_credit`` is in no key: it says that the request carries a token of a refusal, and not which.
    """
    pairs = {"citations": _flag(citations), "images_present": _flag(images)}
    if tool_changes:
        pairs["tool_changes"] = "true"
    if not is_absent(body.fallback_credit_token):
        pairs["fallback_credit"] = "true"
    for name in KEY_SETTINGS:
        raw: Raw = getattr(body, name)
        if name == "betas" and is_absent(raw):
            raw = body.anthropic_beta
        if is_absent(raw):
            continue
        value = decode(raw, name)
        if name == "betas":
            value = _betas(value)
        elif name == "output_config":
            value, effort = _without_effort(value)
            if effort is not None:
                pairs["effort"] = encode_sorted(effort)
            if not value:
                continue
        try:
            pairs[name] = encode_sorted(value)
        except RecursionError:
            raise BodyError(name, "nested too deeply") from None
    return tuple(sorted(pairs.items()))


def _betas(value: Any) -> Any:
    """The set of betas: their order does not matter, nor does naming one twice."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return sorted(set(value))
    return value


def _without_effort(value: Any) -> tuple[Any, Any]:
    if not isinstance(value, dict):
        return value, None
    rest = {key: item for key, item in value.items() if key != "effort" and item is not None}
    return rest, value.get("effort")


def _flag(value: bool) -> str:
    return "true" if value else "false"
