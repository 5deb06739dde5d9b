"""What a kernel's launch needs to know of the device; a CPU under Triton's interpreter counts as a small GPU."""

from __future__ import annotations

from functools import cache

import torch


@cache
def capability(device: torch.device) -> int:
    """The compute capability's major number: 8 for Ampere and Ada, 9 for Hopper, 10 for Blackwell."""
    return torch.cuda.get_device_capability(device)[0] if device.type == "cuda" else 8


@cache
def processors(device: torch.device) -> int:
    """The number of multiprocessors."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 2
