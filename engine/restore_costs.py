"""What it takes to bring a prefix back from the host's memory, beside computing it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentsim.engine.inference_engine import Engine, EngineModel


@dataclass(frozen=True)
class RestoredPrompt:
    """A prompt that was computed, sent to the host and asked for again. Times are nanoseconds."""

    tokens: int
    """How many tokens came back."""
    bytes: int
    moving: int
    """The copies alone."""
    time_to_first_token: int
    """With the prefix from the host."""
    cold: int
    """Time to first token when all is computed."""


def measure_restore(model: EngineModel, tokens: Sequence[int], page_size: int = 16) -> RestoredPrompt:
    """Compute a prompt, offload it and restore it, in an engine of its own."""
    pages = -(-len(tokens) // page_size) + 1
    engine = Engine(model, pages=pages, page_size=page_size, host_pages=pages)
    first = engine.submit(tokens, 1)
    engine.run()
    engine.cache.offload()
    again = engine.submit(tokens, 1)
    engine.run()
    assert first.time_to_first_token is not None
    assert again.time_to_first_token is not None
    return RestoredPrompt(
        tokens=again.restored,
        bytes=engine.mover.restored_bytes,
        moving=engine.mover.restoring,
        time_to_first_token=again.time_to_first_token,
        cold=first.time_to_first_token,
    )
