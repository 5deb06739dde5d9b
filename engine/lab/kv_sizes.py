"""How many bytes a model's state takes: arithmetic on shapes, for any model. No weights are needed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentsim.core.counts import plural

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

INT4_GROUP, INT4_STEP_BYTES = 16, 4


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a model's attention. ``latent`` is the width of one vector that stands for K and V together (0:
    K and V are kept); ``window`` limits ``window_layers`` of the layers to their last tokens."""

    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int | None = None
    latent: int = 0
    window: int = 0
    window_layers: int = 0
    context: int | None = None
    name: str = ""

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
    record = number_bytes(shape.numbers, bits)
    unlimited = (shape.layers - shape.window_layers) * tokens
    limited = shape.window_layers * min(tokens, shape.window)
    return record * (unlimited + limited)


def token_bytes(shape: Shape, bits: int = 16) -> int:
    """Bytes that one more token takes in every layer, while no window is full."""
    return number_bytes(shape.numbers, bits) * shape.layers


def yoco_bytes(shape: Shape, tokens: int, window: int, bits: int = 16) -> int:
    """Bytes if the earlier half of the layers kept windows and the later half shared one global history."""
    record = number_bytes(shape.numbers, bits)
    return record * (tokens + (shape.layers // 2) * min(tokens, window))


def sessions_in(memory: int, session: int) -> int:
    """How many sessions of that many bytes fit."""
    return memory // session if session else 0


@dataclass(frozen=True, slots=True)
class Alternative:
    """A way to build or to keep the same model's state."""

    name: str
    bytes: int
    is_model: bool
    """It is what the model does; the others would need another model (or, for INT4, lose precision)."""


def alternatives(shape: Shape, tokens: int, bits: int = 16, window: int = 128) -> tuple[Alternative, ...]:
    """What a session would take under MHA, GQA, MQA, YOCO and INT4, beside what it takes."""
    plain = replace(shape, latent=0, window=0, window_layers=0)
    groups = shape.kv_heads if 1 < shape.kv_heads < shape.heads else _groups(shape.heads)
    own = "latent" if shape.latent else _kind(shape)
    found = [
        Alternative(name, kv_bytes(replace(plain, kv_heads=heads), tokens, bits), False)
        for name, heads in (("MHA", shape.heads), (f"GQA, {plural(groups, 'K/V head')}", groups), ("MQA", 1))
    ]
    found.append(Alternative(f"YOCO, windows of {window}", yoco_bytes(plain, tokens, window, bits), False))
    found.append(Alternative("INT4", kv_bytes(shape, tokens, 4), False))
    return (Alternative(f"as it is ({own})", kv_bytes(shape, tokens, bits), True), *found)


def _groups(heads: int) -> int:
    """K/V heads for groups of four query heads, or of the next larger size that divides them evenly."""
    return next(count for count in range(max(1, heads // 4), 0, -1) if heads % count == 0)


def _kind(shape: Shape) -> str:
    kind = "MHA" if shape.kv_heads == shape.heads else "MQA" if shape.kv_heads == 1 else "GQA"
    return f"{kind}, windows" if shape.window_layers else kind
