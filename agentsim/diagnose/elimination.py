"""Why a row without bodies lost its prefix: every cause is a hypothesis, and the numbers eliminate.

A hypothesis is *sufficient* when it alone explains the loss and the log bears it out; *excluded* when the numbers rule
it out; otherwise it stays possible. The provider's own word, where there is one, decides before all of this.
"""

from __future__ import annotations

from typing import NamedTuple

from agentsim.core.verdict import Evidence
from agentsim.diagnose.host_change import moved_hosts
from agentsim.diagnose.row_facts import FIVE_MINUTES, ONE_HOUR, LaneMemory, RowFacts

SECOND = 10**9


class LifetimeClock(NamedTuple):
    """How lifetimes are counted: from the start of the request that last used an entry, or from the end of its
    response; and for how many seconds after a short or a long lifetime an entry may still be found."""

    from_end: bool
    grace: int
    grace_long: int


# The figures of agentsim/rules/providers/anthropic.toml, where their sources stand; a test compares the two. Reading
# that file # takes longer than summing up a small log.
DOCUMENTED_CLOCK = LifetimeClock(from_end=False, grace=0, grace_long=0)
"""Provider documentation: from the start of the request."""

OBSERVED_CLOCK = LifetimeClock(from_end=True, grace=30, grace_long=50)
"""Session logs: entries were read up to 320 s, or 3,650 s, after the response before had ended."""


class Elimination(NamedTuple):
    """The outcome: a cause code, what it rests on, what else it may be, and sentences for people."""

    cause: str
    evidence: Evidence
    alternatives: tuple[str, ...]
    established: list[str]
    to_check: list[str]


PROVIDER_CAUSES = {
    "model_changed": "AS404",
    "system_changed": "AS112",
    "tools_changed": "AS105",
    "messages_changed": "AS130",
    "unavailable": "AS407",
    "prompt_cache_key_changed": "AS503",
    "text_format_changed": "AS407",
    "reasoning_effort_changed": "AS403",
    "verbosity_changed": "AS407",
    "service_tier_changed": "AS407",
    "context_compacted": "AS131",
    "input_changed": "AS190",
}

_FRONT = ("AS105", "AS112", "AS407", "AS401", "AS402", "AS403", "AS503")
_BODY = ("AS130", "AS407", "AS401", "AS402", "AS403", "AS405", "AS503")


_EITHER = ("AS130", "AS112", "AS105", *_BODY[1:])
_REACHED = {
    "entry": _BODY,
    "tools and system": _BODY,
    "head": _EITHER,
    "inside": _EITHER,
    "floor": (*_FRONT[:2], "AS130", *_FRONT[2:]),
}
"""What may have changed, by how far the read reached; the front alone leaves tools, system and parameters."""


def expiry(row: RowFacts, clock: LifetimeClock) -> tuple[str, str | None]:
    """Whether the parent's entry had run out when the row was sent: ``("no" | "edge" | "yes" | "unknown",
    sentence)``. Where the provider publishes no fixed lifetime it is unknown, and the sentence says so."""
    parent = row.parent
    if parent is None:
        return "unknown", None
    ttl = parent.ttl or FIVE_MINUTES
    since_start = _seconds(row.start, parent.start)
    since_end = _seconds(row.start, parent.end)
    elapsed = since_end if clock.from_end else since_start
    if elapsed is None:
        elapsed = since_end if since_end is not None else since_start
    if elapsed is None:
        return "unknown", None
    if parent.ttl is None and not row.fixed_lifetime:
        since = since_end if since_end is not None else since_start
        return "unknown", f"No fixed lifetime is published for this provider's cache; it was idle for {since} s."
    name = "one-hour" if ttl == ONE_HOUR else "five-minute" if ttl == FIVE_MINUTES else f"{ttl} s"
    both = " and ".join(
        text
        for text in (
            f"{since_start} s since the previous request began" if since_start is not None else "",
            f"{since_end} s since its response ended" if since_end is not None else "",
        )
        if text
    )
    if elapsed <= ttl:
        return "no", f"{both[0].upper()}{both[1:]}: the expiry of a {name} entry alone cannot explain it."
    if elapsed <= ttl + (clock.grace_long if ttl == ONE_HOUR else clock.grace):
        return "edge", f"{both[0].upper()}{both[1:]}: at the edge of a {name} lifetime."
    condition = ""
    if not clock.from_end and since_end is not None and since_end <= ttl:
        condition = " counted from the start, and with no other refresh,"
    return "yes", f"{both[0].upper()}{both[1:]}:{condition} the expiry of a {name} entry is enough to explain it."


