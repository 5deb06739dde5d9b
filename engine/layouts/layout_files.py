"""What a model keeps for a session, from the head of a file: GGUF, safetensors, or a Hugging Face ``config.json``.

No weights are read, and any architecture will do whose state the settings describe. A file may come from anywhere, so
that every number is checked; what is not understood is told.
"""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

from agentsim.engine.layouts.config_layout import layout_of_settings
from agentsim.engine.layouts.gguf_layout import layout_of_fields
from agentsim.engine.layouts.kv_sizes import Shape
from agentsim.engine.layouts.layout_settings import MOST
from agentsim.engine.layouts.state_layout import StateLayout
from agentsim.engine.weights.weights_error import WeightsError

_MOST_HEAD = 100 << 20
"""Bytes of a safetensors head; those of the largest models take a few megabytes."""
_MOST_CONFIG = 16 << 20
_LAYER = re.compile(r"(?:^|\.)layers\.(\d+)\.self_attn\.(q_proj|k_proj|v_proj|q_norm)\.weight$")


def layout_of(path: Path) -> StateLayout:
    """What the model keeps that a file or folder tells. Raises WeightsError with a remedy."""
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


def from_config(path: Path) -> StateLayout:
    """The layout in a ``config.json``."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_CONFIG + 1)
        settings = json.loads(content) if len(content) <= _MOST_CONFIG else None
    except (OSError, ValueError, RecursionError) as error:
        raise WeightsError(f"{path}: not readable as JSON; name a config.json, .gguf or .safetensors file") from error
    if not isinstance(settings, dict):
        raise WeightsError(f"{path}: not a model's configuration; name a config.json, .gguf or .safetensors file")
    return layout_of_settings(path, settings)


def from_gguf(path: Path) -> StateLayout:
    """The layout in the metadata of a GGUF file."""
    from agentsim.engine.weights.gguf_file import open_gguf

    return layout_of_fields(path, open_gguf(path).fields)


def from_safetensors(path: Path) -> StateLayout:
    """The layout told by the sizes of a file's projections. How wide a head is they do not tell, unless queries and
    keys are normalised head by head: else the configuration must stand beside the file."""
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
    shape = Shape(len(layers), queries // width[0], keys // width[0], width[0])
    if not shape.kv_heads or shape.heads % shape.kv_heads:
        raise WeightsError(f"{path}: {shape.heads} query and {shape.kv_heads} K/V heads are no attention")
    return StateLayout.plain(shape, path.stem)


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
    return isinstance(shape, list) and bool(shape) and all(isinstance(n, int) and 0 <= n <= MOST for n in shape)
