"""ATIF trajectories (Harbor, terminal-bench): one JSON document for a run of an agent, its steps with their metrics.

Usage convention: ``prompt_tokens`` includes cached tokens (checked: what is left is not negative). Tokens written to a
cache stand in ``metrics.extra``, if anywhere. A step's time is taken as the end of its call. Sums of the run in
``final_metrics`` that differ from the steps' are told. Subagents that stand in the document are lanes of their own.
Other files of the same run may hold the agent's own log, which tells more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from agentsim.bodies.input_conventions import input_includes_cached
from agentsim.bodies.openai_usage import logged_picodollars
from agentsim.bodies.serving_provider import provider_of
from agentsim.core.session import Problem, Request, Session, Source
from agentsim.core.strict_decoding import BadRow, Count, counter, decode
from agentsim.traces.json_documents import read_document
from agentsim.traces.session_assembly import MAIN, Assembly, read_each
from agentsim.traces.time_stamps import nanoseconds

NAME = "atif"
DESCRIPTION = "ATIF trajectories of Harbor and terminal-bench (from descriptions)"
VERIFIED = False

WRITES = ("cache_creation_input_tokens", "cache_write_tokens", "cache_creation_tokens")
DEEPEST = 8


class _Metrics(msgspec.Struct, gc=False):
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cached_tokens: Count | None = None
    cost_usd: msgspec.Raw = msgspec.Raw(b"")
    extra: dict[str, Any] | None = None


class _Step(msgspec.Struct, gc=False):
    step_id: int | str | None = None
    timestamp: str | None = None
    source: str | None = None
    model_name: str | None = None
    metrics: _Metrics | None = None
    is_copied_context: bool | None = None


class _Agent(msgspec.Struct, gc=False):
    name: str | None = None
    version: str | None = None
    model_name: str | None = None


class _Final(msgspec.Struct, gc=False):
    total_prompt_tokens: Count | None = None
    total_completion_tokens: Count | None = None
    total_cached_tokens: Count | None = None


class _Trajectory(msgspec.Struct, gc=False):
    schema_version: str
    steps: list[msgspec.Raw]
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: _Agent | None = None
    final_metrics: _Final | None = None
    subagent_trajectories: list[msgspec.Raw] = []


_trajectories = msgspec.json.Decoder(_Trajectory)
_steps = msgspec.json.Decoder(_Step)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like a trajectory."""
    return head.lstrip().startswith(b"{") and b'"ATIF-v' in head[:8192] and b'"schema_version"' in head[:8192]


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file. The line of a source is the number of the step. What is wrong with a file is told in
    ``problems``; without that list OSError is raised for it."""
    yield from read_each(paths, problems, _session, "step of an agent with its metrics")


def _session(path: str) -> Session:
    trajectory = read_document(path, _trajectories)
    assembly = Assembly.of_file(path, NAME, trajectory.session_id)
    agent = trajectory.agent or _Agent()
    assembly.harness = agent.name
    _take(trajectory, MAIN, path, assembly, DEEPEST)
    _compare(trajectory.final_metrics or _Final(), assembly)
    return assembly.build("usage")


def _take(trajectory: _Trajectory, lane: str, path: str, assembly: Assembly, depth: int) -> None:
    tally = assembly.tally
    agent = trajectory.agent or _Agent()
    for number, raw in enumerate(trajectory.steps, 1):
        tally.rows += 1
        try:
            step = decode(_steps, raw)
            if step.source == "user" and lane == MAIN:
                assembly.note("prompt_submitted", nanoseconds(step.timestamp))
            if step.metrics is None or step.metrics.prompt_tokens is None:
                tally.not_billable += 1
                continue
            model = step.model_name or agent.model_name or ""
            assembly.add(
                Request(
                    id=f"{lane}#{step.step_id if step.step_id is not None else number}",
                    lane=lane,
                    model=model.rpartition("/")[2],
                    provider=provider_of(model=model),
                    start=None,
                    end=nanoseconds(step.timestamp),
                    usage=input_includes_cached(
                        step.metrics.prompt_tokens,
                        step.metrics.cached_tokens,
                        _written(step.metrics.extra or {}),
                        step.metrics.completion_tokens,
                    ),
                    logged_cost=logged_picodollars(step.metrics.cost_usd),
                    harness_version=agent.version,
                    counted=not step.is_copied_context,
                    source=Source(path, number),
                )
            )
        except BadRow as bad:
            tally.skip(number, bad)
    for number, raw in enumerate(trajectory.subagent_trajectories if depth else (), 1):
        try:
            inner = decode(_trajectories, raw)
        except BadRow as bad:
            tally.rows += 1
            tally.skip(0, bad)
            continue
        name = inner.trajectory_id or inner.session_id or f"{number}"
        title = (inner.agent.name if inner.agent is not None else None) or name
        below = assembly.lane(f"{lane}/{name}", title=title, purpose="subagent", parent=lane)
        _take(inner, below, path, assembly, depth - 1)


def _written(extra: dict[str, Any]) -> int | None:
    return next((counter(extra[name], f"metrics.extra.{name}") for name in WRITES if extra.get(name) is not None), None)


def _compare(final: _Final, assembly: Assembly) -> None:
    """Tell where the run's own sums say something else than its steps: calls may be missing from the steps."""
    usages = [request.usage for request in assembly.requests if request.usage is not None and request.counted]
    pairs = (
        ("prompt", final.total_prompt_tokens, sum(usage.total_input or 0 for usage in usages)),
        ("completion", final.total_completion_tokens, sum(usage.output or 0 for usage in usages)),
        ("cached", final.total_cached_tokens, sum(usage.read or 0 for usage in usages)),
    )
    for name, stated, summed in pairs:
        if stated is not None and stated != summed and usages:
            assembly.tally.problems.append(
                Problem(
                    file=assembly.tally.file,
                    line=0,
                    note=True,
                    reason=f"final_metrics states {stated} {name} tokens, the steps add up to {summed}",
                    remedy="the steps are counted; the agent's own log may hold the other calls",
                )
            )
