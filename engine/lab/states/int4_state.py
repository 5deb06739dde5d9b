"""Full history in four bits a number, reconstructed while it is read."""

from __future__ import annotations

import torch
from torch import Tensor

from agentsim.engine.lab.states.full_state import Projections
from agentsim.engine.lab.states.layer_state import LayerState, Snapshot
from agentsim.engine.lab.states.softmax_attention import attend
from agentsim.kernels import pack_int4, unpack_int4


class Int4History(LayerState):
    """Every token's K and V as levels and steps. Bytes shrink; numbers change a little."""

    def __init__(self, weights: Projections) -> None:
        self.weights = weights
        empty = weights.key.new_zeros(0, weights.kv_heads, weights.head_dim)
        self.keys, self.key_steps = pack_int4(empty)
        self.values, self.value_steps = pack_int4(empty)

    def record(self, inputs: Tensor) -> None:
        """See :meth:`LayerState.record`."""
        positions = torch.arange(self.length, self.length + len(inputs))
        keys, values = (pack_int4(each) for each in self.weights.records(inputs, positions))
        self.keys, self.key_steps = torch.cat((self.keys, keys[0])), torch.cat((self.key_steps, keys[1]))
        self.values, self.value_steps = torch.cat((self.values, values[0])), torch.cat((self.value_steps, values[1]))
        self.length += len(inputs)

    def append(self, inputs: Tensor) -> Tensor:
        """See :meth:`LayerState.append`."""
        positions = torch.arange(self.length, self.length + len(inputs))
        self.record(inputs)
        read = attend(
            self.weights.queries(inputs, positions),
            unpack_int4(self.keys, self.key_steps, inputs.dtype),
            unpack_int4(self.values, self.value_steps, inputs.dtype),
            query_positions=positions,
            key_positions=torch.arange(self.length),
        )
        return read.flatten(1) @ self.weights.output

    def truncate(self, length: int) -> None:
        """Always possible: groups lie within a token's vector."""
        self._check_reached(length)
        self.keys, self.key_steps = self.keys[:length], self.key_steps[:length]
        self.values, self.value_steps = self.values[:length], self.value_steps[:length]
        self.length = length

    def snapshot(self) -> Snapshot:
        """Nothing needs to be kept aside."""
        return Snapshot(self.length, ())

    def restore(self, snapshot: Snapshot) -> None:
        """See :meth:`LayerState.restore`."""
        self.truncate(snapshot.length)

    def kept(self) -> tuple[Tensor, ...]:
        """See :meth:`LayerState.kept`."""
        return self.keys, self.key_steps, self.values, self.value_steps

    def reads(self) -> int:
        """All levels and steps."""
        return self.bytes
