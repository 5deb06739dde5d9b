"""Settings of a model, read under one of several names. What was read is remembered, so that a setting which changes
the layout and was not understood can be told."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentsim.engine.weights.weights_error import WeightsError

MOST = 1 << 24
"""No size of a known model comes near."""

_SMELLS = re.compile(
    r"linear|mamba|ssm|recurr|wkv|conv|delta|kda|retention|lightning|hyena|hybrid|interleav|slid|window|swa|global|"
    r"local|chunk|full_att|att(n|ention)_?(type|kind|map|layer|pattern|schedule|ind|other|every|res)|mixer|schedule|gdn|rnn|lstm|hgrn|ssd|layout|gqa|"
    r"layer_(type|kind|pattern|group|id)|"
    r"layers_block|block_(type|config|pattern)|pattern|period|interval|every_n|cross|shared?(_|$)|cla(_|$)|yoco|latent|"
    r"kv_(lora|shar|sour|mode|reuse)|index|compress|spars|nsa|moba|dsa|csa|per_layer|loop|cycle|state_(size|dim|space)|encoder_decoder|"
    r"lru|memory|mem_|k_eq_v|v_head|value_(dim|length)|d_state|cca|key_length|kpool|ngram|lsh",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"moe|expert|mlp|ffn|feed_forward|rope|norm|dropout|bias|_act$|q_lora|o_lora|mtp|nextn|multiplier|_scale$|scaling|"
    r"softcap|(alpha|beta)_factor|per_layer_input|token_(id|index)$|causal_mask|"
    r"kernels$|_kernel$|mem_eff|mamba_chunk_size|^chunk_size|dt_|a_log|allow_neg|lower_bound|safe_gate|mamba_proj|"
    r"index_(topk|n_heads)$|indexer[.](top_k|head_count)$|num_attention_heads|decoder_sparse_step|num_mem_blocks|intermediate_size$|learnable_sink|"
    r"input_output|_eps$|prefix_dense|mla_scale|rotary|swiglu|yarn|layer_scale|data_layout|projection_layout|activation_sparsity|compressor$|shared_attention_adapter|conv_(dim|use)|linear_(silu|rope)|dual_chunk|time_step",
    re.IGNORECASE,
)


class Settings:
    """Settings out of a file that may come from anywhere: every number is checked."""

    def __init__(self, path: Path, values: Mapping[str, Any]) -> None:
        self.path = path
        self.values = values
        self.read: set[str] = set()

    def raw(self, *names: str) -> Any:
        """The first of these settings that is there, unchecked; None where none is."""
        self.read.update(names)
        return next((self.values[name] for name in names if self.values.get(name) is not None), None)

    def optional(self, *names: str) -> int | None:
        """A number, if it is there."""
        value = self.raw(*names)
        return None if value is None else self.checked(value, next(n for n in names if self.values.get(n) is not None))

    def number(self, *names: str) -> int:
        """A number that must be there and above 0."""
        value = self.optional(*names)
        if not value:
            raise WeightsError(f"{self.path}: {names[0]} is missing or 0; name a language model's file")
        return value

    def checked(self, value: object, name: str) -> int:
        """``value`` as a size."""
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST:
            raise WeightsError(f"{self.path}: {name} is {str(value)[:40]!r}, not a number from 0 to {MOST:,}")
        return value

    def of_layer(self, layer: int, layers: int, *names: str) -> int | None:
        """A number that may be given layer by layer."""
        value = self.raw(*names)
        if isinstance(value, list):
            name = next(name for name in names if isinstance(self.values.get(name), list))
            return self.checked(self.list_of(layers, name)[layer], name)
        return self.optional(*names)

    def flag(self, *names: str) -> bool | None:
        """Yes or no, if it is there."""
        value = self.raw(*names)
        return value if isinstance(value, bool) else None

    def list_of(self, length: int, *names: str) -> list[Any]:
        """A list with something for each layer."""
        value = self.raw(*names)
        if not isinstance(value, list) or len(value) != length:
            raise WeightsError(f"{self.path}: {names[0]} is no list for its {length} layers")
        return value

    def places(self, layers: int, *names: str, first: int = 0) -> frozenset[int] | None:
        """A list of layers, if it is there; ``first`` is the number of the first layer."""
        value = self.raw(*names)
        if value is None:
            return None
        if not isinstance(value, list):
            raise WeightsError(f"{self.path}: {names[0]} is no list of layers")
        found = frozenset(self.checked(each, names[0]) - first for each in value)
        if any(not 0 <= each < layers for each in found):
            raise WeightsError(f"{self.path}: {names[0]} names a layer that the model's {layers} do not have")
        return found

    def part(self, name: str) -> Settings | None:
        """Settings within settings, if they are there. They count as read."""
        value = self.raw(name)
        return Settings(self.path, value) if isinstance(value, dict) else None

    def with_changes(self, changes: Mapping[str, Any]) -> Settings:
        """The same with some set otherwise, for one layer; what is read there counts here."""
        changed = Settings(self.path, {**self.values, **changes})
        changed.read = self.read
        return changed

    def not_understood(self, name: str, value: object) -> WeightsError:
        """What to raise for a setting that changes the layout in an unknown way."""
        told = str(value)[:40]
        return WeightsError(
            f"{self.path}: {name} ({told}) changes what its layers keep in a way that is not known here, so that "
            "no size is told; give --layers, --heads and --head-dim for a plain model"
        )

    def refuse_unread(self, layers: int) -> None:
        """Raise for the first setting that looks as if it changed what the ``layers`` keep, and was not read: by its
        name, or because it lists layers."""
        for name, value in self.values.items():
            if name in self.read or _says_nothing(value) or _HARMLESS.search(name):
                continue
            is_list = isinstance(value, list) and ("layer" in name or (len(value) == layers and layers > 1))
            if _SMELLS.search(name) or is_list:
                raise self.not_understood(name, value)


def _says_nothing(value: object) -> bool:
    if value is None or value is False or value == 0:
        return True
    return isinstance(value, Sequence | Mapping) and not value
