"""Weights of the Llama family from a folder in Hugging Face form: ``config.json`` and ``*.safetensors``."""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from agentsim.engine.decoder_config import ModelConfig
from agentsim.engine.weights.weights import LazyTensors, Weights, WeightsError, identity_of

_INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"
_WHOLE = {"embed": "model.embed_tokens.weight", "norm": "model.norm.weight", "head": "lm_head.weight"}
_PER_LAYER = {
    "attn_norm": "input_layernorm",
    "q": "self_attn.q_proj",
    "k": "self_attn.k_proj",
    "v": "self_attn.v_proj",
    "o": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}
_SPARE = "rotary_emb.inv_freq"
"""Old files carry the rotation speeds, which the configuration gives too."""


def load_safetensors(folder: Path) -> Weights:
    """The weights of a folder. :class:`WeightsError` says what is missing, unknown or not supported."""
    settings = _json(folder / "config.json")
    config = _config(folder, settings)
    shards = _shards(folder)
    names = _names(config)
    missing = sorted(set(names.values()) - set(shards))
    if missing:
        raise WeightsError(f"{folder}: {missing[0]!r} is missing ({len(missing)} tensors in all); get the model again")
    unknown = sorted(name for name in set(shards) - set(names.values()) if not name.endswith(_SPARE))
    if config.tied:
        unknown = [name for name in unknown if name != _WHOLE["head"]]  # a copy of the embedding
    if unknown:
        raise WeightsError(
            f"{folder}: {unknown[0][:60]!r} ({len(unknown)} tensors in all) is not part of a plain Llama model, and "
            "leaving it out would change the answers; use a model without biases, experts or adapters"
        )
    readers: dict[str, Callable[[], torch.Tensor]] = {
        ours: partial(_read, shards[theirs], theirs) for ours, theirs in names.items()
    }
    files = [_mapped(path) for path in sorted(set(shards.values()))]
    return Weights(config, LazyTensors(readers), identity_of(config, *files))


def _config(folder: Path, settings: Mapping[str, Any]) -> ModelConfig:
    kind = settings.get("model_type")
    if kind not in ("llama", "mistral"):
        raise WeightsError(
            f"{folder}: a model of type {str(kind)[:40]!r}; the engine computes 'llama' and 'mistral' alone"
        )
    if settings.get("hidden_act", "silu") != "silu":
        raise WeightsError(f"{folder}: the activation {str(settings['hidden_act'])[:40]!r} is not supported, only silu")
    try:
        dim, heads = int(settings["hidden_size"]), int(settings["num_attention_heads"])
        head_dim = int(settings.get("head_dim") or dim // heads)
        ends = settings.get("eos_token_id")
        return ModelConfig(
            name=str(settings.get("_name_or_path") or folder.name),
            layers=int(settings["num_hidden_layers"]),
            dim=dim,
            heads=heads,
            kv_heads=int(settings.get("num_key_value_heads") or heads),
            head_dim=head_dim,
            ffn=int(settings["intermediate_size"]),
            vocab=int(settings["vocab_size"]),
            rope_base=_rope_base(settings),
            rope_interleaved=False,
            norm_eps=float(settings.get("rms_norm_eps", 1e-6)),
            tied=bool(settings.get("tie_word_embeddings", False)),
            context=int(settings.get("max_position_embeddings", 2_048)),
            eos=tuple(ends) if isinstance(ends, list) else () if ends is None else (int(ends),),
            rope_factors=_factors(folder, settings, head_dim),
            window=settings.get("sliding_window") if kind == "mistral" else None,
        )
    except KeyError as error:
        raise WeightsError(f"{folder / 'config.json'}: {error} is missing; the folder is incomplete") from None
    except (ValueError, TypeError, ArithmeticError) as error:
        raise WeightsError(f"{folder / 'config.json'}: a setting no model can have: {error}") from None


def _rope_base(settings: Mapping[str, Any]) -> float:
    newer = settings.get("rope_parameters") or {}
    return float(newer.get("rope_theta") or settings.get("rope_theta") or 10_000.0)


def _factors(folder: Path, settings: Mapping[str, Any], head_dim: int) -> tuple[float, ...] | None:
    """By how much each pair turns more slowly: the 'linear' and the 'llama3' scaling of the Hugging Face files."""
    scaling = settings.get("rope_parameters") or settings.get("rope_scaling") or {}
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind == "default":
        return None
    if kind == "linear":
        return (float(scaling["factor"]),) * (head_dim // 2)
    if kind != "llama3":
        raise WeightsError(f"{folder}: rotations scaled by {str(kind)[:40]!r}, which the engine does not know")
    base, factor = _rope_base(settings), float(scaling["factor"])
    low, high = float(scaling["low_freq_factor"]), float(scaling["high_freq_factor"])
    original = float(scaling["original_max_position_embeddings"])
    factors = []
    for pair in range(head_dim // 2):
        turns = original / (2 * math.pi * base ** (2 * pair / head_dim))  # whole turns within the original context
        share = min(1.0, max(0.0, (turns - low) / (high - low)))  # 1: turns as before, 0: slowed down in full
        factors.append(1 / ((1 - share) / factor + share))
    return tuple(factors)


def _names(config: ModelConfig) -> dict[str, str]:
    names = {ours: theirs for ours, theirs in _WHOLE.items() if not (ours == "head" and config.tied)}
    for layer in range(config.layers):
        for ours, theirs in _PER_LAYER.items():
            names[f"layers.{layer}.{ours}"] = f"model.layers.{layer}.{theirs}.weight"
    return names


def _shards(folder: Path) -> dict[str, Path]:
    """Which file of the folder holds which tensor."""
    from safetensors import SafetensorError, safe_open

    if (folder / _INDEX).is_file():
        table = _json(folder / _INDEX).get("weight_map")
        if not isinstance(table, dict):
            raise WeightsError(f"{folder / _INDEX}: no weight_map; the folder is incomplete")
        # Only the file's name counts: an index must not lead out of its folder.
        return {str(name): folder / Path(str(file)).name for name, file in table.items()}
    path = folder / _SINGLE
    try:
        with safe_open(path, framework="pt") as opened:
            return dict.fromkeys(opened.keys(), path)
    except FileNotFoundError:
        raise WeightsError(
            f"{folder}: neither {_SINGLE} nor {_INDEX} is there; pickled weights (.bin, .pt) are not read, because "
            "loading them can run any code"
        ) from None
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"{path}: not a sound safetensors file: {error}") from None


def _read(path: Path, name: str) -> torch.Tensor:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as opened:
            tensor: torch.Tensor = opened.get_tensor(name)
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"{path}: {name} cannot be read: {error}; get the model again") from None
    if not tensor.dtype.is_floating_point:
        raise WeightsError(f"{path}: {name} holds whole numbers ({tensor.dtype}): quantized safetensors are not read")
    return tensor


def _mapped(path: Path) -> memoryview:
    try:
        with path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        raise WeightsError(f"{path} is missing or empty; get the model again") from None


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise WeightsError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise WeightsError(f"{path}: not JSON; get the model again") from None
    if not isinstance(content, dict):
        raise WeightsError(f"{path}: not a JSON object; get the model again")
    return content
