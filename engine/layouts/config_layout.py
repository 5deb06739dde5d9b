"""What a model keeps, from its Hugging Face configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentsim.engine.layouts.kv_sizes import Shape
from agentsim.engine.layouts.layer_plans import AttentionSpan, LayerPlan, layer_plans
from agentsim.engine.layouts.layout_settings import Settings
from agentsim.engine.layouts.recurrent_sizes import recurrent_state
from agentsim.engine.layouts.state_layout import ImageState, StateLayout, TokenState, alike_fixed, alike_growing
from agentsim.engine.weights.weights_error import WeightsError

_TEXT_PARTS = ("text_config", "llm_config", "language_config", "thinker_config")
_WINDOWS = ("sliding_window", "sliding_window_size", "attention_window_size", "window_size")
_KV_HEADS = (
    "num_key_value_heads",
    "num_kv_heads",
    "n_head_kv",
    "multi_query_group_num",
    "num_attention_groups",
    "kv_n_heads",
)
_HEADS = ("num_attention_heads", "attention_heads", "n_head", "num_heads", "n_heads", "num_query_heads")
_LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "num_blocks", "num_transformer_layers")
_HEAD_DIM = ("head_dim", "attention_head_dim", "kv_channels", "dim_head")

ATTENTIONS_OF_A_LAYER = {"longcat_flash": 2}
"""Models whose layers attend more than once."""
WINDOW_KV_HEADS = {"mimo_v2_flash": 2}
"""So many times the K/V heads in windows: of models whose configurations need not say it."""

INDEX_BLOCK, INDEX_STEP_BYTES = 128, 4
"""Keys of an index are kept in eight bits, with a step of four bytes for every 128: as the model was published."""


@dataclass(frozen=True, slots=True)
class Attention:
    """One layer's attention."""

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int | None
    latent: int

    @property
    def numbers(self) -> int:
        """Numbers that it keeps for one token."""
        return self.of_layers(1).numbers

    def of_layers(self, layers: int) -> Shape:
        """The shape of a model with so many layers of it."""
        return Shape(layers, self.heads, self.kv_heads, self.head_dim, self.value_dim, self.latent)


def layout_of_settings(path: Path, settings: Mapping[str, Any]) -> StateLayout:
    """What the model keeps; that of the text part where it has several. Raises WeightsError with a remedy."""
    whole = settings
    for _ in range(2):
        settings = next((settings[name] for name in _TEXT_PARTS if isinstance(settings.get(name), dict)), settings)
    nested = settings.get("attn_config")
    if isinstance(nested, dict):
        settings = {**nested, **settings, "attn_config": None}
        if settings.get("attn_type") in ("multihead_attention", "grouped_query_attention"):
            settings = {**settings, "attn_type": None}
    take = Settings(path, settings)
    if take.flag("is_encoder_decoder") or whole.get("is_encoder_decoder") is True:
        raise take.not_understood("is_encoder_decoder", "true")
    layers = _count(take)
    plans, told = layer_plans(take, layers)
    changes = _changes(take, layers)
    attentions: list[tuple[int, LayerPlan, Attention, Settings]] = []
    for layer, plan in enumerate(plans):
        if plan.span is not None:
            own = take.with_changes(changes[layer]) if layer in changes else take
            attentions.append((layer, plan, _attention(own, plan, layer, layers), own))
    growing = [
        state
        for layer, plan, attention, own in attentions
        if plan.span is not AttentionSpan.IMAGE and not plan.shares
        for state in _kept(own, plan, attention, layer, layers)
    ]
    # Sizes of recurrent layers in a model that says of each layer that it is none mean nothing.
    state = recurrent_state(take) if told else None
    layout = StateLayout(
        shape=_usual([each for _, plan, each, _ in attentions if plan.span is not AttentionSpan.IMAGE]),
        growing=alike_growing(growing),
        fixed=alike_fixed(state for plan in plans if plan.recurrent and state is not None),
        image=_image(whole, [each for _, plan, each, _ in attentions if plan.span is AttentionSpan.IMAGE]),
        sharing=sum(plan.shares for plan in plans),
        name=str(take.raw("_name_or_path") or take.raw("model_type") or path.parent.name),
        context=take.optional("max_position_embeddings", "n_positions", "seq_length", "max_seq_len"),
    )
    take.refuse_unread(layers)
    return told_at_all(path, layout)


def told_at_all(path: Path, layout: StateLayout) -> StateLayout:
    """The layout, if it says anything of a size. Raises WeightsError where nothing is known."""
    if not layout.growing and not layout.fixed_bytes():
        raise WeightsError(f"{path}: none of its layers keeps K/V, and no other size is told; name another file")
    return layout


def _count(take: Settings) -> int:
    """Layers with an attention of their own."""
    kinds = take.raw("layers_block_type", "hybrid_override_pattern")
    if take.optional(*_LAYERS) is None and isinstance(kinds, list | str) and kinds:
        return len(kinds)
    return take.number(*_LAYERS) * ATTENTIONS_OF_A_LAYER.get(str(take.values.get("model_type")), 1)


