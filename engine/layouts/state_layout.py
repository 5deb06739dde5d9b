"""What a model keeps for a session, layer by layer: K/V that grows with the tokens, and states that do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from agentsim.engine.layouts.kv_sizes import Shape, number_bytes

LEAST_FIXED_BITS = 16
"""Convolution states are kept in no fewer bits, however few are chosen for K/V."""


@dataclass(frozen=True, slots=True)
class TokenState:
    """What grows with the tokens, alike in ``layers`` layers. ``limit``: only the last tokens are kept (0: all are).
    ``bytes_each``: the format is the model's own, whatever bits are chosen (0: they are chosen)."""

    kind: str
    numbers: int
    limit: int = 0
    bytes_each: int = 0
    layers: int = 1

    def token_bytes(self, bits: int = 16) -> int:
        """Bytes that one more token takes in all these layers, while no window is full."""
        return self.layers * (self.bytes_each or number_bytes(self.numbers, bits))

    def bytes(self, tokens: int, bits: int = 16) -> int:
        """Bytes after that many tokens."""
        return self.token_bytes(bits) * (min(tokens, self.limit) if self.limit else tokens)


@dataclass(frozen=True, slots=True)
class FixedState:
    """What a recurrent layer keeps, however long the session is: the last inputs of its convolution (in the model's
    own bits), and a recurrent state. None: the file does not say how large they are."""

    kind: str
    convolution: int | None
    recurrent: int | None
    recurrent_bits: int = 32
    layers: int = 1

    def bytes(self, bits: int = 16) -> int | None:
        """Bytes in all these layers."""
        if self.convolution is None or self.recurrent is None:
            return None
        inputs = self.convolution * max(bits, LEAST_FIXED_BITS)
        return self.layers * (inputs + self.recurrent * self.recurrent_bits) // 8


@dataclass(frozen=True, slots=True)
class ImageState:
    """K/V of an image's tokens, in the layers that attend to images and not to the text."""

    numbers: int
    layers: int
    tokens: int | None
    """Tokens of the largest image; None where the file does not say."""

    def token_bytes(self, bits: int = 16) -> int:
        """Bytes of one of the image's tokens, in all these layers."""
        return self.layers * number_bytes(self.numbers, bits)


@dataclass(frozen=True, slots=True)
class StateLayout:
    """All that a model keeps for a session. ``shape`` is that of its usual attention, for comparisons."""

    shape: Shape
    growing: tuple[TokenState, ...]
    fixed: tuple[FixedState, ...] = ()
    image: ImageState | None = None
    sharing: int = 0
    """Layers that read what another layer keeps."""
    name: str = ""
    context: int | None = None

    @classmethod
    def plain(cls, shape: Shape, name: str = "", context: int | None = None) -> StateLayout:
        """A model all of whose layers keep the same."""
        kind = "latent" if shape.latent else "attention"
        return cls(shape, (TokenState(kind, shape.numbers, layers=shape.layers),), name=name, context=context)

    @property
    def windows(self) -> tuple[TokenState, ...]:
        """The states that keep their last tokens alone."""
        return tuple(state for state in self.growing if state.limit)

    def kv_bytes(self, tokens: int, bits: int = 16) -> int:
        """Bytes of what grows with the tokens. Tables of pages, alignment and workspaces are not counted."""
        return sum(state.bytes(tokens, bits) for state in self.growing)

    def token_bytes(self, bits: int = 16) -> int:
        """Bytes that one more token takes in every layer, while no window is full."""
        return sum(state.token_bytes(bits) for state in self.growing)

    def fixed_bytes(self, bits: int = 16) -> int | None:
        """Bytes of the recurrent states; None where their size is not known."""
        each = [state.bytes(bits) for state in self.fixed]
        return None if None in each else sum(size for size in each if size is not None)


def alike_growing(states: Iterable[TokenState]) -> tuple[TokenState, ...]:
    """Those of single layers, put together where they are alike."""
    return tuple(replace(state, layers=count) for state, count in Counter(states).items())


def alike_fixed(states: Iterable[FixedState]) -> tuple[FixedState, ...]:
    """Those of single layers, put together where they are alike."""
    return tuple(replace(state, layers=count) for state, count in Counter(states).items())
