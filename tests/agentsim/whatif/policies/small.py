"""Sessions small enough to reckon by hand. Prices are those of a model at $5 a million: write 6.25, 10 for an hour,
read 0.50, output 25."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import msgspec

from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.simulate import scan
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Block, Breakpoint, Prompt, Section
from agentsim.core.session import Lane, Request, Row, Session, Usage
from agentsim.whatif.policies import Policy, parse

MODEL = "claude-opus-4-8"  # keeps prefixes of 1,024 tokens and more
TEN = 1_790_000_000 * SECOND
MINUTE = 60


def block(label: str, tokens: int, section: Section = "messages", **more) -> Block:
    """A block told from others by its label."""
    digest = blake2b(f"{section}/{label}".encode(), digest_size=16).digest()
    given = {"kind": "text", "role": None if section == "tools" else "user", "name": label, "text": label, **more}
    return Block(section=section, digest=digest, tokens=tokens, origin="measured", **given)


def tool(name: str, tokens: int) -> Block:
    return block(name, tokens, "tools", kind="tool")


HEAD = (tool("read", 1_200), block("you are an agent", 1_800, "system"))


def request(
    id: str,
    start: float,
    blocks: Iterable[Block],
    marks: Sequence[int] = (-1,),
    *,
    lane: str = "main",
    ttl: int = 300,
    took: float = 10,
    output: int = 0,
    **more,
) -> Request:
    """A request that starts ``start`` seconds after ten, with markers at these positions (negative: from the end)."""
    blocks = list(blocks)
    begin = TEN + int(start * SECOND)
    markers = [Breakpoint(mark % len(blocks), ttl) for mark in sorted(marks, key=lambda m: m % len(blocks))]
    given = {"model": MODEL, "first_token": begin + 2 * SECOND, "end": begin + int(took * SECOND), **more}
    given.setdefault("usage", Usage(output=output))
    given.setdefault("purpose", "main" if lane == "main" else "subagent")
    given.setdefault("stop_reason", "tool_use")
    return Request(id=id, lane=lane, start=begin, prompt=Prompt.of(blocks, markers), **given)


def session(*requests: Request, completeness="full", **more) -> Session:
    """A session of these requests, whose reported usage is what the model of the provider says."""
    lanes = tuple(
        Lane(id=lane, title=lane, purpose="main" if lane == "main" else "subagent")
        for lane in dict.fromkeys(request.lane for request in requests)
    )
    draft = Session(id="small", format="agentsim/1", completeness=completeness, lanes=lanes, requests=requests, **more)
    usages = {row.request.id: row.usage for row in rows(draft)}
    reported = tuple(msgspec.structs.replace(request, usage=usages[request.id]) for request in requests)
    return msgspec.structs.replace(draft, requests=reported)


def rows(given: Session) -> tuple[Row, ...]:
    return scan(given, ModeledProvider()).rows


def under(given: Session, spec: str | Policy) -> Session:
    """The session under one policy, which must apply."""
    policy = parse(spec) if isinstance(spec, str) else spec
    assert policy.applies(given) is None
    return policy.rewrite(given)


def split(given: Session) -> list[tuple[str, int, int, int]]:
    """Each request with what it wrote, read and sent fresh."""
    return [(row.request.id, row.usage.write or 0, row.usage.read or 0, row.usage.fresh or 0) for row in rows(given)]


def equivalents(given: Session) -> int:
    """The whole input in micro-tokens of ordinary input."""
    return sum(row.equivalents or 0 for row in rows(given))


def saves(given: Session, spec: str | Policy) -> float:
    """Tokens of ordinary input that a policy saves."""
    return (equivalents(given) - equivalents(under(given, spec))) / 10**6
