"""A plain decoding loop for one sequence, keys and values in one piece: the engine's yardstick for speed and truth.

No pages, no batch, no prefix cache: what a careful author writes with PyTorch alone. Keys and values stand in tensors
that are allocated once, attention is PyTorch's own, and the projections are merged, so that the engine is measured
against a loop without avoidable cost. It takes nothing from :mod:`agentsim.kernels` or from the engine's forward pass
but its table of rotations, so that both must be wrong in the same way to agree wrongly.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional

from agentsim.engine.decoder import rotation
from agentsim.engine.weights.weights import Weights


class Dense:
    """One sequence of at most ``room`` tokens, computed in ``dtype`` (float32 or float64) on the CPU."""

    def __init__(self, weights: Weights, dtype: torch.dtype = torch.float32, room: int = 2_048) -> None:
        config = self._config = weights.config
        at = {name: tensor.to(dtype) for name, tensor in weights.tensors.items()}
        self._embed, self._norm, self._head = at["embed"], at["norm"], at.get("head", at["embed"])
        self._layers = [
            (
                at[f"layers.{n}.attn_norm"],
                torch.cat([at[f"layers.{n}.{part}"] for part in ("q", "k", "v")]),
                at[f"layers.{n}.o"],
                at[f"layers.{n}.ffn_norm"],
                torch.cat([at[f"layers.{n}.{part}"] for part in ("gate", "up")]),
                at[f"layers.{n}.down"],
            )
            for n in range(config.layers)
        ]
        cos, sin = rotation(config, dtype, torch.device("cpu"))
        self._turns = torch.complex(cos, sin)[:, None, :]
        self._k = torch.zeros(config.layers, config.kv_heads, room, config.head_dim, dtype=dtype)
        self._v = torch.zeros_like(self._k)
        self.length = 0
        """How many tokens the sequence has."""

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int]) -> torch.Tensor:
        """Append tokens, and score what follows the last one: [vocab]."""
        config = self._config
        count, start = len(tokens), self.length
        end = start + count
        heads, size, eps = config.heads, config.head_dim, config.norm_eps
        turned = heads + config.kv_heads
        x = self._embed[torch.tensor(tokens)]
        turns = self._turns[start:end]
        mask = None
        if count > 1 and (start or config.window is not None):
            mask = torch.ones(count, end, dtype=torch.bool).tril(start)
        if config.window is not None and end > config.window:
            whole = torch.ones(count, end, dtype=torch.bool) if mask is None else mask
            mask = whole & torch.ones(count, end, dtype=torch.bool).triu(start - config.window + 1)
        causal = count > 1 and mask is None
        for number, (attn_norm, qkv, o, ffn_norm, gate_up, down) in enumerate(self._layers):
            normed = functional.rms_norm(x, (config.dim,), attn_norm, eps)
            mixed = functional.linear(normed, qkv).view(count, -1, size)
            qk = self._rotated(mixed[:, :turned], turns).transpose(0, 1)
            k, v = self._k[number, :, :end], self._v[number, :, :end]
            k[:, start:] = qk[heads:]
            v[:, start:] = mixed[:, turned:].transpose(0, 1)
            if count == 1:  # the queries that share a key stand as rows, so that it is read once
                seen = functional.scaled_dot_product_attention(
                    qk[:heads].reshape(1, config.kv_heads, config.group, size), k[None], v[None], attn_mask=mask
                ).reshape(1, heads * size)
            else:
                seen = functional.scaled_dot_product_attention(
                    qk[None, :heads], k[None], v[None], attn_mask=mask, is_causal=causal, enable_gqa=True
                )
                seen = seen[0].transpose(0, 1).reshape(count, heads * size)
            x = x + functional.linear(seen, o)
            gate, up = functional.linear(functional.rms_norm(x, (config.dim,), ffn_norm, eps), gate_up).chunk(2, -1)
            x = x + functional.linear(functional.silu(gate) * up, down)
        self.length = end
        return functional.linear(functional.rms_norm(x[-1], (config.dim,), self._norm, eps), self._head)

    def generate(self, tokens: Sequence[int], new_tokens: int) -> list[int]:
        """The most likely continuation, token by token."""
        found = [int(self.forward(tokens).argmax())]
        while len(found) < new_tokens:
            found.append(int(self.forward(found[-1:]).argmax()))
        return found

    def _rotated(self, x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
        if self._config.rope_interleaved:
            return torch.view_as_real(torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * turns).flatten(-2)
        half = x.shape[-1] // 2
        turned = torch.complex(x[..., :half], x[..., half:]) * turns
        return torch.cat((turned.real, turned.imag), dim=-1)