def find_cause(
    row: RowFacts, memory: LaneMemory, clock: LifetimeClock, *, use_provider: bool, has_messages: bool
) -> Elimination:
    """The cause of a loss. ``row.parent`` must be set. ``has_messages`` says that the log shows the conversation."""
    parent = row.parent
    assert parent is not None
    established: list[str] = []
    to_check: list[str] = []
    expired, clock_sentence = expiry(row, clock)
    if clock_sentence:
        established.append(clock_sentence)
    _growth(row, memory, established, has_messages)
    level = _level(row, memory, established, to_check, has_messages)

    if use_provider and row.diagnosis.reported:
        found = _provider(row, expired, established, to_check)
        if found is not None:
            return found
    equal = use_provider and row.diagnosis.reported and row.diagnosis.reason is None

    if not equal:
        if "clearing" in row.events:
            established.append("The log marks old tool results as cleared just before this request.")
            return Elimination("AS122", "implied", (), established, to_check)
        if row.provider != parent.provider:
            established.append(
                f"Another provider answered ({row.provider} after {parent.provider}): each has its own cache."
            )
            return Elimination("AS503", "implied", (), established, to_check)
        moved = moved_hosts(row, parent)
        if moved:
            return Elimination("AS503", "implied", (), [*established, *moved], to_check)
        if row.model != parent.model:
            established.append("The model changed; each model has a cache of its own.")
            extra = (expiry_code(parent),) if expired == "yes" else ()
            return Elimination("AS404", "implied", extra, established, to_check)
    if expired == "yes":
        if clock is DOCUMENTED_CLOCK:
            to_check.append("That the lifetime counts from the request's start, and that nothing refreshed the entry.")
        return Elimination(expiry_code(parent), "implied", leads(row), established, to_check)
    if row.appended is not None and row.appended > row.lookback:
        established.append(
            f"{row.appended} content blocks were appended since the previous request; a breakpoint finds an entry at "
            f"most {row.lookback} blocks back."
        )
        return Elimination("AS301", "implied", (), established, to_check)
    if equal:
        return _equal_but_lost(row, expired, established, to_check)
    pointed = leads(row)
    if pointed:
        established.append(lead_sentence(row))
        to_check.append("A full recording of the request bodies would prove it.")
        return Elimination(pointed[0], "implied", (*pointed[1:], *_possible(level, row)), established, to_check)
    if row.total < parent.warm:
        established.append(f"The prompt shrank by {parent.total - row.total:,} tokens with no mark in the log.")
        to_check.append("What was dropped or rewritten: compaction, pruning, or a restart that rebuilt the history.")
        return Elimination("AS131", "implied", ("AS122", "AS130", "AS112"), established, to_check)
    if expired == "edge":
        return Elimination("AS204", "implied", _possible(level, row), established, to_check)
    if _too_early(row):
        established.append("It was sent before, or within two seconds after, the response that wrote the entry.")
        to_check.append("Whether the entry was readable yet: send the second request a little later and compare.")
        return Elimination("AS501", "implied", _possible(level, row), established, to_check)
    if expired == "unknown":
        if clock_sentence is None:
            established.append("The time since the previous request is not known.")
        to_check.append("Whether the entry had expired: that cannot be excluded.")
        found = _open(row, level, established, to_check, has_messages)
        return found._replace(alternatives=("AS201", "AS202", *found.alternatives))
    return _open(row, level, established, to_check, has_messages)


def _seconds(later: int | None, earlier: int | None) -> int | None:
    return None if later is None or earlier is None else (later - earlier) // SECOND


def _too_early(row: RowFacts) -> bool:
    """Sent side by side with its parent, or the very same prompt within two seconds of the first one's response.

    Until 2026-08 such repeats missed in about half of the cases that users counted, and a pause of two seconds cured
    it.
    """
    parent = row.parent
    if parent is None or row.start is None:
        return False
    readable = parent.first_token if parent.first_token is not None else parent.end
    if readable is None:
        return False
    return row.start < readable or (row.total == parent.total and row.start < readable + 2 * SECOND)


def expiry_code(parent: RowFacts) -> str:
    """The code of an expiry, by the lifetime that the entry had."""
    if parent.ttl_dropped and parent.ttl != ONE_HOUR:
        return "AS203"
    return {None: "AS201", FIVE_MINUTES: "AS201", ONE_HOUR: "AS202"}.get(parent.ttl, "AS206")


def _growth(row: RowFacts, memory: LaneMemory, established: list[str], has_messages: bool) -> None:
    parent = row.parent
    usual = None if has_messages else memory.usual_growth()
    if parent is None or usual is None:
        return
    growth = row.total - parent.total
    if growth > usual > 0:
        established.append(
            f"The prompt grew by {growth:,} tokens; requests here mostly grow by {usual:,}. "
            f"The other {growth - usual:,} are a lead."
        )


