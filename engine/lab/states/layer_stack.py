"""Several layers as one state, each fed with what the one below gives."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from agentsim.engine.lab.states.layer_state import LayerState, Snapshot
from agentsim.engine.lab.states.shared_state import SharedGlobal


class Stack(LayerState):
    """Layers of one kind, each added to what goes through (a group of shared history adds up by itself)."""

    def __init__(self, layers: Sequence[LayerState]) -> None:
        self.layers = tuple(layers)

    def record(self, inputs: Tensor) -> None:
        """Upper layers need what lower ones give: there is no way around reading."""
        self.append(inputs)

    def append(self, inputs: Tensor) -> Tensor:
        """See :meth:`LayerState.append`."""
        hidden = inputs
        for layer in self.layers:
            given = layer.append(hidden)
            hidden = given if isinstance(layer, SharedGlobal) else hidden + given
        self.length += len(inputs)
        return hidden

    def replay(self, inputs: Tensor) -> Tensor:
        """Rebuild the windows of shared histories from the last tokens' inputs. Raises TypeError for other kinds."""
        hidden = inputs
        for layer in self.layers:
            if not isinstance(layer, SharedGlobal):
                raise TypeError("only windows beside a global history can be rebuilt from a few tokens")
            hidden = layer.replay(hidden)
        return hidden

    def truncate_global(self, length: int) -> None:
        """Leave out global records after ``length``; the windows must then be rebuilt. Raises TypeError."""
        for layer in self.layers:
            if not isinstance(layer, SharedGlobal):
                raise TypeError("this kind has no global history beside windows")
            layer.truncate_global(length)
        self.length = length

    def truncate(self, length: int) -> None:
        """See :meth:`LayerState.truncate`. Layers of one kind can or cannot go back together: the first one tells."""
        self._check_reached(length)
        for layer in self.layers:
            layer.truncate(length)
        self.length = length

    def snapshot(self) -> Snapshot:
        """A snapshot of every layer."""
        return Snapshot(self.length, tuple(number for layer in self.layers for number in layer.snapshot().numbers))

    def restore(self, snapshot: Snapshot) -> None:
        """See :meth:`LayerState.restore`."""
        per_layer = len(snapshot.numbers) // len(self.layers)
        for index, layer in enumerate(self.layers):
            numbers = snapshot.numbers[index * per_layer : (index + 1) * per_layer]
            layer.restore(Snapshot(snapshot.length, numbers))
        self.length = snapshot.length

    def kept(self) -> tuple[Tensor, ...]:
        """See :meth:`LayerState.kept`."""
        return tuple(tensor for layer in self.layers for tensor in layer.kept())

    def reads(self) -> int:
        """See :meth:`LayerState.reads`."""
        return sum(layer.reads() for layer in self.layers)
