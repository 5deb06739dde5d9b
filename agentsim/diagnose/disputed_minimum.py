"""The shortest prefix that is kept, where sources disagree on it: what another of them says of a prompt."""

from __future__ import annotations

from agentsim.rules.providers import ProviderRules


def kept_by_another(rules: ProviderRules | None, size: int) -> str | None:
    """A sentence on a prefix that the rules call too short and another source does not; ``None`` where none does so."""
    found = [least for least in _others(rules) if rules is not None and least <= size < rules.minimum]
    return f"Another source says {max(found):,}: by that it could have been kept." if found else None


def too_short_by_another(rules: ProviderRules | None, size: int) -> str | None:
    """A sentence on a prefix that is long enough by the rules and not by another source, if there is one."""
    found = [least for least in _others(rules) if rules is not None and rules.minimum <= size < least]
    if not found:
        return None
    return f"By another source nothing shorter than {min(found):,} tokens is kept; it had {size:,}."


def _others(rules: ProviderRules | None) -> tuple[int, ...]:
    figure = None if rules is None else rules.figure("minimum")
    return () if figure is None else tuple(int(value) for value, _ in figure.alternatives if value.isdigit())
