"""An image read by cross-attention: its K and V stand apart from the text's and do not grow."""

from __future__ import annotations

import torch
from torch import Tensor

from agentsim.engine.lab.states.full_state import FullHistory, Projections
from agentsim.engine.lab.states.layer_state import LayerState, Snapshot, held_bytes
from agentsim.engine.lab.states.softmax_attention import attend


class ImageMemory(LayerState):
    """A text layer with its own history, and a read of an image's K and V, made once. ``length`` counts text."""

    def __init__(self, text: Projections, image: Projections, vectors: Tensor) -> None:
        self.text = FullHistory(text)
        self.image = image
        # Position 0 for all: an image's records have no place in the text. RoPE at 0 changes nothing.
        nowhere = torch.zeros(len(vectors), dtype=torch.long)
        self.keys, self.values = image.records(vectors, nowhere)

    def record(self, inputs: Tensor) -> None:
        """See :meth:`LayerState.record`."""
        self.text.record(inputs)
        self.length = self.text.length

    def append(self, inputs: Tensor) -> Tensor:
        """See :meth:`LayerState.append`. Text is read first; the image by what came of it."""
        hidden = inputs + self.text.append(inputs)
        self.length = self.text.length
        nowhere = torch.zeros(len(inputs), dtype=torch.long)
        read = attend(
            self.image.queries(hidden, nowhere),
            self.keys,
            self.values,
            query_positions=nowhere,
            key_positions=torch.zeros(len(self.keys), dtype=torch.long),
            causal=False,
        )
        return hidden + read.flatten(1) @ self.image.output

    @property
    def records(self) -> tuple[int, int]:
        """Records that the next query of the text reads beside its own: of the text, and of the image."""
        return len(self.text.keys), len(self.keys)

    def truncate(self, length: int) -> None:
        """Always possible: the image's records do not depend on the text."""
        self.text.truncate(length)
        self.length = length

    def snapshot(self) -> Snapshot:
        """Nothing needs to be kept aside."""
        return Snapshot(self.length, ())

    def restore(self, snapshot: Snapshot) -> None:
        """See :meth:`LayerState.restore`."""
        self.truncate(snapshot.length)

    def kept(self) -> tuple[Tensor, ...]:
        """See :meth:`LayerState.kept`."""
        return (*self.text.kept(), self.keys, self.values)

    def reads(self) -> int:
        """The text's records and the image's, in two reads."""
        return self.text.reads() + held_bytes(self.keys) + held_bytes(self.values)
