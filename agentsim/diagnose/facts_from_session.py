"""The facts of each row of a session, for a judgement without bodies."""

from __future__ import annotations

from collections.abc import Sequence

from agentsim.bodies.serving_provider import is_vendor, provider_of_model
from agentsim.core.prompt import Prompt
from agentsim.core.session import ASIDE, Event, Request, Session, Usage
from agentsim.diagnose.kept_content import unread_content
from agentsim.diagnose.lifetime_clock import OBSERVED_CLOCK, idle_seconds
from agentsim.diagnose.prompt_diff import cause_of, first_difference
from agentsim.diagnose.read_steps import steps_of
from agentsim.diagnose.row_facts import FIVE_MINUTES, LOOKBACK, ONE_HOUR, RowFacts
from agentsim.rules.providers import has_own_rules, rules_for


def facts_of(session: Session) -> list[RowFacts]:
    """One :class:`RowFacts` per request, in the session's order, with parents linked."""
    events: dict[str, list[Event]] = {}
    for event in session.events:
        if event.before is not None:
            events.setdefault(event.before, []).append(event)
    by_id: dict[str, RowFacts] = {}
    prompts: dict[str, Prompt] = {}
    head_tokens: int | None = None
    rows: list[RowFacts] = []
    automatic: dict[str, dict[str, list[RowFacts]]] = {}
    written = {
        (request.provider, request.model) for request in session.requests if request.usage and request.usage.write
    }
    for request in session.requests:
        writes = (request.provider, request.model) in written
        parent = by_id.get(request.parent) if request.parent is not None else None
        row = facts_of_request(request, parent, events.get(request.id, ()), harness=session.harness, writes=writes)
        sizes = dict(request.section_tokens)
        if head_tokens is None and ("tools" in sizes or "system" in sizes):
            head_tokens = sizes.get("tools", 0) + sizes.get("system", 0)
        row.head_tokens = head_tokens
        if session.completeness == "messages" and request.prompt is not None:
            _compare(row, request, prompts.get(request.parent or ""))
            prompts[request.id] = request.prompt
        by_id[request.id] = row
        rows.append(row)
        if row.automatic:
            automatic.setdefault(request.lane, {}).setdefault(request.model, []).append(row)
    _prove_hours(rows, [request.lane for request in session.requests])
    for models in automatic.values():
        lane = [row for alike in models.values() for row in alike]
        for alike in models.values():
            steps = steps_of(alike, lane)
            for row in alike:
                row.steps = steps
    return rows


def _compare(row: RowFacts, request: Request, old: Prompt | None) -> None:
    """What the messages of two prompts show, where a log holds them without tools and system text."""
    new = request.prompt
    if old is None or new is None:
        return
    place = first_difference(old, new)
    if place is not None and place.change != "shape":
        row.change = (cause_of(place, old, new), place)
        row.kept = unread_content(old, len(old), new, old.common_length(new), row.read, place.change)
        return
    row.grown = True
    if row.appended is None:
        row.appended = sum(new[at].kind not in _THINKING for at in range(len(old), len(new)))


_THINKING = ("thinking", "redacted_thinking")


def _prove_hours(rows: list[RowFacts], lanes: list[str]) -> None:
    """Where a log does not tell the lifetime of writes, a read after more than five minutes proves an hour."""
    proved = {
        lane
        for row, lane in zip(rows, lanes, strict=True)
        if row.parent is not None
        and row.parent.ttl is None
        and row.read >= row.parent.warm > 0
        and (idle_seconds(row) or 0) > FIVE_MINUTES + OBSERVED_CLOCK.grace
    }
    for row, lane in zip(rows, lanes, strict=True):
        if lane in proved and row.ttl is None and row.fixed_lifetime and not row.automatic:
            row.ttl = ONE_HOUR


def facts_of_request(
    request: Request, parent: RowFacts | None, events: Sequence[Event], *, harness: str | None, writes: bool
) -> RowFacts:
    """The facts of a request that grew from another one, after these events. ``writes``: some row of its provider and
    model reports that it wrote."""
    row = _facts(request, writes=writes)
    row.harness = harness
    row.events = tuple(event.kind for event in events if event.kind not in ASIDE)
    row.notes = tuple((event.kind, event.detail) for event in events if event.detail and event.kind not in ASIDE)
    row.parent = parent
    row.ttl, row.ttl_dropped = lifetime(request, None if parent is None else (parent.ttl, parent.ttl_dropped))
    row.lookback = own_lookback(request.provider, request.model, request.start)
    return row


