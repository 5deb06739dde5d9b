"""Calls of a Claude Code log as requests of the vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agentsim.bodies.messages_usage import SentUsage, diagnosis_of, usage_of
from agentsim.core.session import Event, Request, Source, Usage
from agentsim.traces.readers.claude_code.claude_calls import ClaudeCall
from agentsim.traces.readers.claude_code.claude_conversation import ClaudeConversation
from agentsim.traces.readers.claude_code.claude_steps import CallStep
from agentsim.traces.time_stamps import nanoseconds

HARNESS = "claude-code"


def request_of(
    unit: ClaudeConversation,
    call: ClaudeCall,
    step: CallStep,
    lane: str = "",
    counted: bool = True,
    names: Mapping[tuple[str, str], str] = MappingProxyType({}),
) -> Request:
    """A call as a request of the vocabulary. ``names`` are ids that differ from the calls' own."""
    end = nanoseconds(call.end)
    start = nanoseconds(step.start)
    if start is not None and end is not None and start > end:
        start = end
    usage = call.usage
    iterations = usage.iterations or ()
    return Request(
        id=names.get(call.key) or request_id(call),
        lane=lane,
        model=call.model,
        parent=(names.get(step.parent.key) or request_id(step.parent)) if step.parent is not None else None,
        start=start,
        end=end,
        settings=_settings(call, step.images),
        usage=usage_of(usage) if call.measured else _unmeasured(usage),
        iterations=tuple(usage_of(item) for item in iterations) if len(iterations) > 1 else (),
        diagnosis=diagnosis_of(call.diagnostics),
        stop_reason=call.stop_reason,
        service_tier=usage.service_tier,
        speed=usage.speed,
        region=usage.inference_geo,
        harness_version=call.version,
        appended_blocks=step.appended,
        output_final=output_is_final(call),
        counted=counted,
        source=Source(unit.files[call.file], call.line),
    )


def _settings(call: ClaudeCall, images: bool) -> tuple[tuple[str, str], ...]:
    effort = (("effort", f'"{call.effort}"'),) if call.effort else ()
    return (*effort, ("images_present", "true")) if images else effort


def events_of(step: CallStep, request: Request) -> list[Event]:
    """What the log tells that happened before a call was sent."""
    return [
        Event(kind=kind, time=nanoseconds(stamp), lane=request.lane, before=request.id, detail=detail)
        for kind, stamp, detail in step.events
    ]


def request_id(call: ClaudeCall) -> str:
    """The name of a call's request: its message id, or what stands for it where a log has none."""
    return call.key[0] or call.key[1]


def _unmeasured(usage: SentUsage) -> Usage:
    """Counters that are all zero were not measured: a local server or a gateway fills them in."""
    known = usage.input_tokens or usage.cache_read_input_tokens or usage.cache_creation_input_tokens
    return Usage(fresh=usage.input_tokens if known else None, output=usage.output_tokens)


def output_is_final(call: ClaudeCall) -> bool:
    """False where the log kept only the placeholder that a stream begins with: no line knows how the reply stopped."""
    return call.stop_reason is not None
