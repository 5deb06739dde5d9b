"""The shape of a model's attention, from the head of a file: GGUF, safetensors, or a Hugging Face ``config.json``.

Only what K/V depends on is read; no weights are, and any architecture will do whose state these numbers describe. A
file may come from anywhere, so that every number is checked.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentsim.engine.lab.kv_sizes import Shape
from agentsim.engine.weights.weights_error import WeightsError

_MOST = 1 << 24
_MOST_HEAD = 100 << 20
"""Bytes of a safetensors head; those of the largest models take a few megabytes."""
_MOST_CONFIG = 16 << 20
_LAYER = re.compile(r"(?:^|\.)layers\.(\d+)\.self_attn\.(q_proj|k_proj|v_proj|q_norm)\.weight$")
_WINDOWED = ("sliding_attention", "chunked_attention", "local_attention")
_WITHOUT_KV = ("linear_attention", "mamba", "recurrent", "conv", "moe", "mlp")


def shape_of(path: Path) -> Shape:
    """The shape that a file or folder tells. Raises WeightsError with a remedy."""
    if path.is_dir():
        if (path / "config.json").is_file():
            return from_config(path / "config.json")
        files = sorted(path.glob("*.gguf"))
        if len(files) == 1:
            return from_gguf(files[0])
        raise WeightsError(f"{path}: neither config.json nor one .gguf file is here; name a file")
    if not path.exists():
        raise WeightsError(f"{path}: no such file or folder")
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == b"GGUF":
        return from_gguf(path)
    if path.suffix == ".safetensors":
        beside = path.parent / "config.json"
        return from_config(beside) if beside.is_file() else from_safetensors(path)
    return from_config(path)


def from_config(path: Path) -> Shape:
    """The shape in a ``config.json``; that of the text part where a model has several."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_CONFIG + 1)
        settings = json.loads(content) if len(content) <= _MOST_CONFIG else None
    except (OSError, ValueError, RecursionError) as error:
        raise WeightsError(f"{path}: not readable as JSON; name a config.json, .gguf or .safetensors file") from error
    if isinstance(settings, dict) and isinstance(settings.get("text_config"), dict):
        settings = settings["text_config"]
    if not isinstance(settings, dict):
        raise WeightsError(f"{path}: not a model's configuration; name a config.json, .gguf or .safetensors file")
    take = _Taker(path, settings)
    layers = take.number("num_hidden_layers", "n_layer", "num_layers", "n_layers")
    heads = take.number("num_attention_heads", "n_head", "num_heads", "n_heads")
    latent = take.optional("kv_lora_rank")
    if latent:
        latent += take.optional("qk_rope_head_dim") or 0
    head_dim = take.optional("head_dim", "kv_channels")
    if head_dim is None:
        head_dim = take.number("hidden_size", "n_embd", "d_model") // heads
    kinds = settings.get("layer_types", settings.get("layers_block_type"))
    keeping, windowed = _kinds(path, kinds, layers)
    window = take.optional("sliding_window", "attention_chunk_size") or 0
    if window and kinds is None:
        windowed = _windowed(settings, layers)
    return _checked(
        path,
        Shape(
            layers=keeping,
            heads=heads,
            kv_heads=take.optional("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
            or (1 if settings.get("multi_query") is True else heads),
            head_dim=head_dim,
            value_dim=take.optional("v_head_dim") if not latent else None,
            latent=latent or 0,
            window=window if windowed else 0,
            window_layers=windowed if window else 0,
            context=take.optional("max_position_embeddings", "n_positions", "seq_length"),
            name=str(settings.get("_name_or_path") or settings.get("model_type") or path.parent.name),
        ),
    )


def from_gguf(path: Path) -> Shape:
    """The shape in the metadata of a GGUF file."""
    from agentsim.engine.weights.gguf_file import open_gguf

    fields = open_gguf(path).fields
    kind = fields.get("general.architecture")
    prefix = f"{kind}."
    take = _Taker(path, {k.removeprefix(prefix): v for k, v in fields.items() if k.startswith(prefix)})
    layers, heads = take.number("block_count"), take.number("attention.head_count")
    kv_heads, keeping = heads, layers
    given = take.settings.get("attention.head_count_kv")
    if isinstance(given, list):
        present = [each for each in given if each]
        if not present or len(set(present)) > 1 or not isinstance(present[0], int):
            raise WeightsError(f"{path}: its layers have different numbers of K/V heads, which is not counted here")
        kv_heads, keeping = present[0], len(present)
    elif given is not None:
        kv_heads = take.number("attention.head_count_kv")
    latent = take.optional("attention.kv_lora_rank") or 0
    if latent:
        latent += take.optional("rope.dimension_count") or 0
    head_dim = take.optional("attention.key_length") or take.number("embedding_length") // heads
    window = take.optional("attention.sliding_window") or 0
    pattern = take.optional("attention.sliding_window_pattern") or 1
    windowed = keeping - keeping // pattern if pattern > 1 else keeping
    return _checked(
        path,
        Shape(
            layers=keeping,
            heads=heads,
            kv_heads=kv_heads,
            head_dim=head_dim,
            value_dim=take.optional("attention.value_length") if not latent else None,
            latent=latent,
            window=window,
            window_layers=windowed if window else 0,
            context=take.optional("context_length"),
            name=str(fields.get("general.name") or kind),
        ),
    )


def from_safetensors(path: Path) -> Shape:
    """The shape told by the sizes of a file's projections. How wide a head is they do not tell, unless queries and keys
    are normalised head by head: else the configuration must stand beside the file."""
    projections: dict[str, tuple[int, ...]] = {}
    layers: set[int] = set()
    for name, entry in _head(path).items():
        found = _LAYER.search(name)
        if found and isinstance(entry, dict) and _sizes(entry.get("shape")):
            layers.add(int(found[1]))
            projections.setdefault(found[2], tuple(entry["shape"]))
    width = projections.get("q_norm")
    if not layers or "k_proj" not in projections or "q_proj" not in projections or width is None:
        raise WeightsError(f"{path}: the width of a head is not told here; put its config.json beside it, or name that")
    queries, keys = projections["q_proj"][0], projections["k_proj"][0]
    if not width[0] or queries % width[0] or keys % width[0]:
        raise WeightsError(f"{path}: its projections do not divide into heads of {width[0]}; name its config.json")
    return _checked(
        path,
        Shape(
            layers=len(layers),
            heads=queries // width[0],
            kv_heads=keys // width[0],
            head_dim=width[0],
            name=path.stem,
        ),
    )


class _Taker:
    """Numbers out of settings, under one of several names."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self.settings = settings

    def optional(self, *names: str) -> int | None:
        for name in names:
            value = self.settings.get(name)
            if value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
                raise WeightsError(f"{self.path}: {name} is {str(value)[:40]!r}, not a number from 0 to {_MOST:,}")
            return value
        return None

    def number(self, *names: str) -> int:
        value = self.optional(*names)
        if not value:
            raise WeightsError(f"{self.path}: {names[0]} is missing or 0; name a language model's file")
        return value


def _kinds(path: Path, kinds: object, layers: int) -> tuple[int, int]:
    """How many layers keep K/V, and how many of these only a window's."""
    if kinds is None:
        return layers, 0
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds) or len(kinds) > layers:
        raise WeightsError(f"{path}: the kinds of its layers are no list of names for {layers} layers")
    without = sum(kind in _WITHOUT_KV for kind in kinds)
    return layers - without, sum(kind in _WINDOWED for kind in kinds)


