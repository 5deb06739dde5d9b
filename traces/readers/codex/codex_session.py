"""Sessions from rollouts: threads with their subagents as lanes, and each call counted once."""

from __future__ import annotations

from collections.abc import Iterable

from agentsim.core.dates import SECOND
from agentsim.core.session import Event, Problem, Request, Session, Source
from agentsim.traces.hostile_records import Tally
from agentsim.traces.readers.codex.codex_rollout import CodexCall, Rollout, usage_of
from agentsim.traces.session_assembly import MAIN, Assembly, build_all, effort_setting, stem

FORMAT = "codex"


SURE_COPIES = 3
"""So many calls with equal counters at the beginning of two threads are a copy, though neither names the other."""


def sessions_of(rollouts: Iterable[Rollout], problems: list[Problem] | None) -> list[Session]:
    """The sessions that these threads make up. A call that stands in several belongs to the thread that began first."""
    ordered = sorted(rollouts, key=_order)
    for rollout in ordered:
        rollout.id = rollout.id or stem(rollout.path)
    relatives = {rollout.id: rollout.parents for rollout in ordered}
    roots = {rollout.id: _root(rollout, ordered) for rollout in ordered}
    built: dict[str, Assembly] = {}
    owners: dict[bytes, str] = {}
    for rollout in _parents_first(ordered):
        root = roots[rollout.id]
        assembly = built.get(root)
        if assembly is None:
            assembly = built[root] = Assembly(root, FORMAT, Tally(rollout.path))
            assembly.harness = "codex"
        _put(rollout, assembly, owners, relatives)
    return build_all(built.values(), "call with its usage", problems)


def _order(rollout: Rollout) -> tuple[bool, int, bool, int, str]:
    """The thread that began first; of two files of one thread the active one, then the longer one."""
    created = rollout.created
    return (created is None, created or 0, "archived_sessions" in rollout.path, -len(rollout.calls), rollout.path)


def _parents_first(ordered: list[Rollout]) -> list[Rollout]:
    """A thread after those that it names as its origin, whatever their times say."""
    by_id: dict[str, list[Rollout]] = {}
    for rollout in ordered:
        by_id.setdefault(rollout.id, []).append(rollout)
    result: list[Rollout] = []
    placed: set[str] = set()
    for first in ordered:
        line = [first.id]
        while line:
            id = line[-1]
            waiting = [
                parent
                for rollout in by_id[id]
                for parent in rollout.parents
                if parent in by_id and parent not in placed and parent not in line
            ]
            if waiting:
                line.append(waiting[0])
                continue
            line.pop()
            if id not in placed:
                placed.add(id)
                result += by_id[id]
    return result


def _root(rollout: Rollout, all_rollouts: list[Rollout]) -> str:
    """The session of a thread: its own, or of a subagent that of the thread which started it."""
    by_id = {other.id: other for other in reversed(all_rollouts)}
    seen = {rollout.id}
    while rollout.spawn is not None:
        parent = next((name for name in reversed(rollout.parents) if name in by_id and name not in seen), None)
        if parent is None:
            break
        seen.add(parent)
        rollout = by_id[parent]
    return rollout.id


def _put(rollout: Rollout, assembly: Assembly, owners: dict[bytes, str], relatives: dict[str, tuple[str, ...]]) -> None:
    tally, mine = assembly.tally, rollout.tally
    tally.rows += mine.rows
    tally.duplicate += mine.duplicate
    tally.not_billable += mine.not_billable
    for reason, count in mine.skipped.items():
        tally.skipped[reason] = tally.skipped.get(reason, 0) + count
    tally.problems += mine.problems
    if rollout.path not in assembly.files:
        assembly.files.append(rollout.path)
    lane = _lane(rollout, assembly)
    known = _known(rollout, owners)
    if known and owners[rollout.calls[0].chain] == rollout.id:
        # Another file of the same thread, active or archived: what it repeats is no context of anything.
        tally.duplicate += known
        _add(rollout, known, rollout.calls[known:], assembly, lane)
        return
    copies = known if known >= SURE_COPIES or _related(rollout, owners, relatives) else 0
    if rollout.parents:
        copies = max(copies, _inherited(rollout))
        if not copies and not any(parent in relatives for parent in rollout.parents):
            tally.problems.append(
                Problem(
                    file=rollout.path,
                    line=1,
                    reason="the thread it was forked from is not here; a copy of its calls would be counted",
                    remedy="read the parent's rollout together with this one",
                )
            )
    for call in rollout.calls:
        owners.setdefault(call.chain, rollout.id)
    _add(rollout, copies, rollout.calls, assembly, lane)


def _known(rollout: Rollout, owners: dict[bytes, str]) -> int:
    """How many calls at its beginning were read before, in whatever thread."""
    for index, call in enumerate(rollout.calls):
        if call.chain not in owners:
            return index
    return len(rollout.calls)


def _related(rollout: Rollout, owners: dict[bytes, str], relatives: dict[str, tuple[str, ...]]) -> bool:
    """Whether the thread that owns its first call is its origin, or has the same one."""
    owner = owners.get(rollout.calls[0].chain) if rollout.calls else None
    if owner is None:
        return False
    return owner in rollout.parents or not set(rollout.parents).isdisjoint(relatives.get(owner, ()))


def _inherited(rollout: Rollout) -> int:
    """How many calls at its beginning cannot be its own, judging by itself: they stand in the part that it declares to
    be history, or had ended when the thread had existed for less than a second."""
    count = 0
    for call in rollout.calls:
        early = rollout.created is not None and call.end is not None and call.end < rollout.created + SECOND
        if not (call.inherited or early):
            break
        count += 1
    return count


def _add(rollout: Rollout, copies: int, calls: list[CodexCall], assembly: Assembly, lane: str) -> None:
    first = len(rollout.calls) - len(calls)
    for index, call in enumerate(calls, first):
        request = Request(
            id=call.response_id or f"{rollout.id}#{index + 1}",
            lane=lane,
            model=call.model,
            start=call.start,
            end=call.end,
            provider=call.provider,
            purpose="summary" if call.summarises else "main",
            settings=effort_setting(call.effort),
            usage=usage_of(call.counters),
            harness_version=call.version,
            counted=index >= copies,
            source=Source(rollout.path, call.line),
        )
        assembly.add(request, events=[Event(kind=k, time=t, lane=lane, detail=d) for k, t, d in call.events])


def _lane(rollout: Rollout, assembly: Assembly) -> str:
    if rollout.spawn is None:
        return assembly.lane(MAIN)
    name = rollout.spawn.agent_nickname or rollout.spawn.agent_role
    title = f"subagent {name}" if name else "subagent"
    if rollout.id == assembly.id:
        return assembly.lane(MAIN, title=title, purpose="subagent")
    return assembly.lane(f"subagent {rollout.id}", title=title, purpose="subagent", parent=MAIN)
