"""A scenario whose distributions are those of recorded sessions: written once, then edited by hand.

What a log cannot tell is left at its default. A round's calls count as one: usage counters show by how much a prompt
grew, and not how many results that was. Copies of requests that belong to other sessions are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from agentsim.core.counts import plural
from agentsim.core.dates import SECOND
from agentsim.core.session import Request, Session

MOST_VALUES = 101
"""Values of an empirical distribution: its quantiles, one for each per cent."""


class Fit(msgspec.Struct, kw_only=True):
    """What was found in sessions. Mutable while it is collected; sizes are tokens, durations nanoseconds."""

    sessions: int = 0
    requests: int = 0
    turns: list[int] = msgspec.field(default_factory=list)
    rounds: list[int] = msgspec.field(default_factory=list)
    prompts: list[int] = msgspec.field(default_factory=list)
    outputs: list[int] = msgspec.field(default_factory=list)
    replies: list[int] = msgspec.field(default_factory=list)
    results: list[int] = msgspec.field(default_factory=list)
    tool_times: list[int] = msgspec.field(default_factory=list)
    pauses: list[int] = msgspec.field(default_factory=list)
    first_tokens: list[int] = msgspec.field(default_factory=list)
    rates: list[int] = msgspec.field(default_factory=list)
    fronts: list[int] = msgspec.field(default_factory=list)
    sections: tuple[tuple[str, int], ...] = ()
    models: dict[tuple[str, str], int] = msgspec.field(default_factory=dict)
    short: int = 0
    long: int = 0
    compacted_at: list[int] = msgspec.field(default_factory=list)
    errors: int = 0
    start: int | None = None


def fit(sessions: Iterable[Session]) -> Fit:
    """Collect the distributions of sessions. A session without usage adds nothing."""
    found = Fit()
    for session in sessions:
        found.sessions += 1
        typed = {event.before for event in session.events if event.kind == "prompt_submitted"}
        compacted = {event.before for event in session.events if event.kind == "compaction"}
        found.errors += sum(event.kind == "api_error" for event in session.events)
        purposes = {lane.id: lane.purpose for lane in session.lanes}
        lanes: dict[str, list[Request]] = {}
        for request in session.requests:
            if request.counted and request.usage is not None and request.usage.total_input is not None:
                found.requests += 1
                if request.purpose == "main" and purposes.get(request.lane, "main") == "main":
                    lanes.setdefault(request.lane, []).append(request)
        for requests in lanes.values():
            _lane(found, requests, typed, compacted)
    return found


def _lane(found: Fit, requests: Sequence[Request], typed: set[str | None], compacted: set[str | None]) -> None:
    turns = rounds = 0
    before: Request | None = None
    for request in requests:
        usage = request.usage
        assert usage is not None
        if found.start is None:
            found.start = request.start
        model = (request.provider, request.model)
        found.models[model] = found.models.get(model, 0) + 1
        found.short += usage.write_short or 0
        found.long += usage.write_long or 0
        _service(found, request)
        begins = before is None or (request.id in typed if typed else before.stop_reason == "end_turn")
        growth = None if before is None else _growth(before, request)
        if before is None:
            found.fronts.append(usage.total_input or 0)
            _front(found, request)
        elif request.id in compacted:
            found.compacted_at.append((before.usage.total_input or 0) if before.usage is not None else 0)
        elif growth is not None and growth >= 0:
            (found.prompts if begins else found.results).append(growth)
        gap = None if before is None else _gap(before, request)
        if begins:
            turns += 1
            if before is not None:
                found.rounds.append(rounds)
                _output(found.replies, before)
                if gap is not None:
                    found.pauses.append(gap)
            rounds = 0
        elif before is not None:
            rounds += 1
            _output(found.outputs, before)
            if gap is not None:
                found.tool_times.append(gap)
        before = request
    if before is not None:
        found.rounds.append(rounds)
        _output(found.replies, before)
        found.turns.append(turns)


def _output(outputs: list[int], request: Request) -> None:
    """Add the output of a request, where the log holds its final count."""
    if request.output_final and request.usage is not None and request.usage.output is not None:
        outputs.append(request.usage.output)


def _growth(before: Request, request: Request) -> int | None:
    """By how much the prompt grew beyond the answer before it; ``None`` where its size is not known."""
    if before.usage is None or request.usage is None or not before.output_final:
        return None
    old, new = before.usage.total_input, request.usage.total_input
    return None if old is None or new is None else new - old - (before.usage.output or 0)


def _gap(before: Request, request: Request) -> int | None:
    if request.start is None:
        return None
    last = before.end if before.end is not None else before.start
    return None if last is None else max(0, request.start - last)


def _service(found: Fit, request: Request) -> None:
    if request.start is None or request.first_token is None:
        return
    found.first_tokens.append(max(0, request.first_token - request.start))
    output = 0 if request.usage is None else request.usage.output or 0
    if request.end is not None and output and request.end > request.first_token:
        found.rates.append(output * SECOND // (request.end - request.first_token))


def _front(found: Fit, request: Request) -> None:
    if found.sections:
        return
    prompt = request.prompt
    if prompt is not None and len(prompt):
        tools = prompt.tokens_until(prompt.section_end("tools"))
        system = prompt.tokens_until(prompt.section_end("system"))
        found.sections = (("tools", tools), ("system", system - tools))
    elif request.section_tokens:
        found.sections = tuple(pair for pair in request.section_tokens if pair[0] in ("tools", "system"))


def as_toml(found: Fit, source: str) -> str:
    """The scenario as text. Raises ValueError when no request with usage was found."""
    if not found.models:
        raise ValueError("no request of a main lane reports its usage")
    (provider, model), _ = max(found.models.items(), key=lambda item: (item[1], item[0]))
    requests = plural(found.requests, "request")
    lines = [
        f"# Fitted to {requests} in {plural(found.sessions, 'session')}. What a log cannot tell is a default.",
        f'story = """\n{_plain(source)}: an agent with the sizes, pauses and tool times of recorded sessions."""',
        "",
        "[model]",
        f"provider = {_string(provider)}",
        f"name = {_string(model)}",
        "",
        "[service]",
    ]
    if found.first_tokens:
        lines.append(f"first_token = {_empirical(found.first_tokens, SECOND)}")
    rates = sorted(rate for rate in found.rates if rate > 0)
    if rates:
        lines.append(f"output_rate = {rates[len(rates) // 2]}")
    lines += ["", "[prompt]", *_front_lines(found), f'ttl = "{"1h" if found.long > found.short else "5m"}"', ""]
    if found.compacted_at:
        at = sorted(found.compacted_at)
        lines += ["[harness.compaction]", f"trigger = {max(1, at[len(at) // 2])}", ""]
    if found.errors:
        share = min(1, found.errors / max(1, found.requests + found.errors))
        lines += ["[failures]", f"overloaded = {share:.6f}", ""]
    lines.append("[task]")
    for key, values, unit in (
        ("turns", found.turns, 1),
        ("prompt", found.prompts, 1),
        ("rounds", found.rounds, 1),
        ("call", found.outputs, 1),
        ("result", found.results, 1),
        ("tool_time", found.tool_times, SECOND),
        ("reply", found.replies, 1),
        ("pause", found.pauses, SECOND),
    ):
        if values:
            lines.append(f"{key} = {_empirical(values, unit)}")
    lines.append("text = 0 # an answer's words are in its call")
    return "\n".join(lines) + "\n"


def _front_lines(found: Fit) -> list[str]:
    sizes = dict(found.sections)
    if sizes:
        return [
            f'{name} = [{{ name = "{name}", tokens = {sizes[name]} }}]'
            for name in ("tools", "system")
            if sizes.get(name)
        ]
    first = sorted(found.fronts)[len(found.fronts) // 2] if found.fronts else 0
    typical = sorted(found.prompts)[len(found.prompts) // 2] if found.prompts else 0
    front = max(0, first - typical)
    return [f'system = [{{ name = "front", tokens = {front} }}] # the log does not tell its parts']


def _empirical(values: Sequence[int], unit: int) -> str:
    ordered = sorted(values)
    if len(ordered) > MOST_VALUES:
        last = len(ordered) - 1
        ordered = [ordered[index * last // (MOST_VALUES - 1)] for index in range(MOST_VALUES)]
    return "{ empirical = [" + ", ".join(_number(value, unit) for value in ordered) + "] }"


def _number(value: int, unit: int) -> str:
    if unit == 1:
        return str(value)
    thousandths = (value * 1_000 + unit // 2) // unit
    whole, rest = divmod(thousandths, 1_000)
    return f"{whole}.{rest:03d}".rstrip("0").rstrip(".")


def _string(text: str) -> str:
    return '"' + _plain(text) + '"'


def _plain(text: str) -> str:
    """Outside text that can stand in a TOML string and on a terminal."""
    return "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else "?" for c in text)[:200]
