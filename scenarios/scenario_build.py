"""A scenario file as the plan that the harness simulates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec

from agentsim.core.dates import SECOND
from agentsim.harness.agent_steps import (
    ChangeSettings,
    Child,
    Compact,
    FanOut,
    LoadTool,
    Restart,
    Round,
    Send,
    Step,
    ToolCall,
    Tools,
    User,
    Wait,
    WordsReply,
    WrittenBlock,
)
from agentsim.harness.plan import (
    CallStyle,
    Clearing,
    Compaction,
    Failures,
    FanOutStyle,
    Harness,
    Helper,
    KeepAlivePlan,
    Marks,
    Plan,
    Population,
    PromptLayout,
    Service,
    StepSource,
    ToolLoading,
)
from agentsim.harness.prompt_part import PromptPart
from agentsim.harness.step_sources import Delegation, GeneratedTasks, ScriptedSteps
from agentsim.scenarios import scenario_schema, scenario_steps
from agentsim.scenarios.scenario_numbers import whole

MILLION = 1_000_000


def plan_of(scenario: scenario_schema.ScenarioFile, name: str, seed: int | None = None) -> Plan:
    """The plan of a scenario, under another seed where one is given."""
    model, prompt = scenario.model, scenario.prompt
    start = int(scenario.start.timestamp()) * SECOND + scenario.start.microsecond * 1_000
    return Plan(
        name=name,
        source=_source(scenario),
        model=model.name,
        provider=model.provider,
        seed=scenario.seed if seed is None else seed,
        start=start,
        layout=_layout(prompt),
        subagent_layout=None if scenario.subagents is None else _layout(scenario.subagents, "subagent "),
        marks=Marks(
            at=tuple(prompt.marks),
            ttl=prompt.ttl,
            subagent_ttl=prompt.ttl if prompt.subagent_ttl is None else prompt.subagent_ttl,
        ),
        service=_service(scenario.service),
        harness=_harness(scenario.harness),
        failures=None if scenario.failures is None else _failures(scenario.failures),
        population=Population(agents=scenario.agents.count, gap=scenario.agents.gap.draw(SECOND)),
        settings=tuple(sorted((key, _json(value)) for key, value in model.settings.items())),
        window=model.window,
        passes=None if scenario.outcome is None else whole(scenario.outcome.pass_rate, MILLION),
        title=next(iter(scenario.story.strip().splitlines()), None),
    )


def _layout(prompt: scenario_schema.PromptTable, prefix: str = "") -> PromptLayout:
    return PromptLayout(
        tools=_parts(prompt.tools, prefix + "tool"),
        system=_parts(prompt.system, prefix + "system"),
        project=_parts(prompt.project, "project"),
    )


def _parts(parts: scenario_schema.Parts, kind: str) -> tuple[PromptPart, ...]:
    if isinstance(parts, scenario_schema.Several):
        return tuple(PromptPart(f"{kind} {number}", parts.tokens) for number in range(1, parts.count + 1))
    return tuple(PromptPart(part.name, part.tokens) for part in parts)


def _service(service: scenario_schema.ServiceTable) -> Service:
    return Service(
        first_token=service.first_token.draw(SECOND),
        uncached_rate=service.uncached_rate,
        output_rate=service.output_rate,
    )


def _harness(harness: scenario_schema.HarnessTable) -> Harness:
    tools, calls, fan_out, helper = harness.tools, harness.calls, harness.fan_out, harness.helper
    compaction = None if harness.compaction == "off" else harness.compaction
    clearing = None if harness.clearing == "off" else harness.clearing
    return Harness(
        tools=ToolLoading(
            strategy=tools.strategy,
            placeholder=tools.placeholder,
            scaffolding=tools.scaffolding,
            search_tool=tools.search_tool,
            call_tool=tools.call_tool,
            search=tools.search,
            catalogue=_parts(tools.catalogue, "catalogue tool"),
        ),
        calls=CallStyle(style=calls.style, script=calls.script.draw(), selected=calls.selected.draw()),
        fan_out=FanOutStyle(
            fork=fan_out.fork,
            mark=fan_out.mark,
            wait=fan_out.wait,
            wait_at_most=_time(fan_out.wait_at_most),
            stagger=whole(fan_out.stagger, SECOND),
            limit=fan_out.limit,
            model=fan_out.model,
        ),
        compaction=None
        if compaction is None
        else Compaction(
            method=compaction.method,
            trigger=compaction.trigger,
            keep=compaction.keep,
            summary=compaction.summary.draw(),
            instruction=compaction.instruction,
            system=compaction.system,
            transcript=whole(compaction.transcript, MILLION),
            model=compaction.model,
        ),
        clearing=None if clearing is None else Clearing(**msgspec.structs.asdict(clearing)),
        keep_alive=None if harness.keep_alive == "off" else KeepAlivePlan(preset=harness.keep_alive),
        helper=None
        if helper is None
        else Helper(
            model=helper.model, tokens=helper.tokens, output=helper.output, seconds=whole(helper.seconds, SECOND)
        ),
    )


def _failures(rule: scenario_schema.FailuresTable) -> Failures:
    return Failures(
        rate_limited=whole(rule.rate_limited, MILLION),
        overloaded=whole(rule.overloaded, MILLION),
        timed_out=whole(rule.timed_out, MILLION),
        retry_after=rule.retry_after.draw(SECOND),
        backoff=whole(rule.backoff, SECOND),
        timeout=whole(rule.timeout, SECOND),
        attempts=rule.attempts,
        retry=rule.retry,
    )


def _source(scenario: scenario_schema.ScenarioFile) -> StepSource:
    if scenario.script is not None:
        return ScriptedSteps(steps_of(scenario.script))
    task = scenario.task
    assert task is not None
    hands = task.delegation
    return GeneratedTasks(
        turns=task.turns.draw(),
        prompt=task.prompt.draw(),
        rounds=task.rounds.draw(),
        thinking=task.thinking.draw(),
        text=task.text.draw(),
        calls=task.calls.draw(),
        call=task.call.draw(),
        result=task.result.draw(),
        tool_time=task.tool_time.draw(SECOND),
        reply=task.reply.draw(),
        pause=task.pause.draw(SECOND),
        delegation=None
        if hands is None
        else Delegation(
            chance=whole(hands.chance, MILLION),
            children=hands.children.draw(),
            rounds=hands.rounds.draw(),
            brief=PromptPart("brief", hands.brief) if hands.brief else None,
            own=hands.own.draw(),
            reply=hands.reply.draw(),
            alike=hands.alike,
        ),
        extra=tuple((int(turn), steps_of(written)) for turn, written in task.before_turn.items()),
    )


def steps_of(written: Sequence[scenario_steps.StepTable]) -> tuple[Step, ...]:
    """The steps of a script."""
    return tuple(_step(step) for step in written for _ in range(step.times))


def _step(step: scenario_steps.StepTable) -> Step:
    match step:
        case scenario_steps.UserStep():
            return User(blocks=(step.tokens,) * step.blocks, pause=whole(step.pause, SECOND))
        case scenario_steps.RoundStep():
            one = scenario_steps.CallTable(call=step.call, result=step.result, tool_time=step.tool_time)
            calls = (one,) if step.calls is None else step.calls
            return Round(
                calls=tuple(_call(call) for call in calls),
                style=step.style,
                text=step.text,
                thinking=step.thinking,
                took=_time(step.took),
                first_token=_time(step.first_token),
            )
        case scenario_steps.ReplyStep():
            return WordsReply(
                text=step.text, thinking=step.thinking, took=_time(step.took), first_token=_time(step.first_token)
            )
        case scenario_steps.FanOutStep():
            return FanOut(
                children=tuple(_child(step, child) for child in step.children),
                model=step.model,
                text=step.text,
                shared=tuple(PromptPart(part.name, part.tokens) for part in step.shared),
                rounds=_rounds(step),
                reply=step.reply,
                took=_time(step.took),
                first_token=_time(step.first_token),
                child_took=_time(step.child_took),
                pause=whole(step.pause, SECOND),
            )
        case scenario_steps.LoadStep():
            return LoadTool(name=step.name, tokens=step.tokens, after=step.after)
        case scenario_steps.ToolsStep():
            return Tools(insert=step.insert, tokens=step.tokens, after=step.after, remove=step.remove)
        case scenario_steps.SettingsStep():
            values: list[tuple[str, str | None]] = [(name, _json(value)) for name, value in step.values.items()]
            values += [(name, None) for name in step.unset]
            return ChangeSettings(values=tuple(values), model=step.model)
        case scenario_steps.RestartStep():
            return Restart(pause=whole(step.pause, SECOND), version=step.version, same_prefix=step.same_prefix)
        case scenario_steps.CompactStep():
            return Compact()
        case scenario_steps.WaitStep():
            return Wait(whole(step.pause, SECOND))
        case scenario_steps.SendStep():
            return Send(
                pieces=tuple(
                    WrittenBlock(name=piece.name, tokens=piece.tokens, section=piece.section, mark=piece.mark)
                    for piece in step.prompt
                ),
                output=step.output,
                pause=whole(step.pause, SECOND),
                took=_time(step.took),
                first_token=_time(step.first_token),
                stop_unless_read=step.stop_unless_read,
            )


def _child(step: scenario_steps.FanOutStep, child: scenario_steps.ChildTable) -> Child:
    """What a subagent does: what it says itself, and else what the fan-out does."""
    names = ("rounds", "round_text", "call", "result", "tool_time", "reply")
    own = {name: value for name in names if (value := getattr(child, name)) is not None}
    work = msgspec.structs.replace(step, **own)
    steps = _rounds(work) if child.steps is None else steps_of(child.steps)
    return Child(own=child.tokens, steps=steps, reply=work.reply, model=child.model)


def _rounds(work: scenario_steps.FanOutStep) -> tuple[Round, ...]:
    one = ToolCall(tokens=work.call, result=work.result, took=whole(work.tool_time, SECOND))
    return (Round(calls=(one,), text=work.round_text),) * work.rounds


def _call(call: scenario_steps.CallTable) -> ToolCall:
    return ToolCall(tokens=call.call, result=call.result, took=whole(call.tool_time, SECOND), name=call.name)


def _time(seconds: Decimal | None) -> int | None:
    return None if seconds is None else whole(seconds, SECOND)


def _json(value: Any) -> str:
    """Canonical JSON text, as the settings of a recorded request have it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
