"""A sliding window: K and V of the last tokens only."""

from __future__ import annotations

import torch
from torch import Tensor

from agentsim.engine.lab.states.full_state import Projections
from agentsim.engine.lab.states.layer_state import LayerState, Snapshot, Unrestorable, copied, held_bytes
from agentsim.engine.lab.states.softmax_attention import attend


class SlidingWindow(LayerState):
    """The last ``window`` tokens' K and V. Going back needs a copy of the window as it was."""

    def __init__(self, weights: Projections, window: int) -> None:
        self.weights = weights
        self.window = window
        empty = weights.key.new_zeros(0, weights.kv_heads, weights.head_dim)
        self.keys, self.values = empty, empty

    def record(self, inputs: Tensor) -> None:
        """See :meth:`LayerState.record`."""
        self._take(inputs)
        self._drop()

    def append(self, inputs: Tensor) -> Tensor:
        """See :meth:`LayerState.append`."""
        positions = torch.arange(self.length, self.length + len(inputs))
        self._take(inputs)
        read = attend(
            self.weights.queries(inputs, positions),
            self.keys,
            self.values,
            query_positions=positions,
            key_positions=torch.arange(self.length - len(self.keys), self.length),
            window=self.window,
        )
        self._drop()
        return read.flatten(1) @ self.weights.output

    def truncate(self, length: int) -> None:
        """Possible only where nothing that the next token would read has left the window."""
        self._check_reached(length)
        first = self.length - len(self.keys)
        wanted = max(0, length - self.window + 1)  # the next token counts in its own window
        if length < self.length and wanted < first:
            raise Unrestorable(
                f"the token after {length} reads tokens {wanted + 1}–{length}; only {first + 1}–{self.length} are kept"
            )
        self.keys, self.values = self.keys[: length - first], self.values[: length - first]
        self.length = length

    def snapshot(self) -> Snapshot:
        """A copy of the window."""
        return Snapshot(self.length, copied(self.keys, self.values))

    def restore(self, snapshot: Snapshot) -> None:
        """See :meth:`LayerState.restore`."""
        self.keys, self.values = copied(*snapshot.numbers)
        self.length = snapshot.length

    def kept(self) -> tuple[Tensor, ...]:
        """See :meth:`LayerState.kept`."""
        return self.keys, self.values

    def reads(self) -> int:
        """The whole window."""
        return held_bytes(self.keys) + held_bytes(self.values)

    def _take(self, inputs: Tensor) -> None:
        positions = torch.arange(self.length, self.length + len(inputs))
        keys, values = self.weights.records(inputs, positions)
        self.keys, self.values = torch.cat((self.keys, keys)), torch.cat((self.values, values))
        self.length += len(inputs)

    def _drop(self) -> None:
        # Copies: a view would hold the memory of what has left the window.
        self.keys, self.values = copied(self.keys[-self.window :], self.values[-self.window :])
