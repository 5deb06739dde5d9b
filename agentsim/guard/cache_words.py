"""Words and figures of one short line: tokens, dollars, minutes, causes."""

from __future__ import annotations

from agentsim.guard.model_prices import PICODOLLARS

CAUSE_WORDS = {
    "system_prompt_changed": "system prompt",
    "tools_changed": "tools",
    "model_changed": "model",
    "fast_mode_changed": "fast mode",
    "cache_scope_or_ttl_changed": "lifetime",
    "betas_changed": "beta headers",
    "effort_changed": "effort",
    "thinking_mode_changed": "thinking",
    "thinking_display_changed": "thinking",
    "auto_mode_changed": "auto mode",
    "overage_changed": "usage limit",
    "extra_body_changed": "request fields",
    "defer_loading_changed": "deferred tools",
    "messages_rewritten": "history rewritten",
    "ttl_expired_5m": "5 min over",
    "ttl_expired_1h": "1 h over",
    "likely_server_side": "the provider",
    "unknown": "unknown",
}


def tokens(number: int) -> str:
    """A count in few letters: ``950``, ``19.9k``, ``412k``, ``1.2M``."""
    if number < 1_000:
        return str(number)
    if number < 100_000:
        tenths = (number + 50) // 100
        whole, part = divmod(tenths, 10)
        return f"{whole}.{part}k" if part else f"{whole}k"
    if number < 999_500:
        return f"{(number + 500) // 1000}k"
    tenths = (number + 50_000) // 100_000
    whole, part = divmod(tenths, 10)
    return f"{whole}.{part}M" if part else f"{whole}M"


def dollars(pico: int) -> str:
    """Money in cents, in hundredths of a cent below ten cents."""
    places = 2 if abs(pico) >= PICODOLLARS // 10 else 4
    unit = PICODOLLARS // 10**places
    units = (abs(pico) + unit // 2) // unit
    whole, part = divmod(units, 10**places)
    return f"{'-' if pico < 0 else ''}${whole}.{part:0{places}d}"


def clock(seconds: int) -> str:
    """A length of time as a countdown: ``4:12``, ``1:02:03``."""
    minutes, rest = divmod(max(seconds, 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def span(seconds: int) -> str:
    """A length of time in one unit, for a sentence: ``40 s``, ``7 min``, ``3 h``, ``2 d``."""
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length or (unit == "min" and seconds >= length):
            return f"{seconds // length} {unit}"
    return f"{max(seconds, 0)} s"


def causes(found: list[str], added: int | None, removed: int | None, system: int | None) -> str:
    """The causes of a loss with their counts: ``tools (+5)``, ``system prompt (-120 characters)``."""
    words = []
    for cause in found:
        word = CAUSE_WORDS.get(cause, cause)
        if cause == "tools_changed" and (added or removed):
            parts = [f"+{added}"] if added else []
            parts += [f"-{removed}"] if removed else []
            word += f" ({' '.join(parts)})"
        if cause == "system_prompt_changed" and system:
            word += f" ({system:+d} characters)"
        words.append(word)
    return ", ".join(dict.fromkeys(words)) or "unknown"
