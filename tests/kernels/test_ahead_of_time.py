"""Every kernel compiles for Ampere, Hopper and Blackwell, keeps its numbers in registers, and uses tensor cores.

No GPU is needed: Triton brings the assembler. What is compiled are the launches that the operations themselves make,
with the tiles of the table for each architecture.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from agentsim.kernels import MODULES, int4_attention_triton, page_attention_triton
from agentsim.kernels.kernel_dispatch import implementation
from benchmarks.ahead_of_time import Compiled, compiled, launches_of, variant

CAPABILITIES = [80, 90, 100]

SHARED_MEMORY = {80: 163 * 1024, 90: 227 * 1024, 100: 227 * 1024}
"""Bytes that one program may have (CUDA programming guide, technical specifications by compute capability)."""

TENSOR_CORES = {80: "mma.sync", 90: "wgmma.mma_async", 100: "tcgen05.mma"}
"""The products of a whole tile: by a warp, by four warps, and by four warps with sums in a memory of their own."""

SIZES = [32, 64, 128, 256]

BF16 = torch.bfloat16


def every_tile_of_the_tables(test):
    """Marks a test of the whole tables."""
    is_wanted = os.environ.get("LONG_TESTS") == "1"
    long = pytest.mark.skipif(not is_wanted, reason="minutes long: LONG_TESTS=1 compiles all tiles")
    return pytest.mark.slow(pytest.mark.timeout(600)(long(test)))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)


def on(capability: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launches choose tiles as on a device of this capability."""
    monkeypatch.setattr(page_attention_triton, "capability", lambda _device: capability // 10)


def sequences(count: int) -> tuple[torch.Tensor, ...]:
    return (
        torch.zeros(count, 64, dtype=torch.int32),
        torch.zeros(count + 1, dtype=torch.int32),
        torch.zeros(count, dtype=torch.int32),
    )


def attention(size: int, tokens: int, count: int, *, splits: int = 1, window: int | None = None, dtype=BF16, group=4):
    """A call of paged attention over pages of 16, 8 K/V heads."""
    q, pages = torch.empty(tokens, 8 * group, size, dtype=dtype), torch.empty(2, 16, 8, size, dtype=dtype)
    call = implementation("paged_attention", "triton")
    return lambda: call(q, pages, pages, *sequences(count), scale=0.1, splits=splits, window=window)


def attention_int4(size: int, tokens: int, count: int, *, splits: int = 1, window: int | None = None):
    q = torch.empty(tokens, 32, size, dtype=BF16)
    packed = torch.empty(2, 16, 8, size // 2, dtype=torch.uint8)
    steps = torch.empty(2, 16, 8, size // 16)
    call = implementation("paged_attention_int4", "triton")
    return lambda: call(q, packed, steps, packed, steps, *sequences(count), scale=0.1, splits=splits, window=window)


def made(call: Callable[[], object], capability: int) -> list[Compiled]:
    """The call's kernels; each within the limits of the device."""
    kernels = [compiled(launch, capability) for launch in launches_of(call)]
    for kernel in kernels:
        assert kernel.spilled == 0, f"{kernel.name} spills {kernel.spilled} bytes of registers to memory"
        assert kernel.shared <= SHARED_MEMORY[capability]
    return kernels


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("size", [64, 128])
def test_prompts(size, capability, monkeypatch):
    on(capability, monkeypatch)
    (kernel,) = made(attention(size, 2_048, 1), capability)
    assert kernel.count(TENSOR_CORES[capability]) > 0
    assert kernel.count("cp.async") > 0, "reads of K/V do not run ahead"


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("size", [64, 128])
def test_decoding_in_splits(size, capability, monkeypatch):
    # Sixteen rows: too few for the wide products of Hopper and Blackwell, so a warp's own on all three.
    on(capability, monkeypatch)
    walk, combine = made(attention(size, 8, 8, splits=4), capability)
    assert walk.count("mma.sync") > 0
    assert walk.count("cp.async") > 0
    assert combine.registers < 64


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_decoding_over_four_bits(capability, monkeypatch):
    on(capability, monkeypatch)
    (kernel,) = made(attention_int4(128, 8, 8), capability)
    assert kernel.count("mma.sync") > 0


def one_sequence(kind: str, tokens: int, length: int, window: int | None) -> Callable[[], object]:
    """A call for the last tokens of one sequence, with a table as wide as its pages."""
    tables = torch.zeros(1, -(-length // 16), dtype=torch.int32)
    rest = (tables, torch.zeros(2, dtype=torch.int32), torch.zeros(1, dtype=torch.int32))
    q, pages = torch.empty(tokens, 32, 128, dtype=BF16), torch.empty(2, 16, 8, 128, dtype=BF16)
    if kind == "paged_attention_int4":
        packed, steps = torch.empty(2, 16, 8, 64, dtype=torch.uint8), torch.empty(2, 16, 8, 8)
        return lambda: implementation(kind, "triton")(q, packed, steps, packed, steps, *rest, scale=0.1, window=window)
    return lambda: implementation(kind, "triton")(q, pages, pages, *rest, scale=0.1, window=window)


@pytest.mark.parametrize("kind", ["paged_attention", "paged_attention_int4"])
@pytest.mark.parametrize(("window", "most"), [(None, 3), (256, 1), (4_096, 3)])
def test_a_sequence_that_grows_compiles_each_kernel_once_or_twice(kind, window, most, monkeypatch):
    on(90, monkeypatch)
    for module in (page_attention_triton, int4_attention_triton):
        monkeypatch.setattr(module, "processors", lambda _device: 132)
    # Attention alone, attention in splits, and their combination: whatever the length, and so the number of splits.
    calls = [one_sequence(kind, 1, length, window) for length in range(1, 32_768, 97)]
    found = {variant(launch, 90) for call in calls for launch in launches_of(call)}
    assert len(found) <= most, found


@every_tile_of_the_tables
@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("size", SIZES)
def test_every_tile_of_the_tables(size, capability, monkeypatch):
    on(capability, monkeypatch)
    for kind in (attention, attention_int4):
        for window in (None, 128):
            (prompt,) = made(kind(size, 2_048, 1, window=window), capability)
            assert prompt.count(TENSOR_CORES[capability]) > 0
            for splits in (1, 64):
                token, *_ = made(kind(size, 8, 8, splits=splits, window=window), capability)
                assert token.count("mma.sync") > 0


@every_tile_of_the_tables
@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("size", SIZES)
def test_every_tile_of_float32(size, capability, monkeypatch):
    on(capability, monkeypatch)
    made(attention(size, 300, 8, splits=2, window=128, dtype=torch.float32), capability)


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_the_shapes_of_the_default_model(capability, monkeypatch):
    # Nine query heads on three of K/V: groups of 3 leave the sixteenth row of a tile empty. float32 is not rounded
    # to the tensor cores' ten bits, so none are used.
    on(capability, monkeypatch)
    (kernel,) = made(attention(64, 8, 8, group=3, dtype=torch.float32), capability)
    assert not any(kernel.count(instruction) for instruction in TENSOR_CORES.values())


def row_calls():
    """The operations that take rows, with shapes of a small and of a large model."""
    x, positions = torch.empty(4, 4_096, dtype=BF16), torch.zeros(4, dtype=torch.int64)
    heads, angles = torch.empty(4, 32, 128, dtype=BF16), torch.empty(64, 64)
    small, pages = torch.empty(4, 576), torch.empty(8, 16, 8, 128, dtype=BF16)
    k, packed, steps = heads[:, :8], torch.empty(64, 64, dtype=torch.uint8), torch.empty(64, 8)
    index = torch.zeros(2, dtype=torch.int64)

    def call(name, *arguments, **named):
        return lambda: implementation(name, "triton")(*arguments, **named)

    return {
        "rms_norm": call("rms_norm", x, x[0], 1e-5),
        "rms_norm of a small model": call("rms_norm", small, small[0], 1e-5),
        "rms_norm of 32,768": call("rms_norm", torch.empty(1, 32_768), torch.empty(32_768), 1e-5),
        "rms_norm and residual": call("rms_norm", x, x[0], 1e-5, x),
        "rope interleaved": call("rope", heads, positions, angles, angles, interleaved=True),
        "rope in halves": call("rope", heads, positions, angles, angles, interleaved=False),
        "silu_mul": call("silu_mul", x, x),
        "write_pages": call("write_pages", k, k, pages, pages, positions),
        "copy_pages": call("copy_pages", pages, index, index),
        "pack_int4": call("pack_int4", torch.empty(64, 128, dtype=BF16)),
        "unpack_int4": call("unpack_int4", packed, steps, BF16),
        "sample": call("sample", torch.empty(2, 128_256, dtype=BF16), torch.ones(2), torch.zeros(2)),
    }


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_operations_on_rows(capability):
    for call in row_calls().values():
        for kernel in made(call, capability):
            assert kernel.registers <= 128, f"{kernel.name}: {kernel.registers} registers leave little room for others"


def test_reads_and_writes_of_rows_are_wide():
    # 16 bytes an instruction is what keeps a memory busy; a missed alignment would show here.
    for name in ("rms_norm", "rope in halves", "rope interleaved", "silu_mul", "copy_pages", "unpack_int4"):
        (kernel,) = made(row_calls()[name], 90)
        wide = sum(kernel.count(f"st.global.v{words}.b32") for words in (2, 4)) + kernel.count("st.global.v2.b64")
        assert wide > 0, f"{name} writes in small pieces"


def test_no_operation_is_left_out(monkeypatch):
    on(90, monkeypatch)
    calls = [*row_calls().values(), attention(64, 8, 8, splits=2), attention_int4(64, 8, 8)]
    launched = {launch.kernel.fn.__module__ for call in calls for launch in launches_of(call)}
    assert launched == {f"agentsim.kernels.{module}_triton" for module in MODULES.values()}
