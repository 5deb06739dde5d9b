"""The decoder: one forward pass over a batch of sequences whose keys and values live in pages."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import torch
from torch.nn import functional

from engine import rows
from engine.attention import AttentionPlan
from engine.batch import Batch
from engine.config import ModelConfig
from engine.kv import KVPages
from engine.weights.weights import Weights, WeightsError, expected_shapes


@dataclass(frozen=True, slots=True)
class _Layer:
    attn_norm: torch.Tensor
    qkv: torch.Tensor
    o: torch.Tensor
    ffn_norm: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor


class Model:
    """A decoder of the Llama family, ready to compute in ``dtype`` on ``device``.

    ``row_by_row`` computes every token so that its bits do not depend on the batch it is in (see :mod:`engine.rows`):
    for small models and for checking, as it is many times slower.
    """

    def __init__(
        self,
        weights: Weights,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        *,
        row_by_row: bool = False,
    ) -> None:
        self.config: ModelConfig = weights.config
        self.dtype = dtype
        self.device = torch.device(device)
        self.row_by_row = row_by_row
        self.identity = _identity(weights.identity, dtype, row_by_row)
        """Differs wherever keys and values may differ: weights, precision, arithmetic. For keys of a prefix cache."""
        self._embed = _take(weights, "embed", dtype, self.device)
        self._norm = _take(weights, "norm", dtype, self.device)
        self._head = self._embed if self.config.tied else _take(weights, "head", dtype, self.device)
        self._layers = [_layer(weights, number, dtype, self.device) for number in range(self.config.layers)]
        self._cos, self._sin = rotation(self.config, dtype, self.device)
        self._scale = self.config.head_dim**-0.5

    @torch.inference_mode()
    def forward(self, batch: Batch, kv: KVPages) -> torch.Tensor:
        """Write the batch's keys and values into their pages, and score the next token where it is asked for.

        Returns [N, vocab], a row for each of ``batch.logits_at``; float32 when computing in a narrower type.
        """
        config = self.config
        x = self._embed[batch.tokens]
        plan = None if self.row_by_row else AttentionPlan(batch, kv.page_size, config.window)
        written = batch.slots
        kept = None
        if bool((written < 0).any()):
            kept = (written >= 0).nonzero().flatten()
            written = written[kept]
        heads, size = config.heads, config.head_dim
        split = [heads, config.kv_heads, config.kv_heads]
        for number, layer in enumerate(self._layers):
            normed = self._rms_norm(x, layer.attn_norm)
            q, k, v = self._linear(normed, layer.qkv).view(-1, sum(split), size).split(split, dim=1)
            q, k = self._rope(q, batch.positions), self._rope(k, batch.positions)
            if kept is not None:
                k, v = k[kept], v[kept]
            kv.k[number].flatten(0, 1).index_copy_(0, written, k)
            kv.v[number].flatten(0, 1).index_copy_(0, written, v)
            if plan is None:
                seen = rows.attention(q, kv.k[number], kv.v[number], batch, self._scale, config.window)
            else:
                seen = plan.attend(q, kv.k[number], kv.v[number], self._scale, config.group)
            x = x + self._linear(seen.reshape(-1, heads * size), layer.o)
            normed = self._rms_norm(x, layer.ffn_norm)
            gate, up = self._linear(normed, layer.gate_up).split(config.ffn, dim=1)
            x = x + self._linear(self._silu_mul(gate, up), layer.down)
        scores = self._linear(self._rms_norm(x[batch.logits_at], self._norm), self._head)
        return scores if self.dtype in (torch.float32, torch.float64) else scores.float()

    def _linear(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return rows.linear(x, weight) if self.row_by_row else functional.linear(x, weight)

    def _rms_norm(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        if self.row_by_row:
            return rows.rms_norm(x, weight, self.config.norm_eps)
        return functional.rms_norm(x, (x.shape[-1],), weight, self.config.norm_eps)

    def _rope(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return rows.rope(x, positions, self._cos, self._sin, interleaved=self.config.rope_interleaved)

    def _silu_mul(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return rows.silu_mul(gate, up) if self.row_by_row else functional.silu(gate) * up


def rotation(config: ModelConfig, dtype: torch.dtype, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines, [context, head_dim / 2], of every position's rotation; computed in float64."""
    pairs = torch.arange(0, config.head_dim, 2, dtype=torch.float64) / config.head_dim
    speeds = config.rope_base**-pairs
    if config.rope_factors is not None:
        speeds = speeds / torch.tensor(config.rope_factors, dtype=torch.float64)
    angles = torch.arange(config.context, dtype=torch.float64)[:, None] * speeds
    return angles.cos().to(device, dtype), angles.sin().to(device, dtype)


def _layer(weights: Weights, number: int, dtype: torch.dtype, device: torch.device) -> _Layer:
    def take(name: str) -> torch.Tensor:
        return _take(weights, f"layers.{number}.{name}", dtype, device)

    # One product instead of three (and two): the input is read once, and a batch of one token is all overhead.
    return _Layer(
        attn_norm=take("attn_norm"),
        qkv=torch.cat((take("q"), take("k"), take("v"))),
        o=take("o"),
        ffn_norm=take("ffn_norm"),
        gate_up=torch.cat((take("gate"), take("up"))),
        down=take("down"),
    )


def _take(weights: Weights, name: str, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    if name not in weights.tensors:
        raise WeightsError(f"{weights.config.name}: the tensor {name} is missing; get the file again")
    tensor = weights.tensors[name]
    shape = expected_shapes(weights.config)[name]
    if tuple(tensor.shape) != shape:
        raise WeightsError(f"{weights.config.name}: the tensor {name} is {tuple(tensor.shape)}, not {shape}")
    return tensor.to(device, dtype).contiguous()


def _identity(weights: bytes, dtype: torch.dtype, row_by_row: bool) -> bytes:
    how = f"{dtype}, {'row by row' if row_by_row else 'batched'}"
    return hashlib.blake2b(weights + how.encode(), digest_size=32, person=b"model").digest()
