"""What the terms of a verdict are called on a screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agentsim.core.session import ASIDE, EventKind, Lane, Purpose, Request, Session
from agentsim.core.verdict import Change, Divergence, Evidence, Kind, Verdict
from agentsim.report.paper import Span, Style

if TYPE_CHECKING:
    from agentsim.diagnose.harness_settings import HarnessSetting

RECORD = "to record"
"""The label of how to record what a harness sends."""

KINDS: dict[Kind, Span] = {
    "first": ("first request", Style.FAINT),
    "hit": ("hit", Style.GOOD),
    "extended": ("hit, extended", Style.GOOD),
    "shorter": ("shorter prompt", Style.GOOD),
    "recovered": ("recovered", Style.GOOD),
    "compaction": ("compaction", Style.FAINT),
    "miss": ("MISS", Style.BAD),
    "uncached": ("not cached", Style.WARN),
    "unreported": ("no counters", Style.FAINT),
}

EVIDENCE: dict[Evidence, str] = {
    "provider": "the provider said so",
    "harness": "the harness said so",
    "proved": "proved by the bodies",
    "implied": "implied by the rows",
    "likely": "likely, not proved",
    "unexplained": "unexplained",
}

CHANGES: dict[Change, str] = {
    "inserted": "inserted",
    "removed": "removed",
    "reordered": "moved",
    "edited": "edited",
    "truncated": "cut off",
    "cleared": "cleared",
    "volatile": "holds text that changes by itself",
    "key_order": "only the order of keys differs",
    "whitespace": "only white space differs",
    "shape": "written in another shape",
}

EVENTS: dict[EventKind, str] = {
    "compaction": "history compacted",
    "clearing": "old results cleared",
    "model_change": "model changed",
    "effort_change": "effort changed",
    "version_change": "harness upgraded",
    "resume": "resumed",
    "rewind": "went back to an earlier point",
    "tools_delta": "tools came or went",
    "instructions_delta": "instructions came or went",
    "api_error": "API error",
    "interrupted": "reply interrupted",
    "limit": "usage limit reached",
    "prompt_submitted": "prompt",
    "tool_results": "tools answered",
    "skill_use": "skill loaded",
    "skills_delta": "skills or agents announced",
    "mode_change": "mode changed",
    "folder_change": "another folder",
    "instructions_edit": "file of instructions loaded or edited",
    "hook_output": "hook added to the prompt",
}

QUIET_EVENTS: frozenset[EventKind] = ASIDE | {"prompt_submitted"}
"""Events that are no news in a table of requests."""

PURPOSES: dict[Purpose, str] = {
    "main": "main",
    "subagent": "sub",
    "summary": "summary",
    "keep_alive": "keep-alive",
    "retry": "retry",
    "probe": "probe",
    "helper": "helper",
}


def cause_title(code: str) -> str:
    """The short title of a cause; empty for a code that is not known."""
    from agentsim.diagnose.cause_registry import cause

    try:
        return cause(code).title
    except KeyError:
        return ""


def advice_on(verdict: Verdict, request: Request, session: Session) -> list[tuple[str, str]]:
    """What to do about a row, as labels and texts: what the log points to, the fix, how to record what is missing."""
    from agentsim.diagnose.harness_settings import recipe_for, settings_of, suspects_of

    if verdict.kind != "miss":
        return [("fix", verdict.fix)] if verdict.fix else []
    lines = [("suspect", text) for text in suspects_of(verdict, session)]
    fix = fix_for(verdict, settings_of(verdict, request, session.harness))
    lines += [("fix", fix)] if fix else []
    recipe = recipe_for(verdict, session.harness)
    return [*lines, (RECORD, recipe)] if recipe and session.completeness != "full" else lines


def fix_for(verdict: Verdict, settings: Sequence[HarnessSetting] = ()) -> str | None:
    """What to do: the fix that a verdict names and the first of the harness's settings, or else the one that its cause
    has in general."""
    words = [text for text in (verdict.fix, settings[0].words if settings else None) if text]
    if words or not verdict.cause:
        return " ".join(words) or None
    from agentsim.diagnose.cause_registry import cause

    try:
        return cause(verdict.cause).fix
    except KeyError:
        return None


def headline(verdict: Verdict) -> str:
    """The cause and what it rests on, in words."""
    title = cause_title(verdict.cause) if verdict.cause else ""
    title = title or verdict.cause or "Cause unknown"
    if verdict.evidence is None or verdict.evidence == "unexplained":
        return title
    return f"{title} ({EVIDENCE[verdict.evidence]})"


def where(place: Divergence) -> str:
    """The place where two prompts part, in words: ``tools[7] db_query inserted``."""
    words = [place.address or (f"{place.section}, block {place.block}" if place.block is not None else place.section)]
    words.append(place.name)
    if place.change is not None:
        words.append(CHANGES[place.change])
    text = " ".join(word for word in words if word)
    if place.offset is not None:
        text += f", from character {place.offset:,} on"
        if place.changed_characters is not None:
            text += f" ({place.changed_characters:,} changed)"
    return text


def lane_names(lanes: Iterable[Lane]) -> dict[str, str]:
    """Short names of lanes in the order they began: ``main``, ``sub 1``, ``sub 2``."""
    lanes = list(lanes)
    totals: dict[str, int] = {}
    for lane in lanes:
        totals[lane.purpose] = totals.get(lane.purpose, 0) + 1
    seen: dict[str, int] = {}
    names = {}
    for lane in lanes:
        seen[lane.purpose] = seen.get(lane.purpose, 0) + 1
        name = PURPOSES.get(lane.purpose, lane.purpose)
        names[lane.id] = name if totals[lane.purpose] == 1 else f"{name} {seen[lane.purpose]}"
    return names
