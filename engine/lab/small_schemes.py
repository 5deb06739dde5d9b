"""The three schemes again, small enough to run every layer on every token: what restores, restores exactly."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from agentsim.engine.lab.states.full_state import FullHistory, Projections
from agentsim.engine.lab.states.layer_stack import Stack
from agentsim.engine.lab.states.recurrent_state import LinearWeights, Recurrent
from agentsim.engine.lab.states.shared_state import SharedGlobal

DIM, LAYERS, WINDOW = 16, 6, 5


def full(seed: int) -> Stack:
    """A: six layers of full history."""
    generator = torch.Generator().manual_seed(seed)
    return Stack([FullHistory(_projections(generator)) for _ in range(LAYERS)])


def shared(seed: int) -> Stack:
    """B: two groups of three layers, windows of five tokens."""
    generator = torch.Generator().manual_seed(seed)
    groups = []
    for _ in range(2):
        own = _projections(generator)
        groups.append(SharedGlobal(own, [_projections(generator) for _ in range(LAYERS // 2)], WINDOW))
    return Stack(groups)


def recurrent(seed: int) -> Stack:
    """C: six layers of matrices."""
    generator = torch.Generator().manual_seed(seed)
    return Stack([Recurrent(LinearWeights.drawn(generator, dim=DIM, key_dim=8, value_dim=8)) for _ in range(LAYERS)])


SMALL: dict[str, Callable[[int], Stack]] = {"A": full, "B": shared, "C": recurrent}
"""Letter and maker."""


def embed(tokens: list[int]) -> Tensor:
    """Inputs for token ids: the same vector for the same id."""
    return torch.stack(
        [torch.randn(DIM, generator=torch.Generator().manual_seed(token), dtype=torch.float64) for token in tokens]
    )


def _projections(generator: torch.Generator) -> Projections:
    return Projections.drawn(generator, dim=DIM, heads=2, kv_heads=1, head_dim=8)
