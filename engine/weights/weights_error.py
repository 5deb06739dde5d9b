"""What is wrong with weights. Apart from the rest, so that looking at a file's head does not import PyTorch."""

from __future__ import annotations


class WeightsError(Exception):
    """Weights that cannot be used. The message says what is wrong with which file, and what to do about it."""
