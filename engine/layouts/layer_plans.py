"""Which layer attends to what: the ways in which configurations say it, one function each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from agentsim.engine.layouts.layout_settings import Settings
from agentsim.engine.weights.weights_error import WeightsError


class AttentionSpan(Enum):
    """Of which tokens a layer keeps K/V."""

    ALL = "full attention"
    WINDOW = "sliding window"
    CHUNK = "chunk"
    IMAGE = "image"


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """What one layer keeps: K/V of some tokens, a recurrent state, both, or nothing."""

    span: AttentionSpan | None = None
    recurrent: bool = False
    indexed: bool | None = None
    """It chooses tokens by keys of an index. None: not said for single layers."""
    shares: bool = False
    """It reads the K/V of another layer."""


FULL, WINDOW, CHUNK = LayerPlan(AttentionSpan.ALL), LayerPlan(AttentionSpan.WINDOW), LayerPlan(AttentionSpan.CHUNK)
RECURRENT, NOTHING = LayerPlan(recurrent=True), LayerPlan()
BOTH, INDEXED = LayerPlan(AttentionSpan.ALL, recurrent=True), LayerPlan(AttentionSpan.ALL, indexed=True)

NAMED = {
    **dict.fromkeys(("full_attention", "attention", "global_attention", "global", "full"), FULL),
    **dict.fromkeys(("sliding_attention", "sliding_window_attention", "local_attention", "local", "sliding"), WINDOW),
    "chunked_attention": CHUNK,
    **dict.fromkeys(("linear_attention", "mamba", "mamba2", "recurrent", "conv", "kda", "gated_deltanet"), RECURRENT),
    "hybrid": BOTH,
    "hybrid_sliding": LayerPlan(AttentionSpan.WINDOW, recurrent=True),
    **dict.fromkeys(("indexed_attention", "deepseek_sparse_attention"), INDEXED),
    **dict.fromkeys(("moe", "mlp"), NOTHING),
}
_LETTERS = {"M": RECURRENT, "*": FULL, "E": NOTHING, "-": NOTHING}

WINDOW_PERIODS = {
    "gemma2": 2, "gemma3": 6, "gemma3_text": 6, "gemma3n_text": 5, "gemma4_text": 6, "cohere2": 4, "gpt_oss": 2,
    "olmo3": 4, "exaone4": 4,
}  # fmt: skip
"""Of so many layers the last attends to everything: of models whose early configurations do not say it."""

_SEARCHED_OTHERS = ("sparsify", "window_length", "unshifted_sink", "num_sink_tokens", "mamba", "llama4")

Reader = Callable[[Settings, int], Sequence[LayerPlan] | None]


def layer_plans(take: Settings, layers: int) -> tuple[list[LayerPlan], bool]:
    """What each layer keeps, and whether the settings say it of each (else all are taken to attend)."""
    by_windows = _windowed(take, layers)
    said = [plans for reader in _READERS if (plans := reader(take, layers)) is not None]
    plans = list(said[0]) if said else by_windows
    named = any(take.values.get(each) is not None for each in ("layer_types", "layers_block_type"))
    if said and not named and WINDOW in by_windows and not any(plan.span is AttentionSpan.WINDOW for plan in plans):
        raise take.not_understood("sliding_window", take.values.get("sliding_window"))
    if len(plans) != layers:
        raise WeightsError(f"{take.path}: the kinds of its layers are told for {len(plans)} of {layers} layers")
    for place in take.places(layers, "cross_attention_layers") or ():
        plans[place] = LayerPlan(AttentionSpan.IMAGE)
    return _shared(take, plans), bool(said)


def _blocks(take: Settings, layers: int) -> Sequence[LayerPlan] | None:
    """Layers chosen by a search: some have no attention."""
    if take.raw("block_configs") is None:
        return None
    blocks = take.list_of(layers, "block_configs")
    return [NOTHING if _replaced(take, block) else FULL for block in blocks]


def _replaced(take: Settings, block: object) -> bool:
    attention = block.get("attention") if isinstance(block, dict) else None
    if not isinstance(attention, dict) or any(attention.get(name) for name in _SEARCHED_OTHERS):
        raise take.not_understood("block_configs", attention)
    return bool(attention.get("no_op") or attention.get("replace_with_linear"))


def _names(take: Settings, layers: int) -> Sequence[LayerPlan] | None:
    name = next((each for each in ("layer_types", "layers_block_type") if take.raw(each) is not None), None)
    return None if name is None else [_named(take, name, kind) for kind in take.list_of(layers, name)]


def _named(take: Settings, name: str, kind: object) -> LayerPlan:
    if not isinstance(kind, str):
        raise WeightsError(f"{take.path}: {name} is no list of names")
    if kind not in NAMED:
        raise take.not_understood(name, kind)
    return NAMED[kind]


def _repeated_names(take: Settings, layers: int) -> Sequence[LayerPlan] | None:
    """Names that repeat until all layers have one; attention is within a window where one is given beside."""
    value = take.raw("block_types", "_block_types")
    if value is None:
        return None
    if not isinstance(value, list) or not value:
        raise WeightsError(f"{take.path}: block_types is no list of names")
    plans = [_named(take, "block_types", kind) for kind in value]
    if take.raw("attention_window_size") is not None:
        plans = [WINDOW if plan == FULL else plan for plan in plans]
    return [plans[layer % len(plans)] for layer in range(layers)]


def _letters(take: Settings, layers: int) -> Sequence[LayerPlan] | None:
    value = take.raw("hybrid_override_pattern")
    if value is None:
        return None
    if not isinstance(value, str) or not set(value) <= _LETTERS.keys():
        raise take.not_understood("hybrid_override_pattern", value)
    return [_LETTERS[letter] for letter in value]


def _numbers(name: str, zero: LayerPlan, one: LayerPlan) -> Reader:
    """A list of 0 and 1."""

    def reader(take: Settings, layers: int) -> Sequence[LayerPlan] | None:
        if take.raw(name) is None:
            return None
        values = take.list_of(layers, name)
        if not all(value in (0, 1) for value in values):
            raise take.not_understood(name, sorted({str(value)[:10] for value in values}))
        return [one if value else zero for value in values]

    return reader


def _global_and_local(take: Settings, layers: int) -> Sequence[LayerPlan] | None:
    values = take.raw("attention_layers")
    pattern = take.raw("attention_types")  # [[["global", "local"], 12]]
    if values is None and pattern is None:
        return None
    if values is None:
        try:
            values = [kind for kinds, times in pattern for _ in range(times) for kind in kinds]
        except (TypeError, ValueError):
            raise take.not_understood("attention_types", pattern) from None
    return [_named(take, "attention_layers", kind) for kind in values]


def _two_lists(take: Settings, layers: int) -> Sequence[LayerPlan] | None:
    """Layers of full attention and of linear attention, counted from one."""
    part = take.part("linear_attn_config")
    full = None if part is None else part.places(layers, "full_attn_layers", first=1)
    if part is None or full is None:
        return None
    linear = part.places(layers, "kda_layers", first=1)
    if linear is not None and (linear & full or len(linear | full) != layers):
        raise take.not_understood("linear_attn_config", "its two lists do not name each layer once")
    return _at(full, FULL, RECURRENT, layers)


def _places(name: str, there: LayerPlan) -> Reader:
    """The layers with attention, counted from nought; the others are recurrent."""

    def reader(take: Settings, layers: int) -> Sequence[LayerPlan] | None:
        found = take.places(layers, name)
        return None if found is None else _at(found, there, RECURRENT, layers)

    return reader


def _at(places: frozenset[int], there: LayerPlan, elsewhere: LayerPlan, layers: int) -> list[LayerPlan]:
    return [there if layer in places else elsewhere for layer in range(layers)]


def _every_so_many(take: Settings, layers: int) -> Sequence[LayerPlan] | None:
    """Attention once in a period, at an offset; recurrent layers between."""
    period = take.optional("attn_layer_period")
    if period:
        if take.values.get("model_type") == "zamba":  # its first layers are otherwise
            raise take.not_understood("attn_layer_period", period)
        offset = take.optional("attn_layer_offset") or 0
        return [FULL if layer % period == offset else RECURRENT for layer in range(layers)]
    period = take.optional("full_attention_interval")
    if period:
        return _last_of(period, layers, RECURRENT)
    period = take.optional("layer_group_size")
    if period:  # what is left over behind the last whole group attends, too
        whole = layers // period * period
        return [FULL if (layer + 1) % period == 0 or layer >= whole else RECURRENT for layer in range(layers)]
    return None


def _last_of(period: int, layers: int, between: LayerPlan) -> list[LayerPlan]:
    return [FULL if (layer + 1) % period == 0 else between for layer in range(layers)]


def _side_by_side(take: Settings, layers: int) -> Sequence[LayerPlan] | None:
    """Attention and a recurrent state in each layer."""
    return [BOTH] * layers if take.optional("mamba_d_ssm") else None


def _without_attention(take: Settings, layers: int) -> Sequence[LayerPlan] | None:
    """Models that say by their name alone that all their layers are recurrent."""
    named = take.values.get("model_type") in ("mamba", "mamba2", "falcon_mamba")
    return [RECURRENT] * layers if named else None


def _windowed(take: Settings, layers: int) -> list[LayerPlan]:
    """Windows, for configurations that do not list the kinds."""
    chunk, window = take.optional("attention_chunk_size"), take.optional("sliding_window", "sliding_window_size")
    uses, kind = take.flag("use_sliding_window"), str(take.raw("model_type"))
    below = take.optional("max_window_layers")
    pattern = take.raw("sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers")
    order, mod = take.raw("order_of_interleaved_layers"), take.optional("full_attn_mod")
    if order not in (None, "local_attn_first") or mod not in (None, 1):
        raise take.not_understood("order_of_interleaved_layers" if order else "full_attn_mod", order or mod)
    rotated = take.raw("no_rope_layers")
    step = take.optional("no_rope_layer_interval")
    if chunk:
        if rotated:
            return [CHUNK if each else FULL for each in take.list_of(layers, "no_rope_layers")]
        return _last_of(step or 4, layers, CHUNK)
    if not window or uses is False or (uses is None and kind.startswith("qwen")):
        return [FULL] * layers
    if isinstance(pattern, str) and pattern and set(pattern) <= {"L", "G"}:
        return [WINDOW if pattern[layer % len(pattern)] == "L" else FULL for layer in range(layers)]
    if isinstance(pattern, list):
        return [WINDOW if each else FULL for each in take.list_of(layers, "sliding_window_pattern")]
    if pattern is not None and not isinstance(pattern, int):
        raise take.not_understood("sliding_window_pattern", pattern)
    period = pattern or WINDOW_PERIODS.get(kind, 0)
    if period > 1:
        return _last_of(period, layers, WINDOW)
    if uses and below is not None:
        return [WINDOW if layer >= below else FULL for layer in range(layers)]
    return [WINDOW] * layers


def _shared(take: Settings, plans: list[LayerPlan]) -> list[LayerPlan]:
    """Layers that read another's K/V: the last ones, or all but the first of each group."""
    last = take.optional("num_kv_shared_layers") or 0
    factor = (take.optional("cla_share_factor") or 1) if take.flag("use_cla") else 1
    take.read.add("cla_share_factor")
    if last >= len(plans) or not factor:
        raise WeightsError(f"{take.path}: num_kv_shared_layers leaves no layer that keeps K/V")
    return [
        replace(plan, shares=plan.span is not None and (layer >= len(plans) - last or layer % factor > 0))
        for layer, plan in enumerate(plans)
    ]


_READERS: tuple[Reader, ...] = (
    _blocks,
    _names,
    _repeated_names,
    _letters,
    _numbers("hybrid_layer_pattern", FULL, WINDOW),
    _numbers("attn_type_list", RECURRENT, FULL),
    _global_and_local,
    _two_lists,
    _places("full_attn_idxs", FULL),
    _places("attn_layer_indices", FULL),
    _places("hybrid_layer_ids", BOTH),
    _every_so_many,
    _side_by_side,
    _without_attention,
)
"""The first that finds its setting is believed; the others read theirs all the same."""
