"""What an act showed: tokens that were sent anew although they need not have been, why, and the harness's habits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from agentsim.conform.act_files import Act
from agentsim.conform.harness_adapters import HarnessAdapter
from agentsim.core.session import Request, Session
from agentsim.diagnose import diagnose
from agentsim.gateway.emulator import Sessions

Status = Literal["ran", "failed", "unsupported"]


class LossByCause(msgspec.Struct, frozen=True):
    """What one cause lost in an act."""

    cause: str
    tokens: int
    where: str


class Habits(msgspec.Struct, frozen=True, kw_only=True):
    """What the requests of the main agent have in common. ``lifetimes`` are seconds asked for at breakpoints."""

    markers: tuple[int, int] = (0, 0)
    lifetimes: tuple[int, ...] = ()
    tools: tuple[int, int] = (0, 0)
    tools_changed: int = 0
    system_changed: int = 0
    first_prompt: int = 0


class ActResult(msgspec.Struct, frozen=True, kw_only=True):
    """An act of one harness. ``lost`` are tokens, ``cost`` picodollars at list price (``None``: not known)."""

    act: str
    harness: str
    status: Status
    note: str = ""
    requests: int = 0
    lanes: int = 0
    total: int = 0
    read: int = 0
    lost: int = 0
    cost: int | None = None
    losses: tuple[LossByCause, ...] = ()
    refused: int = 0
    habits: Habits | None = None
    seconds: float = 0.0


def failed(act: Act, adapter: HarnessAdapter, why: str, seconds: float) -> ActResult:
    """An act in which nothing came that could be judged."""
    return ActResult(act=act.name, harness=adapter.name, status="failed", note=why, seconds=round(seconds, 1))


def judged(act: Act, adapter: HarnessAdapter, sessions: Sequence[Session], told: Sessions) -> ActResult:
    """What the requests of an act lost, its sessions taken together: one begun anew may read what another wrote."""
    session = together(sessions)
    if len(session.requests) < 2:
        return ActResult(act=act.name, harness=adapter.name, status="unsupported", note="one request alone")
    diagnosis = diagnose(session)
    losses: dict[str, LossByCause] = {}
    cost: int | None = 0
    lost = 0
    inherent = list(act.inherent)
    for verdict in diagnosis.verdicts:
        if verdict.kind != "miss" or not verdict.lost:
            continue
        if verdict.cause in inherent:
            inherent.remove(verdict.cause)
            continue
        lost += verdict.lost
        cost = None if cost is None or verdict.lost_cost is None else cost + verdict.lost_cost
        cause = verdict.cause or "unexplained"
        before = losses.get(cause)
        place = verdict.place.section or "" if verdict.place is not None else ""
        where = before.where if before is not None else place
        losses[cause] = LossByCause(cause, verdict.lost + (0 if before is None else before.tokens), where)
    usages = [row.usage for row in diagnosis.rows]
    return ActResult(
        act=act.name,
        harness=adapter.name,
        status="ran",
        requests=len(session.requests),
        lanes=len(session.lanes),
        total=sum(usage.total_input or 0 for usage in usages),
        read=sum(usage.read or 0 for usage in usages),
        lost=lost,
        cost=cost,
        losses=tuple(sorted(losses.values(), key=lambda loss: -loss.tokens)),
        refused=told.refused.count("refused"),
        habits=_habits(session.requests),
        note="no call of the script fitted its tools" if told.unfitted and len(session.requests) < 2 else "",
    )


def together(sessions: Sequence[Session]) -> Session:
    """Several sessions as one, each with lanes of its own."""
    if len(sessions) == 1:
        return sessions[0]
    requests: list[Request] = []
    lanes, events = [], []
    for number, session in enumerate(sessions):
        head = "" if number == 0 else f"{number + 1}/"
        names = {request.id for request in session.requests}

        def renamed(id: str | None, head: str = head, names: set[str] = names) -> str | None:
            return None if id is None else f"{head}{id}" if id in names else id

        for request in session.requests:
            requests.append(
                msgspec.structs.replace(
                    request, id=f"{head}{request.id}", lane=f"{head}{request.lane}", parent=renamed(request.parent)
                )
            )
        for lane in session.lanes:
            above = None if lane.parent is None else f"{head}{lane.parent}"
            lanes.append(msgspec.structs.replace(lane, id=f"{head}{lane.id}", parent=above))
        for event in session.events:
            events.append(msgspec.structs.replace(event, lane=f"{head}{event.lane}", before=renamed(event.before)))
    requests.sort(key=lambda request: request.start or 0)
    return msgspec.structs.replace(sessions[0], requests=tuple(requests), lanes=tuple(lanes), events=tuple(events))


def _habits(requests: Sequence[Request]) -> Habits:
    prompts = [one.prompt for one in requests if one.prompt is not None and one.purpose == "main"]
    if not prompts:
        return Habits()
    markers = [len(prompt.breakpoints) for prompt in prompts]
    tools = [prompt.section_end("tools") for prompt in prompts]
    heads = [prompt.chain(prompt.section_end("tools")) for prompt in prompts]
    whole = [prompt.chain(prompt.section_end("system")) for prompt in prompts]
    changed = [one != other for one, other in pairwise(heads)]
    system = [one != other for one, other in pairwise(whole)]
    lifetimes = {marker.ttl for prompt in prompts for marker in prompt.breakpoints}
    return Habits(
        markers=(min(markers), max(markers)),
        lifetimes=tuple(sorted(lifetimes)),
        tools=(min(tools), max(tools)),
        tools_changed=sum(changed),
        system_changed=sum(one and not other for one, other in zip(system, changed, strict=True)),
        first_prompt=prompts[0].tokens,
    )
