"""The interface of a layer's state, and the two ways in which it can be taken back to an earlier position."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor


class Unrestorable(ValueError):
    """The state cannot be taken to a position from what it keeps. The message says what is missing."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The numbers that must be kept aside to come back to a position, beyond what the state itself goes on keeping.

    They are copies: a reference to an array that is changed in place would protect nothing.
    """

    length: int
    numbers: tuple[Tensor, ...]

    @property
    def bytes(self) -> int:
        """How much a snapshot takes."""
        return sum(held_bytes(each) for each in self.numbers)


class LayerState(ABC):
    """What an attention layer (or a group of layers) keeps between two tokens."""

    length: int = 0
    """Tokens that were taken in."""

    @abstractmethod
    def record(self, inputs: Tensor) -> None:
        """Take tokens in, [T, dim], without reading. Changes the state."""

    @abstractmethod
    def append(self, inputs: Tensor) -> Tensor:
        """Take tokens in and return the layer's output for each of them, [T, dim]. Changes the state."""

    @abstractmethod
    def truncate(self, length: int) -> None:
        """Forget all tokens after the first ``length``. Raises Unrestorable, and changes nothing, where that cannot be
        done from what is kept; ValueError for a length that was never reached."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Copy what :meth:`restore` will need to come back here. Changes nothing."""

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> None:
        """Go back to where a snapshot was taken. What lay beyond is forgotten."""

    @abstractmethod
    def kept(self) -> tuple[Tensor, ...]:
        """The tensors that are kept, of exactly the numbers in use."""

    @abstractmethod
    def reads(self) -> int:
        """Bytes of state that the next token's step reads, in the layers of this state together."""

    @property
    def bytes(self) -> int:
        """How much the state takes now."""
        return sum(held_bytes(each) for each in self.kept())

    def _check_reached(self, length: int) -> None:
        if not 0 <= length <= self.length:
            raise ValueError(f"position {length} was never reached: the state ends at {self.length}")


def held_bytes(tensor: Tensor) -> int:
    """Bytes of a tensor's numbers."""
    return tensor.numel() * tensor.element_size()


def copied(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Copies that later writes do not reach."""
    return tuple(tensor.detach().clone() for tensor in tensors)


def matrix(generator: torch.Generator, rows: int, columns: int, dtype: torch.dtype) -> Tensor:
    """Random weights of a size that keeps outputs near that of the inputs."""
    drawn: Tensor = torch.randn(rows, columns, generator=generator, dtype=torch.float64) / float(rows) ** 0.5
    return drawn.to(dtype)
