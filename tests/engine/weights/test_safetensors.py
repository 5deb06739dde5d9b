"""Folders in Hugging Face form: made by transformers from a seed, and computed by both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from agentsim.engine.decoder import Decoder
from agentsim.engine.forward_batch import Batch, TokenRun
from agentsim.engine.kv_pages import KVPages
from agentsim.engine.weights.find_model import load_weights
from agentsim.engine.weights.weights import WeightsError

transformers = pytest.importorskip("transformers", reason="needs the engine-test extra")
torch.set_num_threads(1)
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 10_000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}  # fmt: skip
PLAIN = {"rope_type": "default", "rope_theta": 5_000.0}


def made(folder: Path, **changes: Any) -> Any:
    torch.manual_seed(3)
    config = transformers.LlamaConfig(**{
        "vocab_size": 50, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 6,
        "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512, "rope_parameters": PLAIN,
        "eos_token_id": [1, 2], "initializer_range": 0.3, **changes,
    })  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval()
    model.save_pretrained(folder, max_shard_size="40KB" if changes.get("tie_word_embeddings") else "1GB")
    return model


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("rope", [PLAIN, LLAMA3, {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}])
def test_scores_equal_those_of_transformers(tmp_path: Path, tied: bool, rope: dict[str, Any]) -> None:
    theirs = made(tmp_path, tie_word_embeddings=tied, rope_parameters=rope)
    assert (tmp_path / "model.safetensors.index.json").exists() == tied  # one file, and several
    weights = load_weights(str(tmp_path))
    assert weights.config.eos == (1, 2)
    model = Decoder(weights)
    text = torch.randint(0, 50, (200,), generator=torch.Generator().manual_seed(1)).tolist()
    kv = KVPages(model.config, 13, 16)
    ours = model.forward(Batch.of([TokenRun(text, 0, range(13), 200)], 16), kv)
    with torch.inference_mode():
        expected = theirs(torch.tensor([text])).logits[0]
    assert expected.abs().max() > 1
    assert (ours - expected).abs().max() < 2e-5 * float(expected.abs().max())


def test_the_same_folder_has_the_same_identity(tmp_path: Path) -> None:
    made(tmp_path / "a")
    made(tmp_path / "b")
    made(tmp_path / "c", rope_parameters=LLAMA3)
    first, again, other = (load_weights(str(tmp_path / name)) for name in "abc")
    assert first.tensors["layers.1.q"].equal(again.tensors["layers.1.q"])
    assert first.identity != other.identity


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "gpt_neox"}, "a model of type 'gpt_neox'"),
        ({"hidden_act": "gelu"}, "the activation 'gelu' is not supported"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}}, "rotations scaled by 'yarn'"),
        ({"num_key_value_heads": 5}, "6 query heads cannot share 5 key heads evenly"),
        ({"hidden_size": None}, "a setting no model can have"),
        ({"num_hidden_layers": 3}, "'model.layers.2.input_layernorm.weight' is missing (9 tensors in all)"),
        ({"num_hidden_layers": 1}, "is not part of a plain Llama model"),
    ],
)
def test_what_cannot_be_computed_is_told(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    made(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(WeightsError) as error:
        load_weights(str(tmp_path))
    assert message in str(error.value)


def test_incomplete_folders(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 100)
    with pytest.raises(WeightsError, match="not a sound safetensors file"):
        load_weights(str(tmp_path))
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(WeightsError, match="loading them can run any code"):
        load_weights(str(tmp_path))
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(WeightsError, match="not JSON"):
        load_weights(str(tmp_path))
