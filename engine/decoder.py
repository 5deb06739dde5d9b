"""The decoder: one forward pass over a batch of sequences whose keys and values live in pages."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import torch

from agentsim.engine import row_arithmetic, weight_products
from agentsim.engine.decoder_config import ModelConfig
from agentsim.engine.few_bit_weights import FewBits, in_few_bits
from agentsim.engine.forward_batch import Batch
from agentsim.engine.kv_pages import KVPages, PageRoom
from agentsim.engine.weights.weights import Weights, WeightsError, expected_shapes
from agentsim.kernels import rms_norm, rope, silu_mul, write_pages


@dataclass(frozen=True, slots=True)
class _Layer:
    attn_norm: torch.Tensor
    qkv: torch.Tensor | FewBits
    o: torch.Tensor | FewBits
    ffn_norm: torch.Tensor
    gate_up: torch.Tensor | FewBits
    down: torch.Tensor | FewBits


class Decoder:
    """A decoder of the Llama family, ready to compute in ``dtype`` on ``device``.

    ``row_by_row`` computes every token so that its bits do not depend on the batch it is in (see
    :mod:`agentsim.engine.row_arithmetic`): for small models and for checking, as it is many times slower.
    ``kv_bits`` of 4 keeps keys and values in four bits. ``few_bits`` multiplies few rows by weights in few bits (see
    :mod:`agentsim.engine.few_bit_weights`): on a CPU alone. Raises ValueError for what does not go together.
    """

    def __init__(
        self,
        weights: Weights,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        *,
        row_by_row: bool = False,
        kv_bits: int | None = None,
        few_bits: bool = False,
    ) -> None:
        if kv_bits not in (None, 4) or (kv_bits and row_by_row):
            raise ValueError(f"keys and values in {kv_bits} bits are not kept here, nor in fewer bits row by row")
        if few_bits and (row_by_row or torch.device(device).type != "cpu" or dtype not in FEW_BITS_BESIDE):
            raise ValueError(
                "weights in few bits are multiplied on a CPU, beside float32 or bfloat16, and not row by row"
            )
        self.config: ModelConfig = weights.config
        self.dtype = dtype
        self.device = torch.device(device)
        self.row_by_row = row_by_row
        self.kv_bits = kv_bits
        self.identity = _identity(weights.identity, dtype, row_by_row, kv_bits, few_bits)
        """Differs wherever keys and values may differ: weights, precision, arithmetic. For keys of a prefix cache."""
        self._embed = _take(weights, "embed", dtype, self.device)
        self._norm = _take(weights, "norm", dtype, self.device)
        head = self._embed if self.config.tied else _take(weights, "head", dtype, self.device)
        self._head = _few(weights, head, "embed" if self.config.tied else "head") if few_bits else head
        self._layers = [_layer(weights, number, dtype, self.device, few_bits) for number in range(self.config.layers)]
        self._cos, self._sin = rotation(self.config, dtype, self.device)
        self._scale = self.config.head_dim**-0.5

    @torch.inference_mode()
    def forward(self, batch: Batch, kv: PageRoom) -> torch.Tensor:
        """Write the batch's keys and values into their pages, and score the next token where it is asked for.

        Returns [N, vocab], a row for each of ``batch.logits_at``; float32 when computing in a narrower type.
        ``ValueError`` for positions beyond the model's context.
        """
        if batch.longest > self.config.context:  # counted on the host: no device is waited for
            raise ValueError(f"position {batch.longest - 1} is beyond the context of {self.config.context}")
        hidden = self._hidden_by_row(batch, kv) if self.row_by_row else self._hidden(batch, kv)
        if self.row_by_row:
            scores = row_arithmetic.linear(hidden, _whole(self._head))
        else:
            scores = weight_products.linear(hidden, self._head)
        return scores if self.dtype in (torch.float32, torch.float64) else scores.float()

    def _hidden(self, batch: Batch, kv: PageRoom) -> torch.Tensor:
        """The last layer's output, normed, of the rows whose scores are asked for; by the operations of the device."""
        config = self.config
        eps, turned = config.norm_eps, config.heads + config.kv_heads
        count = batch.tokens.shape[0]
        x = self._embed[batch.tokens]
        turns = self._turns(batch.positions)
        added: torch.Tensor | None = None
        for number, layer in enumerate(self._layers):
            if added is None:
                normed = rms_norm(x, layer.attn_norm, eps)
            else:
                normed, x = rms_norm(added, layer.attn_norm, eps, x)
            qkv = weight_products.linear(normed, layer.qkv).view(count, turned + config.kv_heads, config.head_dim)
            # Queries and keys turn alike, so they turn together.
            if turns is None:
                qk = rope(qkv[:, :turned], batch.positions, self._cos, self._sin, interleaved=config.rope_interleaved)
            else:
                pairs = torch.view_as_complex(qkv[:, :turned].reshape(count, turned, config.head_dim // 2, 2))
                qk = torch.view_as_real(pairs * turns).flatten(-2)
            kv.write(number, qk[:, config.heads :], qkv[:, turned:], batch.slots)
            seen = kv.attend(number, qk[:, : config.heads], batch, self._scale, config.window).reshape(count, -1)
            if number == config.layers - 1:  # keys and values are written: only what is asked for goes on
                seen, x = seen[batch.logits_at], x[batch.logits_at]
            normed, x = rms_norm(weight_products.linear(seen, layer.o), layer.ffn_norm, eps, x)
            gate_up = weight_products.linear(normed, layer.gate_up)
            added = weight_products.linear(silu_mul(gate_up[:, : config.ffn], gate_up[:, config.ffn :]), layer.down)
        assert added is not None  # a model has a layer
        return rms_norm(added, self._norm, eps, x)[0]

    def _turns(self, positions: torch.Tensor) -> torch.Tensor | None:
        """The rotations of a batch as complex numbers, [T, 1, head_dim / 2], where one product can turn a pair.

        The same numbers that the operation ``rope`` would make anew in every layer, which on a CPU is two hundredths
        of the time of a token. None where pairs are not neighbours, in narrow types, and on devices with kernels.
        """
        if not self.config.rope_interleaved or self._cos.dtype != self.dtype or self.device.type != "cpu":
            return None
        return torch.complex(self._cos[positions], self._sin[positions])[:, None, :]

    def _hidden_by_row(self, batch: Batch, kv: PageRoom) -> torch.Tensor:
        """The same, by arithmetic that treats every row alike."""
        assert isinstance(kv, KVPages)
        config = self.config
        eps, turned = config.norm_eps, config.heads + config.kv_heads
        count = batch.tokens.shape[0]
        x = self._embed[batch.tokens]
        for number, layer in enumerate(self._layers):
            qkv = row_arithmetic.linear(row_arithmetic.rms_norm(x, layer.attn_norm, eps), _whole(layer.qkv)).view(
                count, -1, config.head_dim
            )
            qk = row_arithmetic.rope(
                qkv[:, :turned], batch.positions, self._cos, self._sin, interleaved=config.rope_interleaved
            )
            k_pages, v_pages = kv.k[number], kv.v[number]
            write_pages(qk[:, config.heads :], qkv[:, turned:], k_pages, v_pages, batch.slots)
            seen = row_arithmetic.attention(qk[:, : config.heads], k_pages, v_pages, batch, self._scale, config.window)
            x = x + row_arithmetic.linear(seen.reshape(count, -1), _whole(layer.o))
            gate_up = row_arithmetic.linear(row_arithmetic.rms_norm(x, layer.ffn_norm, eps), _whole(layer.gate_up))
            x = x + row_arithmetic.linear(
                row_arithmetic.silu_mul(gate_up[:, : config.ffn], gate_up[:, config.ffn :]), _whole(layer.down)
            )
        return row_arithmetic.rms_norm(x[batch.logits_at], self._norm, eps)


def rotation(config: ModelConfig, dtype: torch.dtype, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines, [context, head_dim / 2], of every position's rotation; computed in float64.

    Kept in float32 at least: in a narrower type neighbouring positions would turn by the same angle.
    """
    pairs = torch.arange(0, config.head_dim, 2, dtype=torch.float64) / config.head_dim
    speeds = config.rope_base**-pairs
    if config.rope_factors is not None:
        speeds = speeds / torch.tensor(config.rope_factors, dtype=torch.float64)
    angles = torch.arange(config.context, dtype=torch.float64)[:, None] * speeds
    kept = torch.promote_types(dtype, torch.float32)
    return angles.cos().to(device, kept), angles.sin().to(device, kept)


FEW_BITS_BESIDE = (torch.float32, torch.bfloat16)


def _layer(weights: Weights, number: int, dtype: torch.dtype, device: torch.device, few_bits: bool) -> _Layer:
    def take(name: str) -> torch.Tensor:
        return _take(weights, f"layers.{number}.{name}", dtype, device)

    def matrix(*names: str) -> torch.Tensor | FewBits:
        full = torch.cat([take(name) for name in names]) if len(names) > 1 else take(names[0])
        return _few(weights, full, *(f"layers.{number}.{name}" for name in names)) if few_bits else full

    # One product instead of three (and two): the input is read once, and a batch of one token is all overhead.
    return _Layer(
        attn_norm=take("attn_norm"),
        qkv=matrix("q", "k", "v"),
        o=matrix("o"),
        ffn_norm=take("ffn_norm"),
        gate_up=matrix("gate", "up"),
        down=matrix("down"),
    )


def _whole(matrix: torch.Tensor | FewBits) -> torch.Tensor:
    assert isinstance(matrix, torch.Tensor), "row by row, no weights are in few bits"
    return matrix


def _few(weights: Weights, full: torch.Tensor, *names: str) -> FewBits:
    return in_few_bits(full, [weights.levels[name]() if name in weights.levels else None for name in names])


def _take(weights: Weights, name: str, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    if name not in weights.tensors:
        raise WeightsError(f"{weights.config.name}: the tensor {name} is missing; get the file again")
    tensor = weights.tensors[name]
    shape = expected_shapes(weights.config)[name]
    if tuple(tensor.shape) != shape:
        raise WeightsError(f"{weights.config.name}: the tensor {name} is {tuple(tensor.shape)}, not {shape}")
    return tensor.to(device, dtype).contiguous()


def _identity(weights: bytes, dtype: torch.dtype, row_by_row: bool, kv_bits: int | None, few_bits: bool) -> bytes:
    how = f"{dtype}, {'row by row' if row_by_row else 'batched'}" + (f", K/V in {kv_bits} bits" if kv_bits else "")
    how += ", few rows by weights in few bits" if few_bits else ""
    return hashlib.blake2b(weights + how.encode(), digest_size=32, person=b"model").digest()
