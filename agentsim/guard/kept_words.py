"""What the harness says of its own cache, kept before it is gone: figures and known words, nothing else.

Claude Code hands its diagnosis to the status line and writes it to no log.
"""

from __future__ import annotations

from agentsim.guard.light_json import count, share, table
from agentsim.guard.private_files import append_line
from agentsim.traces.kept_places import kept_file

Table = dict[str, object]

LARGEST = 2**20
"""Bytes of a session's file; the older half goes when it is reached."""

CAUSES = frozenset(
    {
        "system_prompt_changed",
        "tools_changed",
        "model_changed",
        "fast_mode_changed",
        "cache_scope_or_ttl_changed",
        "betas_changed",
        "effort_changed",
        "thinking_mode_changed",
        "thinking_display_changed",
        "auto_mode_changed",
        "overage_changed",
        "extra_body_changed",
        "defer_loading_changed",
        "messages_rewritten",
        "ttl_expired_5m",
        "ttl_expired_1h",
        "likely_server_side",
        "unknown",
    }
)
"""The causes that Claude Code 2.1.332 knows. A word that is none of them is not kept."""

TTL = {"5m": 300, "1h": 3600}


def words_of(document: Table) -> Table | None:
    """The figures of a status line's document; ``None`` where the harness says nothing about its cache."""
    said = table(document, "prompt_cache")
    requests = count(said, "requests")
    if requests is None:
        return None
    cause = table(said, "last_miss_cause")
    limits = table(document, "rate_limits")
    found: Table = {
        "requests": requests,
        "misses": count(said, "misses"),
        "rebuilds": count(said, "expected_rebuilds"),
        "hit": share(said, "hit_ratio"),
        "ttl": TTL.get(str(said.get("ttl"))),
        "expires": count(said, "expires_at"),
        "written": count(said, "cache_write_tokens"),
        "recached": count(said, "miss_recache_tokens"),
        "missed": count(said, "last_miss_at"),
        "causes": _known(cause.get("causes")),
        "added": count(cause, "tools_added"),
        "removed": count(cause, "tools_removed"),
        "system": _signed(cause, "system_char_delta"),
        "cold": count(said, "recache_tokens_if_cold"),
    }
    for name in ("five_hour", "seven_day"):
        used = count(table(limits, name), "used_percentage")
        if used is not None:
            found[name] = used
    return found


def keep(session: str, found: Table, before: Table, now: int) -> bool:
    """Append what is said when it is something else than before. True when it was."""
    path = kept_file(session)
    if path is None or found == before:
        return False
    append_line(path, {"t": now, **{key: value for key, value in found.items() if value is not None}}, LARGEST)
    return True


def _known(causes: object) -> list[str]:
    if not isinstance(causes, list):
        return []
    return [cause for cause in causes[:8] if isinstance(cause, str) and cause in CAUSES]


def _signed(value: Table, key: str) -> int | None:
    found = value.get(key)
    return found if type(found) is int and abs(found) < 2**31 else None
