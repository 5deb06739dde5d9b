"""The kernels on a real device, at sizes that the interpreter is too slow for, against the references in float64."""

from __future__ import annotations

import pytest
import torch

from agentsim.kernels.kernel_dispatch import implementation
from tests.kernels.batches import TOLERANCES

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


def close(result: torch.Tensor, truth: torch.Tensor) -> None:
    tolerance = TOLERANCES[result.dtype]
    torch.testing.assert_close(result.double(), truth.double(), rtol=tolerance, atol=tolerance)


def batch(queries, keys, *, kv_heads, group, size, dtype, page=16):
    columns = -(-max(keys) // page)
    pages = len(keys) * columns + 3
    tables = torch.randperm(pages, device="cuda")[: len(keys) * columns].view(len(keys), columns).int()
    k, v = (torch.full((pages, page, kv_heads, size), float("nan"), dtype=dtype, device="cuda") for _ in "kv")
    for b, count in enumerate(keys):
        places = torch.arange(count, device="cuda")
        for held in (k, v):
            numbers = torch.randn(count, kv_heads, size, device="cuda").to(dtype)
            held[tables[b, places // page].long(), places % page] = numbers
    starts = torch.tensor([0, *queries], device="cuda").cumsum(0).int()
    q = torch.randn(sum(queries), kv_heads * group, size, device="cuda").to(dtype)
    return q, k, v, tables, starts, torch.tensor(keys, device="cuda", dtype=torch.int32)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("size", [64, 80, 128, 256])
@pytest.mark.parametrize("group", [1, 3, 8])
@pytest.mark.parametrize("window", [None, 100])
def test_attention(size, group, window, dtype):
    queries, keys = [1, 300, 0, 17, 1], [1_000, 300, 16, 2_049, 4_111]
    q, k, v, *rest = batch(queries, keys, kv_heads=2, group=group, size=size, dtype=dtype)
    truth = implementation("paged_attention", "reference")(
        q.double(), k.double(), v.double(), *rest, scale=size**-0.5, window=window
    )
    for splits in (None, 1, 5):
        out = torch.full_like(q, float("nan"))
        implementation("paged_attention", "triton")(
            q, k, v, *rest, scale=size**-0.5, window=window, splits=splits, out=out
        )
        close(out, truth)


@pytest.mark.parametrize("splits", [1, 7])
def test_decoding(splits):
    q, k, v, *rest = batch(
        [1] * 64, [1 + 61 * b for b in range(64)], kv_heads=8, group=8, size=128, dtype=torch.bfloat16
    )
    truth = implementation("paged_attention", "reference")(q.double(), k.double(), v.double(), *rest, scale=0.09)
    close(implementation("paged_attention", "triton")(q, k, v, *rest, scale=0.09, splits=splits), truth)


@pytest.mark.parametrize("size", [64, 128])
def test_attention_over_four_bits(size):
    q, k, v, *rest = batch([1, 200, 1], [900, 500, 33], kv_heads=4, group=4, size=size, dtype=torch.bfloat16)
    packed = [part for held in (k, v) for part in implementation("pack_int4", "triton")(held.nan_to_num())]
    truth = implementation("paged_attention_int4", "reference")(q.double(), *packed, *rest, scale=0.1)
    for splits in (1, 4):
        close(implementation("paged_attention_int4", "triton")(q, *packed, *rest, scale=0.1, splits=splits), truth)


def test_operations_on_rows():
    for dtype in (torch.float32, torch.bfloat16):
        x, y = (torch.randn(257, 4_096, device="cuda").to(dtype) for _ in range(2))
        heads, positions = x.view(257, 32, 128), torch.arange(257, device="cuda")
        angles = torch.randn(300, 64, device="cuda")
        calls = [
            ("rms_norm", (x, y[0], 1e-5), {}),
            ("silu_mul", (x, y), {}),
            ("rope", (heads, positions, angles.cos(), angles.sin()), {"interleaved": True}),
            ("rope", (heads, positions, angles.cos(), angles.sin()), {"interleaved": False}),
        ]
        for name, arguments, named in calls:
            wide = [a.double() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in arguments]
            truth = implementation(name, "reference")(*wide, **named)
            close(implementation(name, "triton")(*arguments, **named), truth)


def test_packing_is_bit_for_bit_that_of_the_reference():
    x = torch.randn(1_001, 8, 128, device="cuda")
    for ours, theirs in zip(*(implementation("pack_int4", form)(x) for form in ("triton", "reference")), strict=True):
        assert ours.equal(theirs)


def test_sampling():
    logits = torch.randn(64, 128_256, device="cuda")
    greedy = torch.zeros(64, device="cuda")
    assert implementation("sample", "triton")(logits, greedy).equal(logits.argmax(-1))
    warm, noise = torch.ones(64, device="cuda"), torch.rand(64, device="cuda")
    drawn = [implementation("sample", form)(logits, warm, noise) for form in ("triton", "reference")]
    assert int((drawn[0] != drawn[1]).sum()) <= 1  # noise may lie within rounding of a border


def test_a_launch_can_be_recorded_and_replayed_with_other_lengths():
    q, k, v, tables, starts, lengths = batch([1] * 4, [500] * 4, kv_heads=2, group=4, size=64, dtype=torch.bfloat16)
    run = implementation("paged_attention", "triton")
    out = torch.empty_like(q)
    run(q, k, v, tables, starts, lengths, scale=0.1, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run(q, k, v, tables, starts, lengths, scale=0.1, out=out)
    lengths.copy_(torch.tensor([17, 499, 1, 256]))
    graph.replay()
    reference = implementation("paged_attention", "reference")
    close(out, reference(q.double(), k.double(), v.double(), tables, starts, lengths, scale=0.1))