def _level(row: RowFacts, memory: LaneMemory, established: list[str], to_check: list[str], has_messages: bool) -> str:
    """How far the read reached: ``nothing``; ``tools and system``; ``front`` (the shortest prefix that losses leave);
    ``floor`` (the only one known yet); ``head`` (a longer one); ``entry`` (the end of an earlier request); or
    ``inside``, a place of its own."""
    if row.read == 0:
        established.append("Nothing was read, not even tools and system.")
        return "nothing"
    other = memory.ends.get(row.read)
    if other is not None:
        established.append(f"The read ends where request {other} ended: the prompts part after that point.")
        return "entry"
    if not has_messages and memory.smallest_total is not None and row.read < memory.smallest_total:
        established.append(
            f"The read of {row.read:,} is less than any whole prompt seen here ({memory.smallest_total:,} at least), "
            "and entries end only at breakpoints: it is tools and system."
        )
        if row.head_tokens is not None and row.read != row.head_tokens:
            more = row.read - row.head_tokens
            word = "above" if more > 0 else "below"
            established.append(f"That is {abs(more):,} {word} the {row.head_tokens:,} that they first measured.")
            to_check.append(f"Whether those {abs(more):,} tokens are in tools or in system, and since when.")
        return "tools and system"
    seen = [floor for floor in memory.floors if floor]
    if row.read in seen:
        if row.read > min(seen):
            established.append(f"The read of {row.read:,} stayed after earlier losses too, and shorter ones are known.")
            return "head"
        established.append(f"The read of {row.read:,} is the prefix that stayed after earlier losses: the front only.")
        return "front" if len(seen) > 1 else "floor"
    return "inside"


def _possible(level: str, row: RowFacts) -> tuple[str, ...]:
    codes = _REACHED.get(level, _FRONT)
    if row.appended is not None and row.appended == row.lookback:
        codes = ("AS301", *codes)
    return codes


def leads(row: RowFacts) -> tuple[str, ...]:
    """Causes that a mark in the log or a difference between two rows points to, the strongest first."""
    parent = row.parent
    codes: list[str] = []
    if "instructions_delta" in row.events:
        codes.append("AS112")
    if "tools_delta" in row.events:
        codes += [code for code in ("AS112", "AS105") if code not in codes]
    if parent is not None and row.version and parent.version and row.version != parent.version:
        codes.append("AS408")
    if parent is not None and row.effort and parent.effort and row.effort != parent.effort:
        codes.append("AS403")
    return tuple(codes)


def lead_sentence(row: RowFacts) -> str:
    """What :func:`leads` rests on, in words."""
    parts: list[str] = []
    if "instructions_delta" in row.events or "tools_delta" in row.events:
        parts.append("the harness announced other tools or instructions")
    parent = row.parent
    if parent is not None and row.version != parent.version:
        parts.append("the harness was upgraded")
    if parent is not None and row.effort != parent.effort:
        parts.append("the effort level changed")
    return f"Just before this request {' and '.join(parts)}."


def _provider(row: RowFacts, expired: str, established: list[str], to_check: list[str]) -> Elimination | None:
    reason = row.diagnosis.reason
    parent = row.parent
    assert parent is not None
    if reason is None:
        return None
    if reason == "previous_message_not_found":
        established.append("The provider no longer knew the previous request.")
        if expired in ("yes", "edge", "unknown"):
            code = expiry_code(parent) if expired != "edge" else "AS204"
            return Elimination(code, "provider", (), established, to_check)
        to_check.append("Why the provider lost its record within the entry's lifetime.")
        return Elimination("AS902" if row.read == 0 else "AS901", "provider", ("AS503",), established, to_check)
    known = PROVIDER_CAUSES.get(reason)
    if known is None:
        established.append("The provider gives a reason that this version does not know.")
        return None
    established.append(f"The provider compared the two requests and says: {reason.replace('_', ' ')}.")
    code = "AS122" if known == "AS130" and "clearing" in row.events else known
    also = (expiry_code(parent),) if expired == "yes" else ()
    if row.diagnosis.missed_tokens is not None:
        established.append(f"By its estimate {row.diagnosis.missed_tokens:,} tokens follow the first difference.")
    to_check.append("Which block it was: the log does not hold that part of the request; record full bodies to see it.")
    return Elimination(code, "provider", also, established, to_check)


def _equal_but_lost(row: RowFacts, expired: str, established: list[str], to_check: list[str]) -> Elimination:
    established.append("The provider compared the two requests and found no difference.")
    if expired == "edge":
        return Elimination("AS204", "implied", (), established, to_check)
    if row.appended is not None and row.appended == row.lookback:
        return Elimination("AS301", "implied", ("AS503",), established, to_check)
    to_check.append("Whether the entry was evicted early or the request reached another cache.")
    return Elimination("AS902" if row.read == 0 else "AS901", "unexplained", ("AS503",), established, to_check)


def _open(row: RowFacts, level: str, established: list[str], to_check: list[str], has_messages: bool) -> Elimination:
    codes = _possible(level, row)
    if has_messages:
        established.append("The log shows the same conversation, longer; nothing in it accounts for the loss.")
        to_check.append("Tools, system and parameters, which the log does not hold: record full bodies to see them.")
        return Elimination("AS902" if row.read == 0 else "AS901", "unexplained", codes, established, to_check)
    if level == "nothing":
        to_check.append("Where the change is: a total cannot place it. Inspect tools, system, messages and parameters.")
        return Elimination("AS190", "unexplained", (*_FRONT, "AS902"), established, to_check)
    to_check.append("What changed after the part that was read: history or a parameter, and when.")
    if row.appended is None:
        to_check.append(f"Whether more than {row.lookback} blocks were appended, out of the lookback's reach.")
        codes = ("AS301", *codes)
    return Elimination("AS190", "unexplained", (*codes, "AS901"), established, to_check)
