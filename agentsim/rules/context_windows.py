"""How many tokens a model takes at most, as far as the price library says."""

from __future__ import annotations

from functools import cache


@cache
def window_of(model: str) -> int | None:
    """The context window of a model in tokens; ``None`` where it is not known."""
    from genai_prices.data import providers

    name = model.removesuffix("[1m]")
    for provider in providers:
        if provider.id in ("anthropic", "openai", "google"):
            found = provider.find_model(name)
            if found is not None:
                return found.context_window
    return None
