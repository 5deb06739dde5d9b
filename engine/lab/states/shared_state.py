"""Global K/V shared by a group of layers, beside a local window of each layer's own."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from agentsim.engine.lab.states.full_state import FullHistory, Projections
from agentsim.engine.lab.states.layer_state import LayerState, Snapshot, Unrestorable
from agentsim.engine.lab.states.softmax_attention import attend
from agentsim.engine.lab.states.window_state import SlidingWindow


class SharedGlobal(LayerState):
    """A group of layers. The first layer's input gives the global K/V that all layers of the group read; each layer
    also reads the window of its own recent K/V. The two reads are added, and the layer's input to them.

    ``append`` takes the input of the first layer and returns the output of the last.
    """

    def __init__(self, shared: Projections, layers: Sequence[Projections], window: int) -> None:
        self.history = FullHistory(shared)
        self.windows = tuple(SlidingWindow(weights, window) for weights in layers)

    @property
    def window(self) -> int:
        """Tokens of a local window."""
        return self.windows[0].window

    def record(self, inputs: Tensor) -> None:
        """Later windows depend on what earlier layers read: there is no way around reading."""
        self.append(inputs)

    def append(self, inputs: Tensor) -> Tensor:
        """See :meth:`LayerState.append`."""
        positions = torch.arange(self.length, self.length + len(inputs))
        self.history.record(inputs)
        self.length = self.history.length
        return self._through(inputs, positions)

    def replay(self, inputs: Tensor) -> Tensor:
        """Rebuild windows from the last tokens' inputs, whose global records are there already.

        Windows start empty. What the first of these tokens read of tokens before them is missing, so that the windows
        are those of a full computation only if the replay is long enough: each layer looks one window further back.
        """
        first = self.length - len(inputs)
        if first < 0:
            raise ValueError(f"{len(inputs)} tokens cannot be replayed: there are {self.length}")
        for each in self.windows:
            each.restore(Snapshot(first, (each.keys[:0], each.values[:0])))
        return self._through(inputs, torch.arange(first, self.length))

    def _through(self, inputs: Tensor, positions: Tensor) -> Tensor:
        hidden = inputs
        for each in self.windows:
            read = attend(
                each.weights.queries(hidden, positions),
                self.history.keys,
                self.history.values,
                query_positions=positions,
                key_positions=torch.arange(self.history.length),
            )
            hidden = hidden + read.flatten(1) @ each.weights.output + each.append(hidden)
        return hidden

    def truncate(self, length: int) -> None:
        """Global records can always be left out; the windows decide."""
        self._check_reached(length)
        try:
            # All windows stand at the same tokens: the first one speaks for all, before anything is changed.
            self.windows[0].truncate(length)
        except Unrestorable as lacking:
            raise Unrestorable(
                f"global records are there, but in each of {len(self.windows)} layers {lacking}"
            ) from None
        for each in self.windows[1:]:
            each.truncate(length)
        self.truncate_global(length)

    def truncate_global(self, length: int) -> None:
        """Leave out global records after ``length`` and nothing else: the windows must then be rebuilt."""
        self.history.truncate(length)
        self.length = length

    def snapshot(self) -> Snapshot:
        """A copy of all local windows: the global history goes on holding its prefix."""
        return Snapshot(self.length, tuple(copy for each in self.windows for copy in each.snapshot().numbers))

    def restore(self, snapshot: Snapshot) -> None:
        """See :meth:`LayerState.restore`."""
        self.truncate_global(snapshot.length)
        for index, each in enumerate(self.windows):
            each.restore(Snapshot(snapshot.length, snapshot.numbers[2 * index : 2 * index + 2]))

    def kept(self) -> tuple[Tensor, ...]:
        """See :meth:`LayerState.kept`."""
        return self.history.kept() + tuple(tensor for each in self.windows for tensor in each.kept())

    def reads(self) -> int:
        """Each layer reads the global history, and its own window."""
        return len(self.windows) * self.history.reads() + sum(each.reads() for each in self.windows)
