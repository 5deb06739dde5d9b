"""Global K/V made once in the middle of a model: the earlier half keeps windows, the later half reads it (YOCO)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from agentsim.engine.lab.states.full_state import FullHistory, Projections
from agentsim.engine.lab.states.layer_state import LayerState, Snapshot
from agentsim.engine.lab.states.softmax_attention import attend
from agentsim.engine.lab.states.window_state import SlidingWindow


class Yoco(LayerState):
    """Layers of windows, then layers that only have queries: their K and V come from the middle.

    A token whose prediction nobody needs leaves after the middle: its global K and V are made by then.
    ``traversed`` counts the tokens that went through each layer (from 1).
    """

    def __init__(self, early: Sequence[Projections], shared: Projections, late: Sequence[Projections], window: int):
        self.windows = tuple(SlidingWindow(weights, window) for weights in early)
        self.history = FullHistory(shared)
        self.late = tuple(late)
        self.traversed: Counter[int] = Counter()

    def record(self, inputs: Tensor) -> None:
        """Take tokens in through the earlier half alone."""
        self._early(inputs)

    def prefill(self, inputs: Tensor) -> Tensor:
        """Take known tokens in and return the output of the last one, [1, dim]: only it goes through the later half."""
        return self._late(self._early(inputs)[-1:])

    def append(self, inputs: Tensor) -> Tensor:
        """See :meth:`LayerState.append`."""
        return self._late(self._early(inputs))

    def _early(self, inputs: Tensor) -> Tensor:
        hidden = inputs
        for number, each in enumerate(self.windows, start=1):
            hidden = hidden + each.append(hidden)
            self.traversed[number] += len(inputs)
        self.history.record(hidden)
        self.length = self.history.length
        return hidden

    def _late(self, hidden: Tensor) -> Tensor:
        positions = torch.arange(self.length - len(hidden), self.length)
        for number, weights in enumerate(self.late, start=len(self.windows) + 1):
            read = attend(
                weights.queries(hidden, positions),
                self.history.keys,
                self.history.values,
                query_positions=positions,
                key_positions=torch.arange(self.length),
            )
            hidden = hidden + read.flatten(1) @ weights.output
            self.traversed[number] += len(hidden)
        return hidden

    def truncate(self, length: int) -> None:
        """The windows decide. Raises Unrestorable."""
        for each in self.windows:
            each.truncate(length)
        self.history.truncate(length)
        self.length = length

    def snapshot(self) -> Snapshot:
        """A copy of the earlier half's windows."""
        return Snapshot(self.length, tuple(copy for each in self.windows for copy in each.snapshot().numbers))

    def restore(self, snapshot: Snapshot) -> None:
        """See :meth:`LayerState.restore`."""
        self.history.truncate(snapshot.length)
        for index, each in enumerate(self.windows):
            each.restore(Snapshot(snapshot.length, snapshot.numbers[2 * index : 2 * index + 2]))
        self.length = snapshot.length

    def kept(self) -> tuple[Tensor, ...]:
        """See :meth:`LayerState.kept`."""
        return self.history.kept() + tuple(tensor for each in self.windows for tensor in each.kept())

    def reads(self) -> int:
        """Each earlier layer its window, each later layer the global history."""
        return sum(each.reads() for each in self.windows) + len(self.late) * self.history.reads()
