"""The same model's state, built or kept otherwise: under MHA, GQA, MQA, YOCO and INT4."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentsim.core.counts import plural
from agentsim.engine.layouts.kv_sizes import kv_bytes, yoco_bytes
from agentsim.engine.layouts.state_layout import StateLayout


@dataclass(frozen=True, slots=True)
class Alternative:
    """A way to build or to keep the same model's state."""

    name: str
    bytes: int
    is_model: bool
    """It is what the model does; the others would need another model (or, for INT4, lose precision)."""


def alternatives(layout: StateLayout, tokens: int, bits: int = 16, window: int = 128) -> tuple[Alternative, ...]:
    """What a session's K/V would take under MHA, GQA, MQA, YOCO and INT4, beside what it takes."""
    shape = layout.shape
    own = Alternative(f"as it is ({_kind(layout)})", layout.kv_bytes(tokens, bits), True)
    if not shape.layers:
        return (own,)
    plain = replace(shape, latent=0)
    groups = shape.kv_heads if 1 < shape.kv_heads < shape.heads else _groups(shape.heads)
    found = [
        Alternative(name, kv_bytes(replace(plain, kv_heads=heads), tokens, bits), False)
        for name, heads in (("MHA", shape.heads), (f"GQA, {plural(groups, 'K/V head')}", groups), ("MQA", 1))
    ]
    found.append(Alternative(f"YOCO, windows of {window}", yoco_bytes(plain, tokens, window, bits), False))
    found.append(Alternative("INT4", layout.kv_bytes(tokens, 4), False))
    return (own, *found)


def _groups(heads: int) -> int:
    """K/V heads for groups of four query heads, or of the next larger size that divides them evenly."""
    return next(count for count in range(max(1, heads // 4), 0, -1) if heads % count == 0)


def _kind(layout: StateLayout) -> str:
    shape = layout.shape
    if not shape.layers:
        return "no K/V"
    kind = "MHA" if shape.kv_heads == shape.heads else "MQA" if shape.kv_heads == 1 else "GQA"
    parts = ["latent" if shape.latent else kind]
    parts += ["windows"] if layout.windows else []
    parts += ["shared"] if layout.sharing else []
    parts += ["recurrent layers"] if layout.fixed else []
    return ", ".join(parts)
