"""How many bytes a model's state takes: arithmetic on shapes, for any model. No weights are needed."""

from __future__ import annotations

from dataclasses import dataclass

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

INT4_GROUP, INT4_STEP_BYTES = 16, 4


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of attention that is alike in all layers. ``latent`` is the width of one vector that stands for K and
    V together (0: K and V are kept)."""

    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int | None = None
    latent: int = 0

    @property
    def numbers(self) -> int:
        """Numbers that one layer keeps for one token."""
        if self.latent:
            return self.latent
        return self.kv_heads * (self.head_dim + (self.head_dim if self.value_dim is None else self.value_dim))


def number_bytes(count: int, bits: int) -> int:
    """Bytes of that many numbers. Four bits come with a step of four bytes for every 16."""
    if bits == 4:
        groups = -(-count // INT4_GROUP)
        return -(-count // 2) + groups * INT4_STEP_BYTES
    return count * bits // 8


def kv_bytes(shape: Shape, tokens: int, bits: int = 16) -> int:
    """Bytes of the state after that many tokens. Tables of pages, alignment and workspaces are not counted."""
    return token_bytes(shape, bits) * tokens


def token_bytes(shape: Shape, bits: int = 16) -> int:
    """Bytes that one more token takes in every layer."""
    return number_bytes(shape.numbers, bits) * shape.layers


def yoco_bytes(shape: Shape, tokens: int, window: int, bits: int = 16) -> int:
    """Bytes if the earlier half of the layers kept windows and the later half shared one global history."""
    record = number_bytes(shape.numbers, bits)
    return record * (tokens + (shape.layers // 2) * min(tokens, window))


def sessions_in(memory: int, session: int) -> int:
    """How many sessions of that many bytes fit."""
    return memory // session if session else 0
