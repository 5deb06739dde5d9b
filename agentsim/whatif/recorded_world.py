"""What a log shows of the world around its requests: entries that others wrote, entries that lived longer, losses.

A session is simulated row by row beside its log. Where the log read more than the logged requests can have left, or
less than the rules allow, that is a fact about the world, held by the request that shows it. With its facts the
recorded run comes out as it was; under a policy the same facts hold, as far as they would:

* ``outside``: others kept this front. Tools and system are shared by many sessions: between two rows that show whether
  that front was there, the nearer one counts. What only one conversation can have written is there where it was seen.
* ``kept``: what the session itself had written lived longer than the rules say, or a call that no log shows used it. It
  does so under a policy too, unless that asks for a shorter lifetime.
* ``lost``: what should have been there was not. It is lost under every policy, but for entries that the recorded run
  had not kept so long and a policy does.

A policy sees none of this, so that it cannot leave any of it out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from agentsim.cache import CacheBackend
from agentsim.cache.routed_backend import RoutedProvider
from agentsim.cache.simulate import Price, arrivals_of, row_of
from agentsim.core.dates import SECOND
from agentsim.core.garbage_collection import without_collection
from agentsim.core.prompt import Breakpoint, Prompt
from agentsim.core.session import Request, Row, Session
from agentsim.whatif.rebuilt_prompts import LONGEST_HEAD, length_within
from agentsim.whatif.unknown_facts import PLAIN, Others, Unknowns, dropped
from agentsim.whatif.world_facts import Fact, FactKind, RecordedWorld, Sighting

_SHORT = 300
_SURE = 240 * 10**9
"""So long after it was last read, a front that others share need not be looked for: every entry lives longer."""


def observe(session: Session, profile: str | None, pricing: Price) -> tuple[RecordedWorld, tuple[Row, ...]]:
    """The facts that a session's own counters show beside its prompts, and its rows under them."""
    backend = RoutedProvider(profile=profile)
    written: dict[tuple[str, bytes], str] = {}
    lives: dict[str, int] = {}
    sent: dict[object, Request] = {}
    facts: dict[str, tuple[Fact, ...]] = {}
    rows: list[Row] = []
    watched: dict[tuple[str, bytes], tuple[int, int]] = {}
    survived: set[str] = set()
    with without_collection():
        for now, request in arrivals_of(session.requests):
            if request.prompt is not None:
                _watch_head(request.model, request.prompt, watched)
                if request.usage is not None and (request.usage.read or 0) > _head_tokens(request.prompt):
                    survived.add(request.id)
            found = _seen(
                request, now, backend, written, lives, sent.get(request.parent) or sent.get((request.lane, ""))
            )
            for fact in found:
                _bring_about(fact, fact.length, request, now, backend, sent.get(fact.source))
                if fact.kind == "outside" and fact.tokens <= _head_tokens(request.prompt):
                    watched[request.model, fact.digest] = fact.length, fact.tokens
            if found:
                facts[request.id] = found
            rows.append(row_of(request, backend.serve(request, now), pricing))
            if request.prompt is not None:
                lives[request.id] = _longest_life(request)
                for marker in request.prompt.breakpoints:
                    written.setdefault((request.model, request.prompt.chain(marker.position + 1)), request.id)
                sent[request.id] = sent[request.lane, ""] = request
    shared = {key: _sightings(key, where, session, facts) for key, where in watched.items()}
    world = RecordedWorld(
        facts=facts,
        survived=frozenset(survived),
        shared=shared,
        lengths={key: where[0] for key, where in watched.items()},
    )
    return world, tuple(rows)


def _watch_head(model: str, prompt: Prompt, watched: dict[tuple[str, bytes], tuple[int, int]]) -> None:
    """Tools and system text are what other sessions may send too."""
    head = prompt.section_end("system")
    if head and prompt.breakpoints:
        watched.setdefault((model, prompt.chain(head)), (head, prompt.tokens_until(head)))


