"""Where weights come from: GGUF files, safetensors files, or a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentsim.engine.weights.weights_error import WeightsError

if TYPE_CHECKING:
    from agentsim.engine.weights.weights import Weights

__all__ = ["Weights", "WeightsError"]


def __getattr__(name: str) -> Any:
    # Later, because it imports PyTorch: who only looks at a file's head does without.
    if name == "Weights":
        from agentsim.engine.weights.weights import Weights

        return Weights
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
