"""Agents at a provider that keeps every prompt by itself, the rollouts that Codex would have kept, and bounds.

No policy can be simulated from a rollout: which front was kept where is not known. What ``compare`` tells are bounds.
Here they are held against agents that really lived with the change: each bound is an interval, and its sign is told
where both ends have it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentsim.core.session import Request
from agentsim.harness.plan import Plan
from agentsim.traces.format_registry import read
from agentsim.whatif.cache_bounds import DAY, LIMITS, bounds
from benchmarks.whatif.backtest_scores import Baseline, Prediction
from benchmarks.whatif.backtest_sessions import BacktestOrder, LivedSession, bill, live, logged, plan_of
from benchmarks.whatif.backtest_world import BacktestWorld
from benchmarks.whatif.hidden_facts import SECOND, HiddenFacts
from benchmarks.whatif.log_words import stamp, words

Json = dict[str, Any]
FORM = "codex"
MODEL = "gpt-5.1"
BEGINS = 1_772_000_000 * SECOND
"""February 2026: prompts stay in memory unless a request asks for a day."""


def codex_plan(plan: Plan) -> Plan:
    """The same agents with Codex's provider, without markers and without the helper of another provider."""
    rule = plan.harness.compaction
    if rule is not None:
        rule = msgspec.structs.replace(rule, method="reuse_prefix", model=None)
    harness = msgspec.structs.replace(plan.harness, helper=None, keep_alive=None, compaction=rule)
    marks = msgspec.structs.replace(plan.marks, ttl=0, subagent_ttl=0)
    return msgspec.structs.replace(
        plan, provider="openai", model=MODEL, start=BEGINS, settings=(), marks=marks, harness=harness
    )


def held(lived: LivedSession) -> tuple[Request, ...]:
    """The requests that rollouts of the main lanes hold."""
    return tuple(
        request
        for request in logged(lived)
        if request.purpose == "main" and "/" not in request.lane and request.stop_reason is not None
    )


def predictions_of(order: BacktestOrder, folder: Path) -> tuple[list[Prediction], Baseline]:
    """What the rollouts of one session bound, and what was true."""
    scene, plan = plan_of(order)
    plan = codex_plan(plan)
    lived = live(order, plan)
    paths = rollouts(lived, folder / f"{order.number:04d}.{FORM}")
    paid = bill(held(lived))
    name = f"{order.seed}/{order.number}"
    found = bounds(read(paths))
    if found is None or found.bill is None:
        return [], Baseline(name, FORM, paid, None, "no automatic cache")
    predictions: list[Prediction] = []
    for bound in found.bounds:
        change = CHANGES.get(bound.name)
        if change is None:
            continue
        other = change(order, plan)
        true = _paid(lived, bound.name) - _paid(other, bound.name)
        least, most = (0 if bound.least is None else bound.least), bound.most
        if bound.reason is not None or most is None:
            saving = low = high = None
        else:
            saving, low, high = (least + most) // 2, least, most
        told = low is not None and high is not None and (low > 0 or high < 0)
        predictions.append(
            Prediction(
                name, scene, FORM, bound.name, paid, true, saving, low, high, told=told, reason=bound.reason or ""
            )
        )
    return predictions, Baseline(name, FORM, paid, found.bill - paid)


def _paid(lived: LivedSession, change: str) -> int:
    mine = held(lived)
    known = {request.id for request in mine}
    first = min(request.start or 0 for request in mine)
    summaries = [
        request
        for request in lived.session.requests
        if request.purpose == "summary" and "/" not in request.lane and (request.start or 0) >= first
    ]
    return bill([*mine, *(r for r in summaries if r.id not in known)] if change.startswith("compact") else mine)


Change = Callable[[BacktestOrder, Plan], LivedSession]


def _kept_for(seconds: int, *, always_found: bool) -> Change:
    def change(order: BacktestOrder, plan: Plan) -> LivedSession:
        def world(facts: HiddenFacts) -> BacktestWorld:
            return BacktestWorld(facts, kept_for=seconds * SECOND, always_found=always_found)

        return live(order, plan, world=world)

    return change