def _facts(request: Request, *, writes: bool) -> RowFacts:
    usage = request.usage or Usage()
    measured = usage.read is not None or usage.write is not None
    row = RowFacts(request.id, request.model, usage.read or 0, usage.write or 0, usage.fresh or 0, measured=measured)
    row.output = usage.output if request.output_final else None
    row.provider = _server(request)
    row.host = request.host
    row.account = request.account
    row.writes = usage.write is not None
    row.speed = request.speed
    reports_none = usage.write == 0 and not writes and _finds_all(request)
    if reports_none or (usage.write is None and row.provider != "anthropic"):
        # Automatic caches report no writes, or none in every row: all that was sent may be read next time.
        row.warm = row.total
        row.automatic = True
    row.fixed_lifetime = row.provider == "anthropic" or "claude" in request.model.lower()
    if not row.fixed_lifetime and not row.automatic:
        row.lives = _lives(request)
    row.first_token = request.first_token
    row.start = request.start
    row.end = request.end
    row.stop_reason = request.stop_reason
    row.version = request.harness_version
    settings = dict(request.settings)
    row.effort = settings.get("effort")
    row.image = settings.get("images_present") == "true"
    row.appended = request.appended_blocks
    row.diagnosis = request.diagnosis
    row.calls = max(1, len(request.iterations))
    return row


def _server(request: Request) -> str:
    """Who served a request: a harness that writes every row as Anthropic's may have called another server."""
    if request.provider == "anthropic" and not is_vendor("anthropic", request.model):
        return provider_of_model(request.model)
    return request.provider


def _finds_all(request: Request) -> bool:
    """Whether the cache of a request's provider finds prefixes by itself, as far as its rules are known."""
    if _server(request) == "anthropic":
        return False
    try:
        return rules_for(_server(request), request.model, request.start).matching != "breakpoint"
    except ValueError:
        return not request.model.lower().startswith("claude")


EntryLifetime = tuple[int | None, bool]

USUAL = (FIVE_MINUTES, ONE_HOUR)
"""What the shorter and the longer lifetime are, in seconds, unless a provider's rules say otherwise."""


def _lives(request: Request) -> tuple[int, int] | None:
    """The least and the most seconds that a provider keeps entries whose lifetime a log does not tell."""
    try:
        rules = rules_for(request.provider, request.model, request.start)
    except ValueError:
        return None
    return (rules.ttl_short, rules.ttl_short + rules.ttl_grace) if rules.matching == "breakpoint" else None


def own_lookback(provider: str, model: str, when: int | None) -> int:
    """The lookback of a provider: that of session logs, unless the user brought rules of their own."""
    if not has_own_rules(provider):
        return LOOKBACK
    rules = rules_for(provider, model, when)
    return rules.lookback if rules.matching == "breakpoint" else LOOKBACK


def _tiers(request: Request) -> tuple[int, int]:
    """The lifetimes of what a request says it wrote, the shorter and the longer."""
    usage = request.usage
    if usage is None or not (usage.write_short or usage.write_long):
        return USUAL
    if request.provider == "anthropic" and not has_own_rules("anthropic"):
        return USUAL
    try:
        rules = rules_for(request.provider, request.model, request.start)
    except ValueError:
        return USUAL
    return (rules.ttl_short, rules.ttl_long) if rules.matching == "breakpoint" else USUAL


def lifetime(request: Request, inherited: EntryLifetime | None) -> EntryLifetime:
    """The lifetime, in seconds, of the entry at the end of a request's prompt, and whether its lane had a longer one.

    A request that wrote nothing keeps the entry it read, and so its parent's lifetime.
    """
    inherited = inherited or (None, False)
    usage = request.usage
    if usage is None:
        return inherited
    short, long = _tiers(request)
    if usage.write_short:
        return short, inherited[0] == long or inherited[1]
    if usage.write_long:
        return long, False
    return inherited
