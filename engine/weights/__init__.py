"""Where weights come from: GGUF files, safetensors files, or a seed."""

from engine.weights.weights import Weights, WeightsError

__all__ = ["Weights", "WeightsError"]
