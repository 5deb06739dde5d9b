"""Layouts of models by their settings: published ones, all ways of saying the same, and those that are not known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.engine.layouts.config_layout import layout_of_settings
from agentsim.engine.layouts.gguf_layout import layout_of_fields
from agentsim.engine.layouts.state_layout import StateLayout
from agentsim.engine.weights.weights_error import WeightsError

MIB = 1 << 20
TOKENS = 32_768
HERE = Path("config.json")


def kinds(pattern: str, times: int) -> list[str]:
    names = {"l": "sliding_attention", "f": "full_attention", "r": "linear_attention"}
    return [names[letter] for letter in pattern * times]


def of(**settings: Any) -> StateLayout:
    return layout_of_settings(HERE, settings)


def attention(layers: int, heads: int, kv_heads: int | list[int], width: int, **more: Any) -> dict[str, Any]:
    return {
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": width,
        "hidden_size": heads * width,
        **more,
    }


PUBLISHED: dict[str, tuple[dict[str, Any], int]] = {
    # Of 35 layers the last 15 read what others keep: 4 of the first 20 attend to everything.
    "shared and windows": (
        attention(35, 8, 2, 256, num_kv_shared_layers=15, sliding_window=512, layer_types=kinds("llllf", 7)),
        (4 * TOKENS + 16 * 512) * 2 * 2 * 256 * 2,
    ),
    "wider heads where all is seen": (
        attention(12, 8, 2, 256, global_head_dim=512, sliding_window=512, layer_types=kinds("lllllf", 2)),
        (2 * TOKENS * 512 + 10 * 512 * 256) * 2 * 2 * 2,
    ),
    "fewer heads where all is seen": (
        attention(12, 8, 4, 256, global_head_dim=512, num_global_key_value_heads=1, attention_k_eq_v=True,
                  sliding_window=512, layer_types=kinds("lllllf", 2)),
        (2 * TOKENS * 512 + 10 * 512 * 256 * 4) * 2 * 2,
    ),
    "more heads in windows": (
        attention(6, 64, 4, 192, v_head_dim=128, swa_num_key_value_heads=8, sliding_window=128,
                  hybrid_layer_pattern=[0, 1, 1, 1, 1, 1]),
        (TOKENS * 4 + 5 * 128 * 8) * (192 + 128) * 2,
    ),
    "a latent and an index in eight bits": (
        attention(61, 128, 128, 56, kv_lora_rank=512, qk_rope_head_dim=64, index_head_dim=128, index_topk=2_048),
        61 * TOKENS * ((512 + 64) * 2 + 128 + 4),
    ),
    "an index that layers share": (
        attention(4, 8, 8, 56, kv_lora_rank=512, qk_rope_head_dim=64, index_head_dim=128,
                  indexer_types=["full", "shared", "shared", "full"]),
        TOKENS * (4 * 576 * 2 + 2 * 132),
    ),
    "chunks": (
        attention(8, 8, 2, 64, attention_chunk_size=8_192, no_rope_layers=[1, 1, 1, 0] * 2),
        (2 * TOKENS + 6 * 8_192) * 2 * 2 * 64 * 2,
    ),
    "images": (attention(40, 32, 8, 128, cross_attention_layers=[3, 8, 13, 18, 23, 28, 33, 38]), 32 * TOKENS * 4_096),
    "a search's layers": (
        attention(3, 32, 32, 128, block_configs=[
            {"attention": {"n_heads_in_group": 8}}, {"attention": {"no_op": True}},
            {"attention": {"n_heads_in_group": 4}}]),
        TOKENS * 2 * (4 + 8) * 128 * 2,
    ),
    "heads by layer": (attention(2, 8, [2, 4], 64), TOKENS * 2 * (2 + 4) * 64 * 2),
    "pairs of layers": (attention(4, 8, 2, 64, use_cla=True, cla_share_factor=2), TOKENS * 2 * 2 * 2 * 64 * 2),
    "letters of windows": (
        attention(8, 8, 2, 64, sliding_window=128, sliding_window_pattern="LLLG"),
        (2 * TOKENS + 6 * 128) * 2 * 2 * 64 * 2,
    ),
    "wider windows by layer": (
        attention(2, 8, 2, 64, per_layer_config={"01": {"head_dim": 128}}), TOKENS * 2 * 2 * (64 + 128) * 2,
    ),
    "one head for all queries": (
        {"n_layer": 2, "n_head": 71, "n_embd": 71 * 64, "multi_query": True}, TOKENS * 2 * 2 * 64 * 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_layouts(name: str) -> None:
    settings, expected = PUBLISHED[name]
    assert layout_of_settings(HERE, settings).kv_bytes(TOKENS) == expected
    # ... and as the text part of a model with several.
    nested = {"model_type": "two", "vision_config": {"num_hidden_layers": 3}, "text_config": settings}
    assert layout_of_settings(HERE, nested).kv_bytes(TOKENS) == expected


RECURRENT: dict[str, tuple[dict[str, Any], int | None]] = {
    # 32 value heads of 128 × 128, 16 key heads; the last three inputs of 2 × 16 × 128 + 32 × 128
    "gated delta net": (
        {"linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
         "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4},
        8_192 * 3 * 2 + 32 * 128 * 128 * 4,
    ),
    "delta attention": (
        {"linear_num_heads": 32, "linear_head_dim": 128, "linear_conv_kernel_dim": 4},
        3 * 32 * 128 * 3 * 2 + 32 * 128 * 128 * 4,
    ),
    "Mamba": ({"mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2}, 2_048 * 3 * 2 + 2_048 * 16 * 4),
    "Mamba-2": (
        {"mamba_num_heads": 64, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4},
        (64 * 64 + 2 * 8 * 128) * 3 * 2 + 64 * 64 * 128 * 4,
    ),
    "Mamba-2 in fewer bits": (
        {"mamba_num_heads": 64, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4,
         "mamba_ssm_cache_dtype": "bfloat16"},
        (64 * 64 + 2 * 8 * 128) * 3 * 2 + 64 * 64 * 128 * 2,
    ),
    "convolution": ({"conv_L_cache": 3}, 2 * 1_024 * 2),
    "lightning attention": ({"linear_attn_alpha_factor": 1}, 16 * 64 * 64 * 4),
    "not told": ({}, None),
}  # fmt: skip


@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_states_stand_beside_what_grows(name: str) -> None:
    more, each = RECURRENT[name]
    layout = of(**attention(8, 16, 2, 64, layer_types=kinds("rrrf", 2)), **more)
    assert layout.kv_bytes(TOKENS) == 2 * TOKENS * 2 * 2 * 64 * 2
    assert layout.fixed_bytes() == (None if each is None else 6 * each)
    assert layout.kv_bytes(TOKENS, 4) < layout.kv_bytes(TOKENS)
    assert layout.fixed_bytes(4) == layout.fixed_bytes(), "recurrent states do not follow the bits of K/V"


def ways(full: list[bool]) -> dict[str, dict[str, Any]]:
    """The same layers, said in every way that lists them."""
    places = [layer for layer, attends in enumerate(full) if attends]
    others = [layer for layer, attends in enumerate(full) if not attends]
    return {
        "names": {"layer_types": ["full_attention" if attends else "linear_attention" for attends in full]},
        "old names": {"layers_block_type": ["attention" if attends else "mamba" for attends in full]},
        "names that repeat": {"block_types": ["attention" if attends else "recurrent" for attends in full]},
        "letters": {"hybrid_override_pattern": "".join("*" if attends else "M" for attends in full)},
        "numbers": {"attn_type_list": [int(attends) for attends in full]},
        "places": {"full_attn_idxs": places},
        "indices": {"attn_layer_indices": places},
        "two lists": {"linear_attn_config": {"full_attn_layers": [each + 1 for each in places],
                                             "kda_layers": [each + 1 for each in others]}},
    }  # fmt: skip


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_all_ways_of_listing_layers_say_the_same(full: list[bool]) -> None:
    for name, way in ways(full).items():
        layout = of(
            **attention(len(full), 4, 2, 8), linear_num_heads=4, linear_head_dim=8, linear_conv_kernel_dim=4, **way
        )
        assert layout.kv_bytes(100) == sum(full) * 100 * 2 * 2 * 8 * 2, name
        assert sum(state.layers for state in layout.fixed) == full.count(False), name


@given(st.integers(1, 60), st.integers(1, 12))
def test_all_ways_of_periods_say_the_same(layers: int, period: int) -> None:
    expected = layers // period
    base = attention(layers, 4, 2, 8) | {"mamba_d_state": 4, "mamba_expand": 2, "mamba_d_conv": 4}
    found = [
        of(**base, full_attention_interval=period),
        of(**base, attn_layer_period=period, attn_layer_offset=period - 1),
        of(**base, layer_types=["linear_attention" if (n + 1) % period else "full_attention" for n in range(layers)]),
    ]
    fields = gguf(layers, 4, 2, 8) | {"m.full_attention_interval": period, "m.ssm.inner_size": 8, "m.ssm.state_size": 4,
                                      "m.ssm.conv_kernel": 4}  # fmt: skip
    found.append(layout_of_fields(HERE, fields))
    if period > 1:
        found.append(of(**attention(layers, 4, 2, 8), sliding_window=1, sliding_window_pattern=period))
        found.append(layout_of_fields(HERE, gguf(layers, 4, 2, 8) | {
            "m.attention.sliding_window": 1, "m.attention.sliding_window_pattern": period}))  # fmt: skip
    for layout in found:
        unlimited = sum(state.layers for state in layout.growing if not state.limit)
        assert unlimited == expected


UNKNOWN = (
    "hybrid_block_layout", "ssm_layers", "num_mamba_layers", "mamba_step", "kv_reuse_every_i_layer",
    "linear_attention_every", "cross_layer_attention", "global_attn_idx", "swa_layers", "sparse_attention_config",
    "kv_sharing_modes", "compress_ratios", "local_attention", "n_recurrent_loops", "dense_attention_every_n_layers",
    "mb_per_layer", "yoco_layers", "attention_pattern", "recurrent_block_type", "delta_net_layers", "rwkv_layers",
    "retention_heads", "gated_linear_layers", "mixer_types", "attn_schedule", "gdn_layers", "rnn_layers", "state_dim",
    "block_layout", "attention_map",
)  # fmt: skip


@pytest.mark.parametrize("key", UNKNOWN)
@pytest.mark.parametrize("value", [[0, 1], 2, "tm", {"layers": [1]}, True])
def test_what_smells_of_another_layout_and_is_not_known_is_an_error(key: str, value: object) -> None:
    with pytest.raises(WeightsError, match=key):
        of(**attention(8, 4, 2, 8), **{key: value})
    with pytest.raises(WeightsError, match=key):
        layout_of_fields(HERE, gguf(8, 4, 2, 8) | {f"m.{key}": value})


@pytest.mark.parametrize(
    ("key", "value"), [("anything_at_all", [1, 0] * 4), ("anything_at_all", ["a"] * 8), ("chosen_layers", [3])]
)
def test_what_lists_layers_and_is_not_known_is_an_error(key: str, value: object) -> None:
    with pytest.raises(WeightsError, match=key):
        of(**attention(8, 4, 2, 8), **{key: value})


def test_other_lists_are_not_of_layers() -> None:
    assert of(**attention(8, 4, 2, 8), eos_token_id=[1, 0] * 4, anything=[1, 2, 3]) == of(**attention(8, 4, 2, 8))


@pytest.mark.parametrize("key", UNKNOWN)
@pytest.mark.parametrize("value", [None, False, 0, [], {}, ""])
def test_what_is_switched_off_says_nothing(key: str, value: object) -> None:
    assert of(**attention(8, 4, 2, 8), **{key: value}) == of(**attention(8, 4, 2, 8))


HARMLESS = {
    "partial_rotary_factors": [0.5] * 8, "swiglu_limits": [0] * 7 + [7], "mla_scale_kv_lora": True,
    "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_layer_freq": 1, "first_k_dense_replace": 3,
    "decoder_sparse_step": 1, "interleave_moe_layer_step": 2, "expert_layer_period": 2, "rope_local_base_freq": 10_000,
    "mlp_layer_types": ["dense"] * 8, "shared_intermediate_size": 1_024, "q_lora_rank": 1_536,
    "num_nextn_predict_layers": 1, "mamba_chunk_size": 256, "hidden_size_per_layer_input": 256,
    "activation_sparsity_pattern": [0.95], "image_token_index": 7,
    "full_attn_mod": 1, "for_llm_compressor": True, "order_of_interleaved_layers": "local_attn_first",
    "chunk_size_feed_forward": 3, "max_window_layers": 28, "classifier_dropout": 0.1, "qk_layernorm": True,
    "attn_output_gate": True,
}  # fmt: skip


@pytest.mark.parametrize("key", HARMLESS)
def test_settings_of_other_things_do_not_hinder(key: str) -> None:
    assert of(**attention(8, 4, 2, 8), **{key: HARMLESS[key]}) == of(**attention(8, 4, 2, 8))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"layer_types": ["full_attention"] * 7}, "layer_types"),
        ({"layer_types": ["full_attention"] * 7 + ["heavily_compressed_attention"]}, "heavily_compressed_attention"),
        ({"layer_types": ["sliding_attention"] * 8}, "sliding_window"),
        ({"hybrid_override_pattern": "M*M*M*MX"}, "hybrid_override_pattern"),
        ({"attn_type_list": [0, 1, 2, 1, 1, 1, 1, 1]}, "attn_type_list"),
        ({"linear_attn_config": {"full_attn_layers": [1, 2], "kda_layers": [2, 3]}}, "linear_attn_config"),
        ({"full_attn_idxs": [8]}, "full_attn_idxs"),
        ({"num_kv_shared_layers": 8}, "num_kv_shared_layers"),
        ({"is_encoder_decoder": True}, "is_encoder_decoder"),
        ({"attn_type_list": [0, 1] * 4, "sliding_window": 128}, "sliding_window"),
        ({"per_layer_config": {"0": {"hybrid_attention": 3}, "9": {}}}, "per_layer_config"),
        ({"mamba_d_state": 16, "mamba_d_conv": 4}, "mamba_d_state"),
    ],
)
def test_settings_that_contradict_are_named(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(WeightsError, match=told):
        of(**attention(8, 4, 2, 8), **settings)


def test_the_largest_image() -> None:
    text = attention(4, 32, 8, 128, cross_attention_layers=[1])
    image = layout_of_settings(HERE, {"text_config": text}).image
    assert image is not None
    assert (image.layers, image.token_bytes(), image.tokens) == (1, 4_096, None)
    vision = {"image_size": 560, "patch_size": 14, "max_num_tiles": 4}
    image = layout_of_settings(HERE, {"text_config": text, "vision_config": vision}).image
    assert image is not None
    assert image.tokens == 4 * (40 * 40 + 1)


def gguf(layers: int, heads: int, kv_heads: object, width: int) -> dict[str, Any]:
    return {
        "general.architecture": "m",
        "m.block_count": layers,
        "m.attention.head_count": heads,
        "m.attention.head_count_kv": kv_heads,
        "m.attention.key_length": width,
        "m.attention.value_length": width,
        "m.embedding_length": heads * width,
    }


def renamed(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    own = {key.replace("m.", f"{kind}.", 1) if key.startswith("m.") else key: value for key, value in fields.items()}
    return own | {"general.architecture": kind}


GGUF: dict[str, tuple[dict[str, Any], int, int]] = {
    "shared and windows": (
        gguf(10, 8, 2, 256) | {"m.attention.shared_kv_layers": 5, "m.attention.sliding_window": 512,
                               "m.attention.sliding_window_pattern": [True, True, True, True, False] * 2},
        (TOKENS + 4 * 512) * 2 * 2 * 256 * 2, 0,
    ),
    "narrower heads in windows": (
        gguf(2, 8, [2, 1], 512) | {"m.attention.key_length_swa": 256, "m.attention.value_length_swa": 256,
                                   "m.attention.sliding_window": 512,
                                   "m.attention.sliding_window_pattern": [True, False]},
        512 * 2 * 2 * 256 * 2 + TOKENS * 2 * 512 * 2, 0,
    ),
    "recurrent where there are no heads": (
        gguf(4, 8, [0, 0, 2, 0], 64) | {"m.ssm.state_size": 16, "m.ssm.inner_size": 1_024, "m.ssm.conv_kernel": 4,
                                        "m.ssm.time_step_rank": 32, "m.ssm.dt_b_c_rms": True},
        TOKENS * 2 * 2 * 64 * 2, 3 * (1_024 * 3 * 2 + 1_024 * 16 * 4),
    ),
    "MLPs of their own": (
        gguf(4, 8, [0, 2, 0, 0], 64) | {"m.ssm.state_size": 16, "m.ssm.inner_size": 1_024, "m.ssm.conv_kernel": 4,
                                        "m.ssm.group_count": 2, "m.feed_forward_length": [0, 0, 512, 0]},
        TOKENS * 2 * 2 * 64 * 2, 2 * ((1_024 + 2 * 2 * 16) * 3 * 2 + 1_024 * 16 * 4),
    ),
    "every fourth attends": (
        gguf(8, 8, 2, 64) | {"m.full_attention_interval": 4, "m.ssm.state_size": 128, "m.ssm.inner_size": 4_096,
                             "m.ssm.conv_kernel": 4, "m.ssm.group_count": 16, "m.ssm.time_step_rank": 32},
        2 * TOKENS * 2 * 2 * 64 * 2, 6 * (8_192 * 3 * 2 + 32 * 128 * 128 * 4),
    ),
    "convolutions": (
        gguf(3, 8, [0, 0, 2], 64) | {"m.shortconv.l_cache": 3}, TOKENS * 2 * 2 * 64 * 2, 2 * 2 * 512 * 2,
    ),
    "side by side": (
        renamed("falcon-h1", gguf(2, 8, 2, 64) | {
            "m.ssm.state_size": 16, "m.ssm.inner_size": 1_024, "m.ssm.conv_kernel": 4, "m.ssm.group_count": 1}),
        2 * TOKENS * 2 * 2 * 64 * 2, 2 * ((1_024 + 2 * 16) * 3 * 2 + 1_024 * 16 * 4),
    ),
    "a latent and an index": (
        gguf(2, 8, 1, 576) | {"m.attention.kv_lora_rank": 512, "m.rope.dimension_count": 64,
                              "m.attention.key_length_mla": 192, "m.attention.indexer.key_length": 128,
                              "m.attention.indexer.head_count": 64, "m.attention.indexer.top_k": 2_048},
        2 * TOKENS * (576 * 2 + 132), 0,
    ),
    "layers of further tokens": (gguf(3, 8, 2, 64) | {"m.nextn_predict_layers": 1}, 2 * TOKENS * 2 * 2 * 64 * 2, 0),
    "windows by architecture": (
        renamed("gpt-oss", gguf(4, 8, 2, 64) | {"m.attention.sliding_window": 128}),
        (2 * TOKENS + 2 * 128) * 2 * 2 * 64 * 2, 0,
    ),
    "no attention": (
        {"general.architecture": "m", "m.block_count": 4, "m.attention.head_count": 0, "m.embedding_length": 512,
         "m.ssm.state_size": 16, "m.ssm.inner_size": 1_024, "m.ssm.conv_kernel": 4},
        0, 4 * (1_024 * 3 * 2 + 1_024 * 16 * 4),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GGUF)
def test_gguf_likewise(name: str) -> None:
    fields, grows, fixed = GGUF[name]
    layout = layout_of_fields(HERE, fields)
    assert (layout.kv_bytes(TOKENS), layout.fixed_bytes()) == (grows, fixed)


def test_a_window_of_an_unknown_architecture_is_named() -> None:
    with pytest.raises(WeightsError, match=r"attention\.sliding_window"):
        layout_of_fields(HERE, gguf(4, 8, 2, 64) | {"m.attention.sliding_window": 128})
