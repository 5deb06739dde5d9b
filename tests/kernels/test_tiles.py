"""The tables of tiles, and how a sequence's keys are split."""

from __future__ import annotations

import pytest

from agentsim.kernels.tile_sizes import (
    DECODE,
    INT4_DECODE,
    INT4_PROMPT,
    PROMPT,
    keys_of_a_block,
    padded,
    splits_for,
    tile,
)

TABLES = [PROMPT, DECODE, INT4_PROMPT, INT4_DECODE]


@pytest.mark.parametrize("table", TABLES, ids=["prompt", "decode", "int4 prompt", "int4 decode"])
def test_sides_are_powers_of_two_that_tensor_cores_take(table):
    assert set(table) == {8, 9, 10}
    for sizes in table.values():
        assert set(sizes) == {32, 64, 128, 256}
        for entry in sizes.values():
            assert entry.rows >= 16
            assert entry.keys >= 16
            assert all(n & (n - 1) == 0 for n in (entry.rows, entry.keys, entry.warps))


def test_heads_between_two_sizes_take_the_larger():
    assert tile(DECODE, 9, 80) == DECODE[9][128]
    assert tile(DECODE, 9, 128) == DECODE[9][128]


def test_a_device_takes_the_newest_table_it_can():
    assert tile(PROMPT, 12, 64) == PROMPT[10][64]
    assert tile(PROMPT, 9, 64) == PROMPT[9][64]
    assert tile(PROMPT, 7, 64) == PROMPT[8][64]


def test_heads_that_are_too_large_are_refused():
    with pytest.raises(ValueError, match="heads of 300 numbers"):
        tile(PROMPT, 9, 300)


def test_sizes_are_padded_to_powers_of_two():
    assert [padded(n) for n in (1, 16, 17, 24, 64, 65)] == [16, 16, 32, 32, 64, 128]


def test_one_long_sequence_is_split_until_each_processor_has_four_programs():
    # 132 processors × 4 programs / 8 heads = 66, of which 64 are the most there are
    assert splits_for(8, 32_768, 132) == 64
    # 128 sequences × 8 heads are enough as they are: 528 / 1,024
    assert splits_for(1_024, 32_768, 132) == 1
    # 528 / 64 = 8.25: nine
    assert splits_for(64, 32_768, 132) == 9


def test_short_contexts_are_not_split_to_crumbs():
    # 1,000 keys are three splits of 256 at least
    assert splits_for(1, 1_000, 132) == 3
    assert splits_for(1, 100, 132) == 1


def test_a_window_bounds_the_splits():
    # Windows of 128 of 16 neighbouring tokens reach over 143 keys, however long the sequence is: no two splits of 256.
    assert keys_of_a_block(32_768, 16, 128) == 143
    assert splits_for(8, keys_of_a_block(32_768, 16, 128), 132) == 1
    assert splits_for(8, keys_of_a_block(32_768, 1, 511), 132) == 1
    assert splits_for(8, keys_of_a_block(32_768, 1, 512), 132) == 2
    assert keys_of_a_block(100, 16, 128) == 100
    assert keys_of_a_block(100, 16, None) == 100
