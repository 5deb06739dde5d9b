"""Paged attention in both forms, against its definition in float64."""

from __future__ import annotations

import pytest
import torch

from agentsim.kernels.tile_sizes import Tile
from tests.kernels.batches import check, expected, random_batch

PAGE = 16

# Small tiles, so that short contexts are walked in several: (rows, keys).
TILES = [Tile(16, 16, 4, 2), Tile(16, 32, 4, 2)]

LENGTHS = [1, PAGE - 1, PAGE, PAGE + 1]


def run(operation, batch, **named):
    return operation("paged_attention")(*batch.arguments, scale=batch.scale, out=batch.poisoned(), **named)


def small_tiles(operation, request, tile):
    """Only the kernel has tiles."""
    return {"configuration": tile} if request.node.callspec.params["operation"] == "triton" else {}


@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("splits", [1, 3])
def test_one_token_a_sequence_at_every_length_around_a_page(operation, request, tile, splits):
    batch = random_batch([1] * len(LENGTHS), LENGTHS)
    check(run(operation, batch, splits=splits, **small_tiles(operation, request, tile)), expected(batch))


@pytest.mark.parametrize("group", [1, 3, 4, 8])
def test_groups_of_query_heads_share_a_head_of_keys(operation, request, group):
    # 3 is SmolLM2's; tiles of 16 rows then hold 5 tokens and a row that is none
    batch = random_batch([1, 3], [19, 5], group=group)
    check(run(operation, batch, **small_tiles(operation, request, TILES[0])), expected(batch))


def test_prompts_with_and_without_a_cached_beginning(operation, request):
    # 20 new of 20, 5 new after 28 cached, 1 new after 40 cached, and sequences that ask nothing
    batch = random_batch([20, 0, 5, 1, 0], [20, 7, 33, 41, 0])
    check(run(operation, batch, **small_tiles(operation, request, TILES[0])), expected(batch))


@pytest.mark.parametrize("window", [1, 5, 16, 100])
def test_a_window_counts_the_query_itself(operation, request, window):
    batch = random_batch([12, 1, 3], [37, 33, 3])
    truth = expected(batch, window)
    for splits in (1, 2):
        check(run(operation, batch, window=window, splits=splits, **small_tiles(operation, request, TILES[0])), truth)


def test_a_window_of_one_gives_each_token_its_own_value(operation):
    batch = random_batch([3], [18], group=1)
    result = run(operation, batch, window=1)
    positions = [15, 16, 17]
    own = torch.stack([batch.v_pages[batch.block_tables[0, p // PAGE], p % PAGE] for p in positions])
    check(result, own.double())


def test_a_query_that_sees_no_key_gives_zeros(operation):
    # The second sequence has 3 queries for 1 key: two stand before the beginning. The third is padding.
    batch = random_batch([1, 3, 1], [4, 1, 0])
    result = run(operation, batch)
    assert result[1:3].eq(0).all()
    assert result[4].eq(0).all()
    check(result, expected(batch))


def test_no_tokens_at_all(operation):
    batch = random_batch([0, 0], [5, 0])
    assert run(operation, batch).shape == (0, 4, 16)


@pytest.mark.parametrize("size", [8, 24, 40])
def test_heads_that_fill_no_tile(operation, size):
    batch = random_batch([2, 1], [18, 9], size=size)
    check(run(operation, batch), expected(batch))


@pytest.mark.parametrize("page", [1, 4, 24])
def test_pages_of_other_sizes(operation, request, page):
    # Tiles of 16 keys: sixteen pages, four pages, and two thirds of one
    batch = random_batch([1, 4], [29, 25], page=page)
    check(run(operation, batch, **small_tiles(operation, request, TILES[0])), expected(batch))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_results_are_as_good_as_their_type(operation, dtype):
    batch = random_batch([1, 6], [33, 21], dtype=dtype)
    check(run(operation, batch), expected(batch))


def test_the_number_of_splits_changes_nothing_but_rounding(operation, request):
    batch = random_batch([1, 2], [70, 35], group=1)
    tiles = small_tiles(operation, request, TILES[0])
    whole = run(operation, batch, splits=1, **tiles)
    for splits in (2, 4, 7):  # 7 is more than there are tiles: some splits find nothing
        torch.testing.assert_close(run(operation, batch, splits=splits, **tiles), whole, rtol=1e-5, atol=1e-6)


def test_queries_may_be_a_part_of_a_wider_product(operation):
    batch = random_batch([2], [9])
    wide = torch.full((2, 3, 4, 16), float("nan"))
    wide[:, 1] = batch.q
    result = operation("paged_attention")(wide[:, 1], *batch.arguments[1:], scale=batch.scale)
    check(result, expected(batch))


def test_large_scores_do_not_overflow(operation):
    batch = random_batch([1, 2], [20, 17])
    batch.q.mul_(1000)
    # Scores in the thousands are rounded to some 2⁻¹² in float32, and weights as far in proportion.
    torch.testing.assert_close(run(operation, batch).double(), expected(batch), rtol=0.02, atol=0.02)


def test_the_plan_of_the_last_batch_is_not_used_for_another():
    from agentsim.kernels.page_attention import paged_attention

    first, second = random_batch([1, 1], [20, 20]), random_batch([1, 1], [20, 20])
    for batch in (first, second, first):
        check(paged_attention(*batch.arguments, scale=batch.scale), expected(batch))
    # The same tensor, written to: as an engine does that keeps its tables.
    swapped = second.block_tables.flip(0)
    first.block_tables.copy_(swapped)
    moved = random_batch([1, 1], [20, 20])
    moved.block_tables.copy_(moved.block_tables.flip(0))
    check(paged_attention(*moved.arguments, scale=moved.scale), expected(moved))


def test_pages_in_a_row_are_read_where_they_are():
    from agentsim.kernels.page_attention import plan

    tables = torch.tensor([[3, 4, 5], [1, 0, 2]], dtype=torch.int32)
    lengths = torch.tensor([40, 40], dtype=torch.int32)
    straight, mixed = plan(
        tables, torch.tensor([0, 2, 4], dtype=torch.int32), lengths, page=16, window=None, dtype=torch.float32
    )
    assert straight.slots == slice(48, 88)
    assert isinstance(mixed.slots, torch.Tensor)
    assert mixed.slots[:18].tolist() == [*range(16, 32), 0, 1]


@pytest.mark.parametrize("inference", [False, True])
def test_a_plan_is_made_once_for_all_layers_and_anew_when_its_tables_were_written_to(inference):
    from agentsim.kernels.page_attention import plan

    with torch.inference_mode(inference):
        tables = torch.tensor([[3, 4, 5]], dtype=torch.int32)
        starts, lengths = torch.tensor([0, 1], dtype=torch.int32), torch.tensor([40], dtype=torch.int32)

    def planned(window=None):
        return plan(tables, starts, lengths, page=16, window=window, dtype=torch.float32)

    with torch.inference_mode():  # as a model's layers are computed
        first = planned()
        # Tensors made in inference mode do not tell whether they were written to.
        assert (planned() is first) is not inference
        assert first[0].slots == slice(48, 88)
        tables[0, 0] = 9
        (part,) = planned()
    assert isinstance(part.slots, torch.Tensor)
    assert part.slots[:17].tolist() == [*range(144, 160), 64]
    (shorter,) = planned(window=8)
    assert shorter.slots == slice(80, 88)
