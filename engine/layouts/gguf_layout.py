"""What a model keeps, from the metadata of a GGUF file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentsim.engine.layouts.config_layout import INDEX_BLOCK, INDEX_STEP_BYTES, told_at_all
from agentsim.engine.layouts.kv_sizes import Shape
from agentsim.engine.layouts.layer_plans import BOTH, CHUNK, FULL, NOTHING, RECURRENT, AttentionSpan, LayerPlan
from agentsim.engine.layouts.layout_settings import Settings
from agentsim.engine.layouts.state_layout import FixedState, StateLayout, TokenState, alike_fixed, alike_growing
from agentsim.engine.weights.weights_error import WeightsError

WINDOW_PERIODS = {
    "gemma2": 2, "gemma3": 6, "gemma3n": 5, "gpt-oss": 2, "cohere2": 4, "exaone4": 4, "olmo2": 4, "afmoe": 4,
    "smallthinker": 4, "llama": 1, "mistral3": 1, "phi3": 1, "phimoe": 1, "starcoder2": 1, "qwen2": 1,
}  # fmt: skip
"""Of so many layers one attends to everything (1: none does): by architecture, of files that give a window alone."""
CHUNKS = {"llama4": (4, 8_192)}
"""The same for chunks, with their length."""
SIDE_BY_SIDE = ("falcon-h1",)
"""Attention and a recurrent state in each layer."""
_OF_HEADS = tuple(f"attention.{each}_length{end}" for each in ("key", "value") for end in ("", "_mla", "_swa"))
_RECURRENT_KEYS = (
    "ssm.state_size",
    "ssm.inner_size",
    "ssm.conv_kernel",
    "shortconv.l_cache",
    "wkv.head_size",
    "kda.head_dim",
)


def layout_of_fields(path: Path, fields: Mapping[str, Any]) -> StateLayout:
    """What the model keeps. Raises WeightsError with a remedy."""
    kind = str(fields.get("general.architecture"))
    prefix = f"{kind}."
    take = Settings(path, {key.removeprefix(prefix): value for key, value in fields.items() if key.startswith(prefix)})
    if take.optional("decoder_block_count"):
        raise take.not_understood("decoder_block_count", "an encoder stands before the decoder")
    # Layers that predict further tokens stand behind the others, and no session keeps anything in them.
    layers = take.number("block_count") - (take.optional("nextn_predict_layers") or 0)
    if layers < 1:
        raise WeightsError(f"{path}: block_count leaves no layer; name a language model's file")
    plans = _plans(take, kind, layers)
    shapes = [(plan, _shape(take, plan, layer)) for layer, plan in enumerate(plans) if plan.span is not None]
    state = _recurrent(take)
    usual = Shape(0, 0, 0, 0)
    if shapes:
        counted = [shape for _, shape in shapes]
        usual = replace(max(counted, key=counted.count), layers=len(shapes))
    layout = StateLayout(
        shape=usual,
        growing=alike_growing(
            each for plan, shape in shapes if not plan.shares for each in _kept(take, kind, plan, shape)
        ),
        fixed=alike_fixed(state for plan in plans if plan.recurrent),
        sharing=sum(plan.shares for plan in plans),
        name=str(fields.get("general.name") or kind),
        context=take.optional("context_length"),
    )
    take.read.update(_OF_HEADS)  # in a model none of whose layers attends they say nothing
    take.refuse_unread(layers)
    return told_at_all(path, layout)


def _plans(take: Settings, kind: str, layers: int) -> list[LayerPlan]:
    recurs = any(take.optional(name) for name in _RECURRENT_KEYS)
    kv_heads, feeds = take.raw("attention.head_count_kv"), take.raw("feed_forward_length")
    interval, listed = take.optional("full_attention_interval"), take.raw("attention.recurrent_layers")
    without = [_of(take, "attention.head_count_kv", layer) == 0 for layer in range(layers)]
    if isinstance(listed, list):
        plans = [RECURRENT if each else FULL for each in _front(take, listed, layers, "attention.recurrent_layers")]
    elif interval:
        plans = [FULL if (layer + 1) % interval == 0 else RECURRENT for layer in range(layers)]
    elif recurs and kind in SIDE_BY_SIDE:
        plans = [BOTH] * layers
    elif isinstance(kv_heads, list) or any(without):
        # A layer without K/V heads is recurrent in a model that has such layers, unless it is an MLP of its own.
        feeding = [
            isinstance(feeds, list) and 0 in feeds and _of(take, "feed_forward_length", n) for n in range(layers)
        ]
        plans = [
            FULL if not gone else RECURRENT if recurs and not feeds_alone else NOTHING
            for gone, feeds_alone in zip(without, feeding, strict=True)
        ]
    elif recurs and (kv_heads is None or not take.optional("attention.head_count")):
        plans = [RECURRENT] * layers
    elif recurs:
        raise take.not_understood(next(name for name in _RECURRENT_KEYS if take.optional(name)), "recurrent layers")
    else:
        plans = [FULL] * layers
    plans = _windowed(take, kind, plans)
    last = take.optional("attention.shared_kv_layers") or 0
    return [replace(plan, shares=plan.span is not None and layer >= layers - last) for layer, plan in enumerate(plans)]


def _windowed(take: Settings, kind: str, plans: list[LayerPlan]) -> list[LayerPlan]:
    window = take.optional("attention.sliding_window")
    pattern = take.raw("attention.sliding_window_pattern")
    if kind in CHUNKS:
        period = CHUNKS[kind][0]
        return [FULL if (layer + 1) % period == 0 else CHUNK for layer in range(len(plans))]
    if not window:
        return plans
    if isinstance(pattern, list):
        inside = [bool(each) for each in _front(take, pattern, len(plans), "attention.sliding_window_pattern")]
    else:
        period = take.optional("attention.sliding_window_pattern") or WINDOW_PERIODS.get(kind, 0)
        if not period:
            raise take.not_understood("attention.sliding_window", window)
        first = kind == "smallthinker"  # the first of each period, not the last, attends to everything
        inside = [period == 1 or (layer + (not first)) % period != 0 for layer in range(len(plans))]
    return [
        replace(plan, span=AttentionSpan.WINDOW) if plan.span is AttentionSpan.ALL and within else plan
        for plan, within in zip(plans, inside, strict=True)
    ]


def _shape(take: Settings, plan: LayerPlan, layer: int) -> Shape:
    heads = _of(take, "attention.head_count", layer)
    if not heads:
        raise WeightsError(f"{take.path}: attention.head_count is missing or 0; name a language model's file")
    kv_heads = _of(take, "attention.head_count_kv", layer) or heads
    own_key, own_value = take.optional("attention.key_length_swa"), take.optional("attention.value_length_swa")
    key, value = take.optional("attention.key_length"), take.optional("attention.value_length")
    latent, rotated = take.optional("attention.kv_lora_rank") or 0, take.optional("rope.dimension_count") or 0
    if plan.span is AttentionSpan.WINDOW:
        key, value = own_key or key, own_value or value
    key = key or take.number("embedding_length") // heads
    if not key or heads % kv_heads:
        raise WeightsError(f"{take.path}: {heads} query and {kv_heads} K/V heads of {key} are no attention")
    return Shape(1, heads, kv_heads, key, None if latent else value, latent + rotated if latent else 0)


def _kept(take: Settings, kind: str, plan: LayerPlan, shape: Shape) -> list[TokenState]:
    limit = 0
    if plan.span is AttentionSpan.WINDOW:
        limit = take.number("attention.sliding_window")
    elif plan.span is AttentionSpan.CHUNK:
        limit = CHUNKS[kind][1]
    name = plan.span.value if plan.span is not None else ""
    kept = [TokenState(f"latent, {name}" if shape.latent else name, shape.numbers, limit)]
    index = take.optional("attention.indexer.key_length")
    if index:
        steps = -(-index // INDEX_BLOCK) * INDEX_STEP_BYTES
        kept.append(TokenState("keys of an index", index, bytes_each=index + steps))
    return kept


def _recurrent(take: Settings) -> FixedState:
    width, heads = take.optional("embedding_length"), _of(take, "attention.head_count", 0)
    kernel = take.optional("ssm.conv_kernel")
    kda, length = take.optional("kda.head_dim"), take.optional("shortconv.l_cache")
    wkv, shifts = take.optional("wkv.head_size"), take.optional("token_shift_count")
    inner, state = take.optional("ssm.inner_size"), take.optional("ssm.state_size")
    groups = take.optional("ssm.group_count") or 0
    if kda and heads:
        return FixedState("delta attention", (kernel - 1) * 3 * heads * kda if kernel else None, heads * kda * kda)
    if length and width:
        return FixedState("convolution", (length - 1) * width, 0)
    if wkv and width:
        return FixedState("RWKV", shifts * width if shifts else None, width * wkv)
    if inner and state:
        name = "gated delta net" if take.optional("full_attention_interval") else "Mamba-2" if groups else "Mamba"
        return FixedState(name, (kernel - 1) * (inner + 2 * groups * state) if kernel else None, inner * state)
    return FixedState("recurrent state", None, None)


def _of(take: Settings, name: str, layer: int) -> int | None:
    """A number that may be given layer by layer."""
    value = take.raw(name)
    if not isinstance(value, list):
        return take.optional(name)
    if layer >= len(value):
        raise WeightsError(f"{take.path}: {name} is told for {len(value)} layers alone")
    return take.checked(value[layer], name)


def _front(take: Settings, values: list[Any], layers: int, name: str) -> list[Any]:
    if len(values) < layers:
        raise WeightsError(f"{take.path}: {name} is told for {len(values)} of {layers} layers")
    return values[:layers]