def _windowed(settings: Mapping[str, Any], layers: int) -> int:
    """Layers with a window, for configurations that do not list the kinds."""
    if settings.get("use_sliding_window") is False:
        return 0
    pattern = settings.get("sliding_window_pattern")
    if isinstance(pattern, int) and not isinstance(pattern, bool) and pattern > 1:
        return layers - layers // pattern
    if settings.get("model_type") == "gemma2":
        return layers - layers // 2
    below = settings.get("max_window_layers")
    if settings.get("use_sliding_window") is True and isinstance(below, int) and 0 <= below <= layers:
        return layers - below
    return layers


def _checked(path: Path, shape: Shape) -> Shape:
    if not shape.layers or not shape.head_dim or not shape.kv_heads or shape.heads % shape.kv_heads:
        raise WeightsError(
            f"{path}: {shape.layers} layers of {shape.heads} query and {shape.kv_heads} K/V heads are no attention"
        )
    return shape


def _head(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            content = file.read(length) if length <= _MOST_HEAD else b""
            head = json.loads(content) if len(content) == length else None
    except (OSError, ValueError, struct.error, RecursionError) as error:
        raise WeightsError(f"{path}: no sound safetensors file; get it again") from error
    if not isinstance(head, dict):
        raise WeightsError(f"{path}: no sound safetensors file; get it again")
    return head


def _sizes(shape: object) -> bool:
    return isinstance(shape, list) and bool(shape) and all(isinstance(n, int) and 0 <= n <= _MOST for n in shape)
