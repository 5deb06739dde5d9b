"""Which counters of a request are billed: its own, or those of the calls the provider made inside it."""

from __future__ import annotations

import msgspec

from agentsim.core.session import Request, Usage

FIELDS = ("fresh", "write_short", "write_long", "write_other", "read", "output")


def billable_usage(request: Request) -> Usage | None:
    """The tokens that a request is billed for, as one count; ``None`` when its log reports no usage.

    A provider that compacts, consults another model or runs tools inside a request lists each inner call in
    ``usage.iterations``. Compaction calls are not part of the top-level counters
    (https://platform.claude.com/docs/en/build-with-claude/compaction, checked 2026-08-21), so the sum over the inner
    calls is billed wherever it is larger.
    """
    parts = billed_parts(request)
    return parts[0] if len(parts) == 1 else _sum(parts) if parts else None


def billed_parts(request: Request) -> tuple[Usage, ...]:
    """The calls that are billed for a request, each at the tier of its own prompt; one for an ordinary request.

    The inner calls stand for the request when their sum reaches the top-level counters; where it does not, the list is
    incomplete and the top-level counters are billed.
    """
    usage, inner = request.usage, request.iterations
    if usage is None:
        return inner
    if not inner or inner == (usage,):
        return (usage,)
    ours, theirs = _total(usage), _total(_sum(inner))
    if theirs < ours or (theirs == ours and len(inner) == 1):
        return (usage,)
    return tuple(_with_lifetime(part, usage) for part in inner)


def _sum(parts: tuple[Usage, ...]) -> Usage:
    sums: dict[str, int | None] = {}
    for name in FIELDS:
        known = [n for n in (getattr(part, name) for part in parts) if n is not None]
        sums[name] = sum(known) if known else None
    return Usage(**sums)


def _total(usage: Usage) -> int:
    return (usage.total_input or 0) + (usage.output or 0)


def _with_lifetime(part: Usage, whole: Usage) -> Usage:
    """Inner calls often report a bare write counter; the request's own split names its lifetime if it has only one."""
    if not part.write_other or whole.write_other:
        return part
    if whole.write_long and not whole.write_short:
        return msgspec.structs.replace(part, write_long=(part.write_long or 0) + part.write_other, write_other=None)
    if whole.write_short and not whole.write_long:
        return msgspec.structs.replace(part, write_short=(part.write_short or 0) + part.write_other, write_other=None)
    return part
