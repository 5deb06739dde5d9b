"""Conversations through a model's own chat template, so that what users write cannot act as control tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentsim.engine.weights.weights import WeightsError

_GUARDS = range(0xE000, 0xF900)
"""Private-use characters: one that no message contains marks what must stay text."""


def render(
    template: str | None, messages: Sequence[Mapping[str, Any]], *, answer: bool, bos: str = "", eos: str = ""
) -> str:
    """The conversation as text. Without a template: each message under its role.

    The template comes with the model's file and so from anywhere: it runs in Jinja's sandbox, where it reaches nothing
    but the messages. :class:`WeightsError` where it fails.
    """
    if template is None:
        turns = [f"{message.get('role', '')}: {message.get('content', '')}\n" for message in messages]
        return "".join(turns) + ("assistant:" if answer else "")
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(reason: str) -> str:
        raise WeightsError(f"the model's chat template refuses this conversation: {reason[:200]}")

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = refuse
    try:
        return environment.from_string(template).render(
            messages=messages, add_generation_prompt=answer, bos_token=bos, eos_token=eos
        )
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise WeightsError(f"the model's chat template failed: {type(error).__name__}") from None


def guarded(messages: Sequence[Mapping[str, Any]], special: Iterable[str]) -> tuple[list[dict[str, Any]], str]:
    """Messages whose texts hold no control token, and the character that was put in to break them up."""
    texts = [value for message in messages for value in message.values() if isinstance(value, str)]
    used = set("".join(texts))
    guard = next((chr(code) for code in _GUARDS if chr(code) not in used), chr(_GUARDS[0]))
    return [{key: _broken_up(value, special, guard) for key, value in message.items()} for message in messages], guard


def unguarded(text: str, guard: str) -> str:
    """The text without the guards."""
    return text.replace(guard, "")


def _broken_up(value: Any, special: Iterable[str], guard: str) -> Any:
    if not isinstance(value, str):
        return value
    # Between all letters of the token: breaking up one must not let its remains join a neighbour to another.
    for token in special:
        if token in value:
            value = value.replace(token, guard.join(token))
    return value
