"""Weights of the Llama family from a GGUF file, whatever their quantization: numbers are restored when taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from agentsim.engine.decoder_config import ModelConfig
from agentsim.engine.few_bit_weights import FourBitLevels
from agentsim.engine.weights.gguf_file import GGUFFile, TensorPlace, open_gguf
from agentsim.engine.weights.gguf_levels import four_bit_levels
from agentsim.engine.weights.weights import LazyTensors, Weights, WeightsError, identity_of

_WHOLE = {"embed": "token_embd.weight", "norm": "output_norm.weight", "head": "output.weight"}
_PER_LAYER = {
    "attn_norm": "attn_norm",
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "o": "attn_output",
    "ffn_norm": "ffn_norm",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}
_PLAIN = {0: torch.float32, 1: torch.float16, 28: torch.float64, 30: torch.bfloat16}
"""Formats of plain numbers; the other ones are blocks of quantized numbers."""
_FACTORS = "rope_freqs.weight"


def load_gguf(path: Path) -> Weights:
    """The weights of a file. :class:`WeightsError` says what is missing, unknown or not supported, and what helps."""
    file = open_gguf(path)
    config = _config(file)
    places = {name: file.tensors[theirs] for name, theirs in _names(config).items() if theirs in file.tensors}
    missing = sorted(set(_names(config).values()) - set(file.tensors))
    if missing:
        raise WeightsError(f"{path}: {_few(missing)} missing, so the file is incomplete; get it again")
    unknown = sorted(set(file.tensors) - set(_names(config).values()) - {_FACTORS})
    if unknown:
        raise WeightsError(
            f"{path}: {_few(unknown)} not part of a plain Llama model, and leaving them out would change its answers; "
            "use a model of the Llama architecture without biases, experts or adapters"
        )
    readers: dict[str, Callable[[], torch.Tensor]] = {}
    for name, place in places.items():
        _size(file, place)  # now, so that an unsupported format is told before any work is done
        readers[name] = partial(read_tensor, file, place)
    levels = {name: partial(_levels, file, place) for name, place in places.items()}
    return Weights(config, LazyTensors(readers), identity_of(config, file.data), levels)


def _levels(file: GGUFFile, place: TensorPlace) -> FourBitLevels | None:
    return four_bit_levels(file.bytes_of(place, _size(file, place)), place.format, place.shape)


def read_tensor(file: GGUFFile, place: TensorPlace) -> torch.Tensor:
    """One tensor as float32, or in its own format where that holds plain numbers."""
    raw = file.bytes_of(place, _size(file, place))
    if place.format in _PLAIN:
        return torch.frombuffer(bytearray(raw), dtype=_PLAIN[place.format]).view(place.shape)
    import numpy
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize

    rows = numpy.frombuffer(raw, dtype=numpy.uint8).reshape(*place.shape[:-1], -1)
    return torch.from_numpy(dequantize(rows, GGMLQuantizationType(place.format)))


def _size(file: GGUFFile, place: TensorPlace) -> int:
    """Bytes of a tensor, by the block size of its format."""
    count = math.prod(place.shape)
    if not place.shape or count < 1:
        raise WeightsError(f"{file.path}: the tensor {place.name} is empty; get the file again")
    if place.format in _PLAIN:
        return count * _PLAIN[place.format].itemsize
    sizes = _block(place.format)
    if sizes is None:
        raise WeightsError(
            f"{file.path}: the tensor {place.name} is quantized in format {place.format}, which cannot be restored "
            "here; take the same model as F16, Q8_0, Q4_0, Q4_1 or a K-quant (llama-quantize makes one of the other)"
        )
    block, block_bytes = sizes
    if place.shape[-1] % block:
        raise WeightsError(f"{file.path}: rows of {place.name} do not consist of whole blocks; get the file again")
    return count // block * block_bytes


@cache
def _block(number: int) -> tuple[int, int] | None:
    """Numbers and bytes of one block of a quantized format; None for one that cannot be restored."""
    import numpy
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
    from gguf.quants import dequantize

    try:
        kind = GGMLQuantizationType(number)
        count, size = GGML_QUANT_SIZES[kind]
        dequantize(numpy.zeros((1, size), dtype=numpy.uint8), kind)
    except (ValueError, KeyError, NotImplementedError):
        return None
    return count, size


def _config(file: GGUFFile) -> ModelConfig:
    kind = _field(file, "general.architecture", str)
    if kind != "llama":
        raise WeightsError(
            f"{file.path}: a model of the architecture {kind[:40]!r}; the engine computes 'llama' alone "
            "(SmolLM2, Llama 2 and 3, Mistral 7B)"
        )
    if file.fields.get("llama.expert_count"):
        raise WeightsError(f"{file.path}: a mixture of experts; the engine computes dense models alone")
    scaling = file.fields.get("llama.rope.scaling.type", "none")
    if scaling not in ("none", "linear"):
        raise WeightsError(f"{file.path}: rotations scaled by {str(scaling)[:40]!r}, which the engine does not know")
    dim = _field(file, "llama.embedding_length", int)
    heads = _field(file, "llama.attention.head_count", int)
    head_dim = _field(file, "llama.attention.key_length", int, dim // heads if heads > 0 else 0)
    for name in ("llama.attention.value_length", "llama.rope.dimension_count"):
        if _field(file, name, int, head_dim) != head_dim:
            raise WeightsError(f"{file.path}: {name} differs from the size of a head ({head_dim}): not supported")
    embed = file.tensors.get(_WHOLE["embed"])
    if embed is None or len(embed.shape) != 2:
        raise WeightsError(f"{file.path}: {_WHOLE['embed']} missing, so the file is incomplete; get it again")
    ends = [file.fields.get(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot", "eom")]
    layers = _field(file, "llama.block_count", int)
    if layers > len(file.tensors):
        raise WeightsError(f"{file.path}: {layers} layers, but {len(file.tensors)} tensors; get the file again")
    try:
        return ModelConfig(
            name=str(file.fields.get("general.name", file.path.stem)),
            layers=layers,
            dim=dim,
            heads=heads,
            kv_heads=_field(file, "llama.attention.head_count_kv", int, heads),
            head_dim=head_dim,
            ffn=_field(file, "llama.feed_forward_length", int),
            vocab=embed.shape[0],
            rope_base=_field(file, "llama.rope.freq_base", float, 10_000.0),
            rope_interleaved=True,
            norm_eps=_field(file, "llama.attention.layer_norm_rms_epsilon", float),
            tied=_WHOLE["head"] not in file.tensors,
            context=_field(file, "llama.context_length", int),
            eos=tuple(dict.fromkeys(end for end in ends if isinstance(end, int))),
            rope_factors=_factors(file, head_dim, scaling == "linear"),
            window=file.fields.get("llama.attention.sliding_window") or None,
        )
    except (ValueError, TypeError) as error:
        raise WeightsError(f"{file.path}: metadata no model can have: {error}") from None


def _factors(file: GGUFFile, head_dim: int, linear: bool) -> tuple[float, ...] | None:
    if linear:
        return (_field(file, "llama.rope.scaling.factor", float),) * (head_dim // 2)
    if _FACTORS not in file.tensors:
        return None
    return tuple(read_tensor(file, file.tensors[_FACTORS]).flatten().tolist())


def _names(config: ModelConfig) -> dict[str, str]:
    """Our names of the tensors a model needs, each with its name in the file."""
    names = {ours: theirs for ours, theirs in _WHOLE.items() if not (ours == "head" and config.tied)}
    for layer in range(config.layers):
        names.update({f"layers.{layer}.{ours}": f"blk.{layer}.{theirs}.weight" for ours, theirs in _PER_LAYER.items()})
    return names


def _field(file: GGUFFile, key: str, kind: type, default: Any = None) -> Any:
    value = file.fields.get(key, default)
    if isinstance(value, int) and kind is float:
        value = float(value)
    if not isinstance(value, kind) or isinstance(value, bool):
        what = "missing" if value is None else f"not of the kind expected ({kind.__name__})"
        raise WeightsError(f"{file.path}: {key} is {what}; the file is damaged or not a language model")
    return value


def _few(names: list[str]) -> str:
    shown = ", ".join(repr(name[:60]) for name in names[:3])
    rest = f" and {len(names) - 3} more tensors" if len(names) > 3 else ""
    return f"{shown}{rest} {'is' if len(names) == 1 else 'are'}"
