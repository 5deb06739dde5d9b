"""Layouts against what the caches of transformers hold after a pass of each family (on ``meta``: no weights)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentsim.engine.layouts.config_layout import layout_of_settings

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
TOKENS = 24

FAMILIES: dict[str, dict[str, Any]] = {
    "bailing_hybrid": {"num_hidden_layers": 8, "num_experts": 8, "n_group": 1, "topk_group": 1},
    "bamba": {"attn_layer_indices": [3, 9], "num_hidden_layers": 12},
    "cohere2": {"sliding_window": 8, "num_hidden_layers": 8},
    "deepseek_v32": {"num_hidden_layers": 4},
    "exaone4": {"sliding_window": 8, "num_hidden_layers": 8},
    "falcon": {"num_hidden_layers": 2},
    "falcon_h1": {"num_hidden_layers": 3},
    "falcon_mamba": {"num_hidden_layers": 3},
    "gemma2": {"sliding_window": 8, "num_hidden_layers": 6},
    "gemma3_text": {"sliding_window": 8, "num_hidden_layers": 12},
    "gemma4_text": {"sliding_window": 8, "num_hidden_layers": 12, "num_kv_shared_layers": 4},
    "glm_moe_dsa": {"num_hidden_layers": 8},
    "gpt_bigcode": {"n_layer": 2},
    "gpt_oss": {"sliding_window": 8, "num_hidden_layers": 4},
    "jamba": {"num_hidden_layers": 16},
    "kimi_linear": {"num_hidden_layers": 8},
    "lfm2": {"full_attn_idxs": [2, 5], "num_hidden_layers": 8},
    "llama": {"num_hidden_layers": 2},
    "mimo_v2_flash": {"sliding_window": 8, "num_hidden_layers": 6},
    "nemotron_h": {"hybrid_override_pattern": "MEM*EM*-"},
    "olmo_hybrid": {"num_hidden_layers": 8},
    "qwen3_5_text": {"num_hidden_layers": 8},
    "qwen3_next": {"num_hidden_layers": 8},
    "zamba2": {"num_hidden_layers": 5, "layers_block_type": ["mamba", "mamba", "hybrid", "mamba", "hybrid"]},
}


def held(kind: str, more: dict[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    """The configuration, and numbers that the cache holds: of all tokens, of windows, of the recurrent states."""
    try:
        config = transformers.CONFIG_MAPPING[kind](**more)
    except KeyError:
        pytest.skip(f"this transformers has no {kind}")
    with torch.device("meta"), torch.no_grad():
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
        cache = model(torch.zeros(1, TOKENS, dtype=torch.long), use_cache=True).past_key_values
    sums = {"all": 0, "window": 0, "fixed": 0}
    for layer in cache.layers:
        for name, value in vars(layer).items():
            for tensor in value.values() if isinstance(value, dict) else [value]:
                if not isinstance(tensor, torch.Tensor) or tensor.dim() < 2:
                    continue
                if name in ("keys", "values", "indexer_keys"):
                    sums["window" if getattr(layer, "is_sliding", False) else "all"] += tensor.numel()
                elif name == "conv_states":  # the first input is shifted out before the next token needs it
                    sums["fixed"] += tensor[..., 1:].numel() * 2
                elif name == "recurrent_states":
                    sums["fixed"] += tensor.numel() * 4
    return json.loads(config.to_json_string(use_diff=False)), sums


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.filterwarnings("ignore")
def test_a_cache_of_transformers_holds_the_same(kind: str) -> None:
    settings, sums = held(kind, FAMILIES[kind])
    layout = layout_of_settings(Path("config.json"), settings)
    assert sum(state.numbers * state.layers * TOKENS for state in layout.growing if not state.limit) == sums["all"]
    # One token of a window is the newest, which transformers adds when it comes.
    inside = [state.numbers * state.layers * min(TOKENS, state.limit - 1) for state in layout.windows]
    assert sum(inside) == sums["window"]
    assert layout.fixed_bytes() == sums["fixed"]
