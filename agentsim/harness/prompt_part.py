"""A named piece of a prompt, as scenarios and steps speak of it."""

from __future__ import annotations

import msgspec


class PromptPart(msgspec.Struct, frozen=True, gc=False):
    """A named piece of a prompt. The same name and size are the same content, whoever sends it."""

    name: str
    tokens: int
