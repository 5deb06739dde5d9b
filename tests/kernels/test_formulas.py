"""Bytes and operations that the kernels are measured against."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks import kernels as work

SHAPE = {"heads": 32, "kv_heads": 8, "size": 128}


def test_decoding_reads_all_keys_and_values_once():
    # K and V of 4,096 keys: 2 × 4,096 × 8 × 128 × 2 bytes = 16 MiB; Q and result: 2 × 32 × 128 × 2 bytes = 16 KiB
    done = work.attention(1, 4_096, **SHAPE)
    assert done.bytes == 16 * 2**20 + 16 * 2**10
    # Q·K and P·V: 2 × 2 × 4,096 × 32 × 128
    assert done.flops == 67_108_864


def test_a_prompt_sees_half_of_the_square_and_half_of_its_diagonal():
    assert work.seen_pairs(1_000, 1_000) == 1_000 * 1_001 // 2
    assert work.attention(1_000, 1_000, **SHAPE).flops == 4 * 500_500 * 32 * 128


def test_a_cached_beginning_is_seen_by_all():
    # 30 tokens after 1,000: 1,001 + … + 1,030
    assert work.seen_pairs(30, 1_030) == 30 * 1_000 + 30 * 31 // 2


def test_a_window_cuts_what_is_seen():
    assert work.seen_pairs(4, 10, window=3) == 4 * 3
    assert work.seen_pairs(4, 4, window=3) == 1 + 2 + 3 + 3


def test_four_bits_read_twelve_bytes_where_sixteen_bits_read_32():
    shape = {"heads": 0, "kv_heads": 8, "size": 128}
    assert work.attention_int4(1, 4_096, **shape).bytes * 32 == work.attention(1, 4_096, **shape).bytes * 12


def test_packing_2048_numbers_writes_1536_bytes():
    assert work.pack_int4(2_048).bytes - 2_048 * 2 == 1_536


@pytest.mark.parametrize(
    ("done", "expected"),
    [
        (work.rms_norm(10, 64), 10 * 64 * 2 * 2 + 64 * 2),
        (work.rms_norm(10, 64, residual=True), 10 * 64 * 2 * 4 + 64 * 2),
        (work.rope(5, 4, 64), 5 * 4 * 64 * 2 * 2 + 5 * 64 * 4),
        (work.silu_mul(7, 100), 7 * 100 * 2 * 3),
        (work.write_pages(9, 8, 64), 9 * 8 * 64 * 2 * 4 + 9 * 8),
        (work.copy_pages(3, 16, 8, 64), 3 * 16 * 8 * 64 * 2 * 2 + 3 * 16),
        (work.sample(2, 1_000), 2 * 1_000 * 2 + 16),
        (work.sample(2, 1_000, greedy=False), 3 * 2 * 1_000 * 2 + 16),
    ],
    ids=["norm", "norm and residual", "rope", "silu", "write", "copy", "greedy", "drawn"],
)
def test_bytes(done, expected):
    assert done.bytes == expected


def test_the_least_time_is_that_of_the_scarcer_resource():
    # At 4 TB/s and 800 TFLOP/s: decoding waits for memory, a prompt for arithmetic.
    token, prompt = work.attention(1, 4_096, **SHAPE), work.attention(4_096, 4_096, **SHAPE)
    assert token.seconds(4e12, 8e14) == token.bytes / 4e12
    assert prompt.seconds(4e12, 8e14) == prompt.flops / 8e14


def test_every_kernel_has_a_line_in_the_table():
    from agentsim.kernels import MODULES

    # unpacking alone is done by the references only: attention unpacks as it reads
    assert {case.kernel for case in work.cases()} == set(MODULES) - {"unpack_int4"}


def test_without_a_gpu_it_says_so_and_prints_the_formulas():
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    done = subprocess.run([sys.executable, "-m", "benchmarks.kernels"], capture_output=True, text=True, check=True)
    assert "No GPU here: nothing was timed." in done.stdout
    assert "| paged_attention" in done.stdout