def _compacted_at(limit: int) -> Change:
    def change(order: BacktestOrder, plan: Plan) -> LivedSession:
        rule = plan.harness.compaction
        if rule is None:
            return live(order, plan)
        rule = msgspec.structs.replace(rule, trigger=min(rule.trigger, limit))
        return live(
            order,
            msgspec.structs.replace(plan, harness=msgspec.structs.replace(plan.harness, compaction=rule)),
        )

    return change


CHANGES: dict[str, Change] = {
    "no-loss": _kept_for(365 * DAY, always_found=True),
    "retention": _kept_for(DAY, always_found=False),
    **{f"compact-{limit}": _compacted_at(limit) for limit in LIMITS},
}
"""How agents live with each change that is bounded."""


# --- what Codex writes ------------------------------------------------------------------------------------------------


def rollouts(lived: LivedSession, folder: Path) -> list[str]:
    """Write a rollout for each main lane. Returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for lane in dict.fromkeys(request.lane for request in held(lived)):
        requests = [request for request in held(lived) if request.lane == lane]
        path = folder / f"rollout-{lane}.jsonl"
        lines = _lines(lived, lane, requests)
        path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines), encoding="utf-8")
        paths.append(str(path))
    return paths


def _lines(lived: LivedSession, lane: str, requests: Sequence[Request]) -> list[Json]:
    lines: list[Json] = []

    def add(at: int, kind: str, payload: Json) -> None:
        lines.append({"timestamp": stamp(at), "type": kind, "payload": payload})

    begun = (requests[0].start or 0) - SECOND // 2
    meta = {"id": f"{lived.session.id}-{lane}", "timestamp": stamp(begun), "cwd": "/home/user/project"}
    meta |= {"originator": "codex-tui", "cli_version": "0.140.0", "source": "cli", "model_provider": "openai"}
    add(begun, "session_meta", {**meta, "base_instructions": {"text": "You are a coding agent."}})
    add(begun, "turn_context", {"cwd": "/home/user/project", "model": requests[0].model})
    compacted = {event.before for event in lived.session.events if event.kind == "compaction"}
    before: Request | None = None
    totals = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens"), 0)
    for request in requests:
        at = (request.start or 0) - SECOND // 100
        if request.id in compacted:
            add(at, "compacted", {"message": "A summary."})
        for item in _items(request, None if request.id in compacted else before):
            add(at, "response_item", item)
        usage = request.usage
        assert usage is not None
        count, output = usage.total_input or 0, usage.output or 0
        last = {"input_tokens": count, "cached_input_tokens": usage.read or 0, "output_tokens": output}
        last |= {"reasoning_output_tokens": 0, "total_tokens": count + output}
        totals = {name: total + last[name] for name, total in totals.items()}
        info = {"total_token_usage": totals, "last_token_usage": last, "model_context_window": 258_400}
        add(request.end or 0, "event_msg", {"type": "token_count", "info": info, "rate_limits": None})
        before = request
    return lines


def _items(request: Request, before: Request | None) -> list[Json]:
    """What came to the conversation since the request before."""
    prompt = request.prompt
    assert prompt is not None
    start = prompt.section_end("system")
    if before is not None and before.prompt is not None:
        start = max(start, before.prompt.common_length(prompt))
    items: list[Json] = []
    for place in range(start, len(prompt)):
        block = prompt[place]
        call, text = f"call_{request.id}_{place}", words(block.tokens or 0)
        if block.kind == "tool_use":
            items.append(
                {"type": "function_call", "name": "shell", "arguments": json.dumps({"c": text}), "call_id": call}
            )
        elif block.kind == "tool_result":
            items.append({"type": "function_call_output", "call_id": call, "output": text})
        else:
            role = "assistant" if block.role == "assistant" else "user"
            kind = "output_text" if role == "assistant" else "input_text"
            items.append({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
    return items
