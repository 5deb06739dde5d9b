"""What policies share: walking a session with its parents, prompts that keep their common fronts, moved markers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b

import msgspec

from agentsim.core.prompt import DIGEST_SIZE, Block, Breakpoint, Prompt
from agentsim.core.session import Request, Session
from agentsim.rules.providers import ProviderRules, rules_for

SHORT = 300
LONG = 3600
"""The two lifetimes that a marker can ask for, in seconds."""


def from_outside(request: Request) -> bool:
    """Whether a request only stands for what no log shows: a policy leaves it as it is."""
    return not request.counted and request.usage is None


def rules_of(request: Request) -> ProviderRules:
    """The documented rules for a request. Raises ValueError for a provider without known rules."""
    return rules_for(request.provider, request.model, request.start)


def other_lifetimes(session: Session) -> str | None:
    """What lifetimes the provider offers where they are not five minutes and an hour; ``None`` where they are."""
    for provider, model in dict.fromkeys((r.provider, r.model) for r in session.requests if r.prompt is not None):
        try:
            rules = rules_for(provider, model, None)
        except ValueError:
            continue
        if rules.matching == "breakpoint" and (rules.ttl_short, rules.ttl_long) not in ((SHORT, LONG), (SHORT, SHORT)):
            return f"entries of {provider} live {rules.ttl_short:,} s or {rules.ttl_long:,} s"
    return None


def profile_of(session: Session) -> str | None:
    """The profile of the rules that fits what a kind of log shows."""
    return "session_log" if session.completeness == "messages" else None


def has_markers(session: Session) -> bool:
    """Whether a request goes to a provider whose entries stand at markers. Unknown providers count as such."""
    for provider, model in dict.fromkeys((r.provider, r.model) for r in session.requests):
        try:
            if rules_for(provider, model, None).matching == "breakpoint":
                return True
        except ValueError:
            return True
    return False


def last_marker(prompt: Prompt) -> Breakpoint | None:
    """The marker that stands furthest back; ``None`` where there is none."""
    return max(prompt.breakpoints, key=lambda marker: marker.position, default=None)


def changed(request: Request, prompt: Prompt) -> Request:
    """The request with another prompt; itself where that is the same object."""
    return request if prompt is request.prompt else msgspec.structs.replace(request, prompt=prompt)


def with_requests(session: Session, requests: Iterable[Request]) -> Session:
    """The session with other requests, in order of their start; ties keep their order."""
    ordered = list(requests)
    if all(request.start is not None for request in ordered):
        ordered.sort(key=lambda request: request.start or 0)
    return msgspec.structs.replace(session, requests=tuple(ordered))


def each(session: Session, change: Callable[[Request], Request]) -> Session:
    """The session with each request that a policy may touch changed on its own."""
    requests = tuple(
        request if from_outside(request) or request.prompt is None else change(request) for request in session.requests
    )
    return msgspec.structs.replace(session, requests=requests)


def with_parents(session: Session) -> Iterator[tuple[Request, Request | None]]:
    """Each request with the one that its prompt grew from (else the one before it in its lane), where that has a
    prompt."""
    by_id: dict[str, Request] = {}
    lanes: dict[str, Request] = {}
    for request in session.requests:
        parent = by_id.get(request.parent) if request.parent is not None else None
        yield request, parent or lanes.get(request.lane)
        if request.prompt is not None and not from_outside(request):
            by_id[request.id] = lanes[request.lane] = request


class Regrown:
    """Prompts made anew from blocks, which share their fronts with the ones they grew from."""

    def __init__(self) -> None:
        self._by_id: dict[str, Prompt] = {}
        self._lanes: dict[str, Prompt] = {}

    def grow(self, request: Request, blocks: Sequence[Block], markers: Iterable[Breakpoint]) -> Prompt:
        """A prompt of ``blocks`` for a ``request``, with its breakpoints, the ``markers``."""
        base = self._by_id.get(request.parent) if request.parent is not None else None
        base = base or self._lanes.get(request.lane)
        keep = 0
        if base is not None:
            for old, new in zip(base, blocks, strict=False):
                if old is not new and (old.digest != new.digest or old.tokens != new.tokens):
                    break
                keep += 1
            prompt = base.replace_after(keep, blocks[keep:], markers)
        else:
            prompt = Prompt.of(blocks, markers)
        self._by_id[request.id] = self._lanes[request.lane] = prompt
        return prompt

    def continued(
        self, request: Request, parent: Request, keep: int, blocks: Sequence[Block], markers: Iterable[Breakpoint]
    ) -> Prompt:
        """A prompt that keeps so many blocks of what its parent was made into, and has these behind them."""
        prompt = self._by_id[parent.id].replace_after(keep, blocks, markers)
        self._by_id[request.id] = self._lanes[request.lane] = prompt
        return prompt

    def keep(self, request: Request) -> Prompt:
        """Remember a request whose prompt stays as it is."""
        assert request.prompt is not None
        self._by_id[request.id] = self._lanes[request.lane] = request.prompt
        return request.prompt


def suffix(prompt: Prompt, start: int) -> list[Block]:
    """The blocks of a prompt from a position on."""
    return [prompt[position] for position in range(start, len(prompt))]


def moved(markers: Iterable[Breakpoint], place: Callable[[int], int]) -> list[Breakpoint]:
    """Markers at other positions; of several at one position the longest lifetime stays, and none stands behind a
    longer-lived one."""
    longest: dict[int, int] = {}
    for marker in markers:
        position = place(marker.position)
        if position >= 0:
            longest[position] = max(longest.get(position, 0), marker.ttl)
    return in_order(longest)


def in_order(lifetimes: dict[int, int]) -> list[Breakpoint]:
    """Markers by position, where a marker lives at least as long as those behind it: providers refuse other orders."""
    result: list[Breakpoint] = []
    longest = 0
    for position in sorted(lifetimes, reverse=True):
        longest = max(longest, lifetimes[position])
        result.append(Breakpoint(position, longest))
    return result[::-1]


def with_markers(request: Request, positions: Iterable[int]) -> Request:
    """The request with markers added at these positions, within the number that its provider accepts.

    An added marker lives as long as the one behind it. Where there are too many, those in the middle that were there
    before give way first, then the added ones from the front.
    """
    prompt = request.prompt
    assert prompt is not None
    old = {marker.position: marker.ttl for marker in prompt.breakpoints}
    new = [position for position in sorted(set(positions)) if 0 <= position < len(prompt) and position not in old]
    if not new:
        return request
    most = rules_of(request).breakpoints
    lifetimes = dict(old)
    for position in reversed(new):
        behind = [place for place in lifetimes if place > position]
        lifetimes[position] = lifetimes[min(behind)] if behind else max(old.values(), default=SHORT)
    standing = sorted(old)
    for place in [*standing[1:-1], *new, *standing[:1]]:
        if len(lifetimes) <= most:
            break
        del lifetimes[place]
    return changed(request, prompt.with_breakpoints(in_order(lifetimes)))


def made_block(
    name: str, section: str, tokens: int, *parts: bytes, kind: str = "text", role: str | None = None
) -> Block:
    """A block that no log holds. Its digest follows from its name and from what it was made of."""
    digest = blake2b(b"\0".join([name.encode(), *parts]), digest_size=DIGEST_SIZE, person=b"agentsim-policy").digest()
    return Block(section=section, kind=kind, digest=digest, role=role, tokens=tokens, origin="estimated", name=name)  # type: ignore[arg-type]