def _changes(take: Settings, layers: int) -> dict[int, Mapping[str, Any]]:
    """What single layers set otherwise."""
    found: dict[int, Mapping[str, Any]] = {}
    given = take.raw("per_layer_config")
    if isinstance(given, dict):
        for place, own in given.items():
            if not str(place).isdigit() or int(place) >= layers or not isinstance(own, dict):
                raise take.not_understood("per_layer_config", place)
            found[int(place)] = own
    elif given is not None:
        raise take.not_understood("per_layer_config", given)
    blocks = take.raw("block_configs")
    for layer, block in enumerate(blocks if isinstance(blocks, list) else ()):
        attention = block.get("attention") or {}
        if attention.get("n_heads_in_group"):
            group = take.checked(attention["n_heads_in_group"], "n_heads_in_group")
            found[layer] = {"num_key_value_heads": take.number(*_HEADS) // group}
        elif attention.get("num_key_value_heads"):
            found[layer] = {"num_key_value_heads": attention["num_key_value_heads"]}
    return found


def _attention(take: Settings, plan: LayerPlan, layer: int, layers: int) -> Attention:
    heads = take.of_layer(layer, layers, *_HEADS)
    if not heads:
        raise WeightsError(f"{take.path}: {_HEADS[0]} is missing or 0; name a language model's file")
    other = take.part("attention_other_setting")
    windowed = plan.span is AttentionSpan.WINDOW
    head_dim, kv_heads = take.optional(*_HEAD_DIM), take.of_layer(layer, layers, *_KV_HEADS)
    value_dim = take.optional("v_head_dim")
    own_dims = ("swa_head_dim", "swa_v_head_dim", "swa_num_key_value_heads", "swa_num_attention_heads")
    swa_dim, swa_value, swa_heads, swa_queries = (take.optional(name) for name in own_dims)
    global_dim, global_heads = take.optional("global_head_dim"), take.optional("num_global_key_value_heads")
    same = take.flag("attention_k_eq_v")
    if windowed:
        head_dim, value_dim = swa_dim or head_dim, swa_value or value_dim
        times = WINDOW_KV_HEADS.get(str(take.values.get("model_type")), 1)
        kv_heads, heads = swa_heads or (kv_heads and kv_heads * times), swa_queries or heads
        if other is not None:
            head_dim = other.optional(*_HEAD_DIM) or head_dim
            kv_heads, heads = other.optional(*_KV_HEADS) or kv_heads, other.optional(*_HEADS) or heads
    elif plan.span is AttentionSpan.ALL:
        head_dim, kv_heads = global_dim or head_dim, (global_heads if same and global_heads else kv_heads)
    if head_dim is None:
        head_dim = take.number("hidden_size", "n_embd", "d_model", "model_dim") // heads
    if take.flag("multi_query") and not take.flag("new_decoder_architecture"):
        kv_heads = 1
    latent = take.optional("kv_lora_rank") or 0
    rotated = take.optional("qk_rope_head_dim") or 0
    if take.flag("use_mla") is False:
        latent = 0
    kv_heads = kv_heads or heads
    if not head_dim or heads % kv_heads:
        raise WeightsError(f"{take.path}: {heads} query and {kv_heads} K/V heads of {head_dim} are no attention")
    return Attention(heads, kv_heads, head_dim, None if latent else value_dim, latent + rotated if latent else 0)


def _kept(take: Settings, plan: LayerPlan, attention: Attention, layer: int, layers: int) -> Iterable[TokenState]:
    span, limit = plan.span, 0
    if span is AttentionSpan.WINDOW:
        limit = take.number(*_WINDOWS)
    elif span is AttentionSpan.CHUNK:
        limit = take.number("attention_chunk_size")
    kind = span.value if span is not None else ""
    yield TokenState(f"latent, {kind}" if attention.latent else kind, attention.numbers, limit)
    index = take.optional("index_head_dim")
    own = take.raw("indexer_types")
    if isinstance(own, list) and own:
        kinds = take.list_of(layers, "indexer_types")
        if kinds[layer] not in ("full", "shared"):
            raise take.not_understood("indexer_types", kinds[layer])
        index = index if kinds[layer] == "full" else None
    if index and span is AttentionSpan.ALL and plan.indexed is not False:
        steps = -(-index // INDEX_BLOCK) * INDEX_STEP_BYTES
        yield TokenState("keys of an index", index, bytes_each=index + steps)


def _image(settings: Mapping[str, Any], attentions: list[Attention]) -> ImageState | None:
    """Layers that attend to an image's tokens alone."""
    if not attentions:
        return None
    vision, tokens = settings.get("vision_config"), None
    if isinstance(vision, dict):
        size, patch, tiles = (vision.get(name) for name in ("image_size", "patch_size", "max_num_tiles"))
        if all(isinstance(each, int) and 0 < each <= 1 << 16 for each in (size, patch, tiles)):
            tokens = ((size // patch) ** 2 + 1) * tiles  # type: ignore[operator]  # checked in the line above
    return ImageState(attentions[0].numbers, len(attentions), tokens)


def _usual(attentions: list[Attention]) -> Shape:
    """The most frequent attention, as if all of the layers that attend had it."""
    if not attentions:
        return Shape(0, 0, 0, 0)
    return Counter(attentions).most_common(1)[0][0].of_layers(len(attentions))