def live(
    session: Session,
    world: RecordedWorld,
    profile: str | None,
    pricing: Price,
    *,
    recorded: Mapping[str, Request] | None = None,
    unknown: Unknowns = PLAIN,
) -> tuple[Row, ...]:
    """The rows of a session, as it is or rewritten, in the world of the recorded one.

    ``recorded`` are the requests before they were rewritten, by id. ``unknown`` is how the world is where the log does
    not tell.
    """
    backend = RoutedProvider(profile=profile, outlives=unknown.outlives)
    rows: list[Row] = []
    now_sent: dict[str, Request] = {}
    used: dict[tuple[str, bytes], int] = {}
    last_of: dict[str, str] = {}
    lane: str | None = None
    gone = dropped(session, world.survived, unknown.losses)
    with without_collection():
        for now, request in arrivals_of(session.requests):
            prompt = request.prompt
            if prompt is not None:
                for fact in world.facts.get(request.id, ()):
                    length = _length_now(fact, request, now_sent, recorded)
                    if (
                        length
                        and _holds(fact, now_sent, now, now_sent.get(last_of.get(request.lane, "")))
                        and not (fact.kind == "lost" and _would_read(backend, request, now) > fact.predicted)
                        and not (
                            unknown.begun_short
                            and request.lane not in last_of
                            and fact.source is None
                            and _asks_for_less(request, recorded)
                        )
                    ):
                        if fact.expired:
                            length = _outliving(length, request, now, backend, now_sent, recorded)
                        _bring_about(fact, max(length, 0), request, now, backend, now_sent.get(fact.source or ""))
                for key, sightings in world.shared.items():
                    if now - used.get(key, now - _SURE - 1) > _SURE or request.lane != lane:
                        _share(key, world.lengths[key], sightings, request, now, backend, unknown.others)
            if prompt is not None:
                before = now_sent.get(last_of.get(request.lane, ""))
                if request.id in gone or (unknown.begun_short and _is_barely_there(before, now, recorded)):
                    backend.evict(request, prompt.section_end("system"), now)
                last_of[request.lane] = request.id
                now_sent[request.id] = request
            row = row_of(request, backend.serve(request, now), pricing)
            rows.append(row)
            if world.shared and prompt is not None:
                lane = request.lane
                for key, length in world.lengths.items():
                    if length <= len(prompt) and (row.usage.read or 0) >= prompt.tokens_until(length):
                        if prompt.chain(length) == key[1]:
                            used[key] = now
                        else:
                            used.pop(key, None)
    return tuple(rows)


def _seen(
    request: Request,
    now: int,
    backend: CacheBackend,
    written: Mapping[tuple[str, bytes], str],
    lives: Mapping[str, int],
    parent: Request | None,
) -> tuple[Fact, ...]:
    """What a row shows that the rules alone do not bring about."""
    prompt, usage = request.prompt, request.usage
    if prompt is None or usage is None or usage.read is None or request.iterations:
        return ()
    predicted, read = _would_read(backend, request, now), usage.read
    if predicted == read:
        return ()
    length = _nearest_end(prompt, read)
    if abs(prompt.tokens_until(length) - read) >= abs(predicted - read):
        return ()  # no end of a block is nearer: sizes of blocks are estimates where a log does not tell them
    facts: list[Fact] = []
    used = None if parent is None else _time_of(parent)
    expired = parent is not None and used is not None and now - used > _longest_life(parent) * SECOND
    source = written.get((request.model, prompt.chain(length))) if length else None
    if source is None and not prompt.breakpoints and parent is not None and parent.prompt is not None:
        # Where every prompt is kept, whatever the one before began with had been written.
        source = parent.id if length <= parent.prompt.common_length(prompt) else None

    def fact(kind: FactKind) -> Fact:
        return Fact(
            request=request.id,
            kind=kind,
            length=length,
            tokens=prompt.tokens_until(length),
            digest=prompt.chain(length),
            predicted=predicted,
            source=source,
            lifetime=lives.get(source or "", _SHORT),
            expired=expired and kind == "lost",
        )

    if predicted > read:
        facts.append(fact("lost"))
        if not length:
            return tuple(facts)
        _bring_about(facts[0], length, request, now, backend, None)
        predicted = _would_read(backend, request, now)
        if predicted >= prompt.tokens_until(length) or predicted == read:
            return tuple(facts)
    if length:
        own = source is not None and length > prompt.section_end("system")
        facts.append(fact("kept" if own else "outside"))
    return tuple(facts)


