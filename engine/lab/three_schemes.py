"""Three ways to build 32 layers: full histories, shared histories with windows, matrices. Held for real."""

from __future__ import annotations

import torch

from agentsim.engine.lab.states.full_state import FullHistory, Projections
from agentsim.engine.lab.states.layer_state import LayerState, Snapshot
from agentsim.engine.lab.states.recurrent_state import LinearWeights, Recurrent
from agentsim.engine.lab.states.shared_state import SharedGlobal

LAYERS, TOKENS, DOCUMENT = 32, 4_096, 3_072
WINDOW, GROUPS = 128, 4
NARROW = 8
"""Width of the inputs: bytes of a state do not depend on it."""


def full_histories(dtype: torch.dtype = torch.bfloat16) -> list[LayerState]:
    """A: every layer keeps its own K and V, two heads of 64 numbers each."""
    return [FullHistory(_projections(layer, dtype)) for layer in range(LAYERS)]


def shared_histories(dtype: torch.dtype = torch.bfloat16) -> list[LayerState]:
    """B: four groups of eight layers; each group shares a history, each layer keeps a window of 128."""
    groups: list[LayerState] = []
    for group in range(GROUPS):
        layers = [_projections(100 * group + layer, dtype) for layer in range(LAYERS // GROUPS)]
        groups.append(SharedGlobal(_projections(group, dtype), layers, WINDOW))
    return groups


def matrices(dtype: torch.dtype = torch.bfloat16) -> list[LayerState]:
    """C: every layer keeps a matrix of 64 × 256."""
    return [
        Recurrent(
            LinearWeights.drawn(
                torch.Generator().manual_seed(layer),
                dim=NARROW,
                key_dim=64,
                value_dim=256,
                normalised=False,
                dtype=dtype,
            )
        )
        for layer in range(LAYERS)
    ]


def fill(states: list[LayerState], tokens: int) -> None:
    """Take tokens in. What a layer gets is drawn instead of computed by the layers below: the bytes are the same."""
    generator = torch.Generator().manual_seed(tokens)
    for state in states:
        inputs = torch.randn(tokens, NARROW, generator=generator).to(torch.bfloat16)
        if isinstance(state, SharedGlobal):
            state.history.record(inputs)
            for window in state.windows:
                window.record(inputs)
            state.length = state.history.length
        else:
            state.record(inputs)


def kept(states: list[LayerState]) -> int:
    """Bytes of all layers."""
    return sum(state.bytes for state in states)


def read(states: list[LayerState]) -> int:
    """Bytes that one step reads in all layers."""
    return sum(state.reads() for state in states)


def snapshots(states: list[LayerState]) -> list[Snapshot]:
    """A snapshot of every layer."""
    return [state.snapshot() for state in states]


SCHEMES = {"A · full history": full_histories, "B · shared + windows": shared_histories, "C · matrices": matrices}


def _projections(seed: int, dtype: torch.dtype) -> Projections:
    generator = torch.Generator().manual_seed(seed)
    return Projections.drawn(generator, dim=NARROW, heads=2, kv_heads=2, head_dim=64, dtype=dtype)
