"""Builders: prompts of named blocks with sizes, and requests at seconds."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from agentsim.core.dates import SECOND
from agentsim.core.prompt import Block, Breakpoint, Prompt, Section, Shape
from agentsim.core.session import Lane, Request, Session, Usage

DAY = 1_790_000_000
"""September 2026, in seconds: after the last dated change of the rules."""
MODEL = "claude-opus-4-8"


def block(
    name: str,
    tokens: int,
    section: Section = "messages",
    *,
    kind: str = "text",
    role: str | None = "user",
    shape: Shape | None = None,
    message: int | None = None,
    text: str | None = None,
) -> Block:
    """A block whose content is its name."""
    return Block(
        section=section,
        kind="tool" if section == "tools" else kind,
        digest=blake2b(f"{section} {kind} {name}".encode(), digest_size=16).digest(),
        role=None if section == "tools" else role,
        tokens=tokens,
        origin="measured",
        name=name if section == "tools" else None,
        shape=shape,
        message=message,
        part=None if message is None else 0,
        text=text,
    )


def texts(count: int, tokens: int = 100, prefix: str = "b") -> list[Block]:
    """So many text blocks in the messages, each of so many tokens."""
    return [block(f"{prefix}{number}", tokens) for number in range(count)]


def prompt(blocks: Iterable[Block], *markers: int | tuple[int, int]) -> Prompt:
    """A prompt with breakpoints at positions (five minutes), or at (position, lifetime in seconds)."""
    points = [Breakpoint(*marker) if isinstance(marker, tuple) else Breakpoint(marker, 300) for marker in markers]
    return Prompt.of(blocks, points)


def request(
    name: str,
    at: int,
    body: Prompt | None,
    *,
    lasts: int | None = 10,
    first_token: int | None = 1,
    model: str = MODEL,
    lane: str = "main",
    parent: str | None = None,
    settings: dict[str, str] | None = None,
    usage: Usage | None = None,
    day: int = DAY,
) -> Request:
    """A request that starts ``at`` seconds, begins to respond after ``first_token`` and ends after ``lasts``."""
    start = (day + at) * SECOND
    return Request(
        id=name,
        lane=lane,
        parent=parent,
        model=model,
        start=start,
        first_token=None if first_token is None else start + first_token * SECOND,
        end=None if lasts is None else start + lasts * SECOND,
        prompt=body,
        settings=tuple(sorted((settings or {}).items())),
        usage=usage,
    )


def session(requests: Iterable[Request]) -> Session:
    """A session of these requests, with a lane for each lane that they name."""
    found = tuple(requests)
    lanes = dict.fromkeys(one.lane for one in found)
    return Session(
        id="test",
        format="test",
        completeness="full",
        lanes=tuple(Lane(id=name, title=name) for name in lanes),
        requests=found,
    )