def _nearest_end(prompt: Prompt, tokens: int) -> int:
    """How many leading blocks come nearest to so many tokens; 0 for nothing read."""
    if not tokens:
        return 0
    length = length_within(prompt, tokens)
    if length < len(prompt):
        below, above = prompt.tokens_until(length), prompt.tokens_until(length + 1)
        if above - tokens < tokens - below:
            return length + 1
    return length


def _bring_about(
    fact: Fact, length: int, request: Request, now: int, backend: CacheBackend, source: Request | None
) -> None:
    """Let the world be as a fact says, just before a request arrives. What ``source`` had written lives as long as it
    asked for."""
    prompt = request.prompt
    assert prompt is not None
    if fact.kind == "lost":
        backend.evict(request, length, now)
        return
    owner = prompt if fact.kind != "kept" or source is None or source.prompt is None else source.prompt
    _warm(request, prompt.front(length), now, backend, _life_at(owner, length))


def _life_at(prompt: Prompt, length: int) -> int:
    """The lifetime that a prompt asks for at this place: that of the first marker there or behind it."""
    behind = [marker for marker in prompt.breakpoints if marker.position >= length - 1]
    return min(behind, key=lambda marker: marker.position).ttl if behind else _longest_ttl(prompt)


def _warm(request: Request, front: Prompt, now: int, backend: CacheBackend, lifetime: int) -> None:
    """Somebody whom no log shows sent this front."""
    assert request.prompt is not None
    if request.prompt.breakpoints:
        front = front.with_breakpoints([Breakpoint(len(front) - 1, lifetime)])
    call = msgspec.structs.replace(
        request,
        id=f"{request.id}/world",
        prompt=front,
        start=now,
        first_token=now,
        end=now,
        counted=False,
        usage=None,
        iterations=(),
    )
    backend.serve(call, now)


def _would_read(backend: CacheBackend, request: Request, now: int) -> int:
    return backend.look_up(request, now).read or 0


def _holds(fact: Fact, sent: Mapping[str, Request], now: int, before: Request | None) -> bool:
    """Whether a fact holds under a policy: what was kept is not, where a shorter lifetime was asked for that is over.

    What was written so shortly before that no lifetime can have ended was there for another reason. What was lost
    because its lifetime had ended is there where the one ``before`` in its lane asked for a longer one, or came later.
    """
    if fact.expired:
        used = None if before is None else _time_of(before)
        return before is None or used is None or now - used > _longest_life(before) * SECOND
    source = sent.get(fact.source or "") if fact.kind == "kept" else None
    if source is None:
        return True
    life = _longest_life(source)
    written = source.start if source.start is not None else now
    return life >= fact.lifetime or now - written <= life * SECOND


def _outliving(
    length: int,
    request: Request,
    now: int,
    backend: CacheBackend,
    sent: Mapping[str, Request],
    recorded: Mapping[str, Request] | None,
) -> int:
    """How many blocks are left when what had expired is lost: as in the log, or as far as an entry reaches that was
    written for longer than it was in the recorded run, or that a refresh used which that run did not have."""
    keep: int | None = None
    refreshes = [
        one
        for one in sent.values()
        if one.purpose == "keep_alive" and one.id not in (recorded or {}) and one.prompt and request.prompt
    ]
    while True:
        found = backend.look_up(request, now, keep=keep)
        if found.hit <= max(length, 0):
            return length
        owner, before = sent.get(found.hit_owner or ""), (recorded or {}).get(found.hit_owner or "")
        if owner is not None and before is not None and _longest_life(owner) > _longest_life(before):
            return found.hit
        for one in refreshes:
            assert one.prompt is not None
            assert request.prompt is not None
            recent = one.start is not None and now - one.start <= _longest_life(one) * SECOND
            if recent and one.prompt.common_length(request.prompt) >= found.hit:
                return found.hit
        keep = found.hit - 1


