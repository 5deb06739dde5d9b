"""What a pipe brought lies in a private file while a command runs; pages and documents call that file as the command
line called the pipe."""

from __future__ import annotations

import re

PIPES: dict[str, str] = {}
"""Private files that are there now, by the end of their path, and what each stands for."""


def with_pipes_named(text: str) -> str:
    """The text with the name of the pipe in place of the path of its private file, relative or not."""
    for place, name in PIPES.items():
        if place in text:
            text = re.sub(r"[^\s\"'(]*" + re.escape(place), name.replace("\\", r"\\"), text)
    return text
