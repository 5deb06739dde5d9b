"""What a policy means for a harness: the settings under which the same agents run again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from agentsim.core.prompt import Breakpoint
from agentsim.core.session import Request
from agentsim.harness.plan import KeepAlivePlan, Plan
from benchmarks.whatif.backtest_sessions import LEFT, LivedSession
from benchmarks.whatif.backtest_world import Gateway

SHORT, LONG = 300, 3600
Change = Callable[[Plan], "Plan | None"]


@dataclass(frozen=True)
class Rerun:
    """A policy as ``compare`` is asked for it, and how agents follow it. ``change`` gives ``None`` where the settings
    of the log are those of the policy already."""

    policy: str
    change: Change
    gateway: Gateway | None = None
    forms: tuple[str, ...] = ("claude-code", "counters", "bare", "bodies")
    fits: Callable[[LivedSession], bool] = lambda _: True
    """Whether a person would set it for this session."""


def _lifetimes(main: int | None, children: int | None) -> Change:
    def change(plan: Plan) -> Plan | None:
        old = plan.marks
        if not old.ttl:
            return None
        new = msgspec.structs.replace(
            old,
            ttl=old.ttl if main is None else main,
            subagent_ttl=old.subagent_ttl if children is None else children,
        )
        return None if new == old else msgspec.structs.replace(plan, marks=new)

    return change


def _marks(change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Change:
    def changed(plan: Plan) -> Plan | None:
        new = change(plan.marks.at)
        if new == plan.marks.at or not plan.marks.ttl:
            return None
        return msgspec.structs.replace(plan, marks=msgspec.structs.replace(plan.marks, at=new))

    return changed


def _harness(**fields: object) -> Change:
    def change(plan: Plan) -> Plan | None:
        harness = msgspec.structs.replace(plan.harness, **fields)
        return None if harness == plan.harness else msgspec.structs.replace(plan, harness=harness)

    return change


def _staggered(plan: Plan) -> Plan | None:
    style = msgspec.structs.replace(
        plan.harness.fan_out, mark=True, wait="first_token", wait_at_most=60 * 10**9, stagger=0
    )
    return _harness(fan_out=style)(plan)


def _prefix_summaries(plan: Plan) -> Plan | None:
    rule = plan.harness.compaction
    if rule is None or rule.method != "separate":
        return None
    return _harness(compaction=msgspec.structs.replace(rule, method="reuse_prefix"))(plan)


def _compacted_at(limit: int) -> Change:
    def change(plan: Plan) -> Plan | None:
        rule = plan.harness.compaction
        if rule is None or rule.trigger <= limit or rule.method != "reuse_prefix":
            return None
        return _harness(compaction=msgspec.structs.replace(rule, trigger=limit))(plan)

    return change


def _has_room(limit: int) -> Callable[[LivedSession], bool]:
    """Whether nobody would be told to compact there in vain: tools, system text and what is left of a history twice
    over are less, and no conversation begins with more."""

    def fits(lived: LivedSession) -> bool:
        lanes: set[str] = set()
        for request in lived.session.requests:
            prompt = request.prompt
            if prompt is None or request.lane in lanes:
                continue
            lanes.add(request.lane)
            forked = request.parent is not None
            if prompt.tokens_until(prompt.section_end("system")) + 2 * LEFT[-1] > limit:
                return False
            if not forked and prompt.tokens > limit:
                return False
        return True

    return fits


def _head_lives_long(request: Request) -> Request:
    """One hour for tools and system text, five minutes behind them."""
    prompt = request.prompt
    if prompt is None or not prompt.breakpoints:
        return request
    marks = [
        Breakpoint(m.position, SHORT if prompt[m.position].section == "messages" else LONG) for m in prompt.breakpoints
    ]
    return msgspec.structs.replace(request, prompt=prompt.with_breakpoints(marks))


def _same(plan: Plan) -> Plan:
    return plan


RERUNS: tuple[Rerun, ...] = (
    Rerun("ttl-5m", _lifetimes(SHORT, SHORT)),
    Rerun("ttl-1h", _lifetimes(LONG, LONG)),
    Rerun("ttl-lanes", _lifetimes(None, SHORT)),
    Rerun("ttl-main-1h", _lifetimes(LONG, SHORT)),
    Rerun("ttl-children-1h", _lifetimes(SHORT, LONG)),
    Rerun("ttl-split", _same, _head_lives_long, forms=("bodies",)),
    Rerun("keep-alive", _harness(keep_alive=KeepAlivePlan(preset="keep-alive"))),
    Rerun("keep-alive-priced", _harness(keep_alive=KeepAlivePlan(preset="keep-alive-priced"))),
    Rerun("keep-alive-three", _harness(keep_alive=KeepAlivePlan(preset="keep-alive-three"))),
    Rerun("keep-alive-steady", _harness(keep_alive=KeepAlivePlan(preset="keep-alive-steady"))),
    Rerun("keep-alive-hour", _harness(keep_alive=KeepAlivePlan(preset="keep-alive-hour"))),
    Rerun(
        "marker-previous",
        _marks(lambda at: at if "previous" in at else (*[m for m in at if m != "project"], "previous")),
        forms=("bodies",),
    ),
    Rerun("no-caching", _lifetimes(0, 0)),
    Rerun("stagger-fan-out", _staggered, forms=("bodies",)),
    Rerun("compact-warm", _prefix_summaries),
    Rerun("compact-earlier:at=100000", _compacted_at(100_000), fits=_has_room(100_000)),
    Rerun("compact-earlier:at=140000", _compacted_at(140_000), fits=_has_room(140_000)),
)
"""Every policy that the harness can follow."""