def _length_now(
    fact: Fact, request: Request, sent: Mapping[str, Request], recorded: Mapping[str, Request] | None
) -> int:
    """How many blocks of a rewritten prompt a fact is about; for a loss, how many are left (at least one)."""
    prompt = request.prompt
    assert prompt is not None
    if fact.length <= len(prompt) and prompt.chain(fact.length) == fact.digest:
        return fact.length if fact.kind != "lost" or fact.length else _NOTHING
    if fact.kind == "lost":
        return length_within(prompt, fact.tokens) or _NOTHING
    before = (recorded or {}).get(request.id)
    if before is not None and before.prompt is not None and fact.length <= before.prompt.section_end("system"):
        return prompt.section_end("system")  # others sent their tools and system in the same way
    source = sent.get(fact.source or "")
    if source is None or source.prompt is None:
        return 0
    return prompt.common_length(source.prompt)


_NOTHING = -1


def _share(
    key: tuple[str, bytes],
    length: int,
    sightings: Sequence[Sighting],
    request: Request,
    now: int,
    backend: CacheBackend,
    others: Others,
) -> None:
    """Let a front be there that other sessions share, where the log's nearest word on it says that it was."""
    prompt = request.prompt
    if prompt is None or others == "seen" or request.model != key[0]:
        return
    if len(prompt) < length or prompt.chain(length) != key[1]:
        return
    if not _nearest(sightings, now, likely=others == "likely"):
        return
    if _would_read(backend, request, now) < prompt.tokens_until(length):
        _warm(request, prompt.front(length), now, backend, _SHORT)


def _nearest(sightings: Sequence[Sighting], now: int, *, likely: bool) -> bool:
    """Whether a front that others share is there: as when it was seen or missed next before or after. Where that was
    long ago, or never, it is there if that is ``likely``."""
    place = bisect_left(sightings, now, key=lambda sighting: sighting.time)
    around = sightings[max(place - 1, 0) : place + 1]
    if not around:
        return likely
    nearest = min(around, key=lambda sighting: abs(sighting.time - now))
    return nearest.there or (likely and abs(nearest.time - now) > _SHORT * SECOND)


def _asks_for_less(request: Request, recorded: Mapping[str, Request] | None) -> bool:
    """Whether a request asks for a shorter lifetime than it did in the log."""
    before = (recorded or {}).get(request.id)
    return before is not None and _longest_life(request) < _longest_life(before)


def _is_barely_there(before: Request | None, now: int, recorded: Mapping[str, Request] | None) -> bool:
    """Whether a shorter lifetime than the log's is over, counted from the start of the request before: logs tell when a
    response ended, and what then still was there may not have been."""
    if before is None or before.start is None or not _asks_for_less(before, recorded):
        return False
    return now - before.start >= _longest_life(before) * SECOND


def _sightings(
    key: tuple[str, bytes], where: tuple[int, int], session: Session, facts: Mapping[str, tuple[Fact, ...]]
) -> tuple[Sighting, ...]:
    """When a shared front was seen to be there although the session itself had not kept it, or was not there."""
    found: list[Sighting] = []
    length, tokens = where
    for now, request in arrivals_of(session.requests):
        prompt, usage = request.prompt, request.usage
        if prompt is None or usage is None or usage.read is None or request.model != key[0]:
            continue
        if len(prompt) < length or prompt.chain(length) != key[1]:
            continue
        seen = any(fact.kind == "outside" and fact.digest == key[1] for fact in facts.get(request.id, ()))
        if seen or usage.read < tokens:
            found.append(Sighting(now, seen))
    return tuple(found)


def _head_tokens(prompt: Prompt | None) -> int:
    """Tokens of what others may share: tools and system, where they are known to be that."""
    if prompt is None:
        return 0
    return prompt.tokens_until(prompt.section_end("system")) or LONGEST_HEAD


def _time_of(request: Request) -> int | None:
    """When a request was sent, or, where the log does not tell, when it was answered."""
    return request.start if request.start is not None else request.end


def _longest_life(request: Request) -> int:
    return _SHORT if request.prompt is None else _longest_ttl(request.prompt)


def _longest_ttl(prompt: Prompt) -> int:
    return max((marker.ttl for marker in prompt.breakpoints), default=_SHORT)


def by_id(requests: Iterable[Request]) -> dict[str, Request]:
    """Requests by their ids."""
    return {request.id: request for request in requests}
