"""Writes into pages and copies of pages, in both forms."""

from __future__ import annotations

import pytest
import torch

PAGE, HEADS, SIZE = 4, 3, 10


def pages(count=6, dtype=torch.float32):
    return torch.full((count, PAGE, HEADS, SIZE), float("nan"), dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_each_row_goes_to_its_slot_and_nowhere_else(operation, dtype):
    slots = torch.tensor([7, 0, 22, 13])
    k, v = (torch.randn(4, HEADS, SIZE).to(dtype) for _ in "kv")
    k_pages, v_pages = pages(dtype=dtype), pages(dtype=dtype)
    operation("write_pages")(k, v, k_pages, v_pages, slots)
    for written, rows in ((k_pages, k), (v_pages, v)):
        for row, slot in enumerate(slots.tolist()):
            assert written[slot // PAGE, slot % PAGE].equal(rows[row])
        assert int(written.isnan().all((-1, -2)).sum()) == 6 * PAGE - 4


def test_a_negative_slot_is_left_out(operation):
    k = torch.randn(3, HEADS, SIZE)
    k_pages, v_pages = pages(), pages()
    operation("write_pages")(k, k, k_pages, v_pages, torch.tensor([-1, 5, -1]))
    assert k_pages[1, 1].equal(k[1])
    assert int(k_pages.isnan().all((-1, -2)).sum()) == 6 * PAGE - 1


def test_nothing_to_write(operation):
    k = torch.randn(0, HEADS, SIZE)
    k_pages, v_pages = pages(), pages()
    operation("write_pages")(k, k, k_pages, v_pages, torch.empty(0, dtype=torch.int64))
    assert k_pages.isnan().all()


def test_rows_may_be_a_part_of_a_wider_product(operation):
    both = torch.randn(2, 2, HEADS, SIZE)
    k_pages, v_pages = pages(), pages()
    operation("write_pages")(both[:, 0], both[:, 1], k_pages, v_pages, torch.tensor([1, 2]))
    assert k_pages[0, 1:3].equal(both[:, 0])
    assert v_pages[0, 1:3].equal(both[:, 1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.uint8], ids=str)
def test_a_copy_changes_its_targets_only(operation, dtype):
    before = (torch.randn(6, PAGE, HEADS, SIZE) * 50).abs().to(dtype)
    after = before.clone()
    operation("copy_pages")(after, torch.tensor([0, 5, 0]), torch.tensor([3, 1, 4]))
    assert after[[3, 1, 4]].equal(before[[0, 5, 0]])
    assert after[[0, 2, 5]].equal(before[[0, 2, 5]])


def test_pages_larger_than_a_block_are_copied_whole(operation):
    before = torch.randn(3, 16, 3, 64)  # 3,072 numbers, three blocks of 1,024
    after = before.clone()
    operation("copy_pages")(after, torch.tensor([2]), torch.tensor([0]))
    assert after[0].equal(before[2])


def test_nothing_to_copy(operation):
    before = pages()
    operation("copy_pages")(before, torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int64))
    assert before.isnan().all()


def test_slots_that_were_written_to_are_looked_at_again():
    from agentsim.kernels.page_copies import write_pages

    k = torch.randn(2, HEADS, SIZE)
    slots = torch.tensor([1, 5])
    write_pages(k, k, pages(), pages(), slots)
    slots[0] = -1
    k_pages, v_pages = pages(), pages()
    write_pages(k, k, k_pages, v_pages, slots)
    assert k_pages[1, 1].equal(k[1])
    assert int(k_pages.isnan().all((-1, -2)).sum()) == 6 * PAGE - 1
