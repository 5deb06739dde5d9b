"""The controls of a cached prefix, and the stories of who owns a page, on the seeded decoder."""

from __future__ import annotations

import pytest
import torch

from agentsim.engine.decoder import Decoder
from agentsim.engine.page_ownership import protected_until, return_after_eviction, shared_and_left, taken_while_writing
from agentsim.engine.reuse_controls import cached_control, splice_control
from agentsim.engine.weights.tiny import tiny_weights

torch.set_num_threads(1)

BOTH = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])


@BOTH
def test_three_ways_give_the_same_bits(dtype: torch.dtype) -> None:
    control = cached_control(Decoder(tiny_weights(), dtype, row_by_row=True))
    # A document of 40 tokens and questions of 2, 5 and 7; of 40 tokens two pages of 16 are full.
    assert control.inputs == (40 + 2, 40 + 5, 40 + 7)
    assert (control.hit, control.computed) == (2 * 16, 47 - 2 * 16)
    assert control.cached_against_full == 0
    assert control.cached_against_split == 0


@pytest.mark.parametrize(("dtype", "rounding"), [(torch.float64, 1e-13), (torch.float32, 1e-4)])
def test_three_ways_differ_by_rounding_when_products_are_batched(dtype: torch.dtype, rounding: float) -> None:
    control = cached_control(Decoder(tiny_weights(), dtype))
    assert control.cached_against_full < rounding
    assert control.cached_against_split < rounding


@BOTH
def test_the_same_document_behind_another_context(dtype: torch.dtype) -> None:
    control = splice_control(Decoder(tiny_weights(), dtype, row_by_row=True))
    assert control.first_layer_keys == 0
    assert control.second_layer_keys > 0.1
    assert control.invalid_splice > 0.1
    assert control.full_replay == 0


@pytest.fixture(scope="module")
def model() -> Decoder:
    return Decoder(tiny_weights())


@pytest.mark.parametrize(("protection", "waits"), [("none", False), ("flag", True), ("counts", True)])
def test_pages_of_one_that_is_writing(model: Decoder, protection, waits: bool) -> None:
    damage = taken_while_writing(model, protection)
    assert damage.waited == waits
    if waits:
        assert (damage.changed, damage.difference) == (0, 0.0)
    else:
        assert damage.changed > 0
        assert damage.difference > 0.1


@pytest.mark.parametrize(("protection", "waits"), [("none", False), ("flag", False), ("counts", True)])
def test_pages_that_two_read_when_one_of_them_finishes(model: Decoder, protection, waits: bool) -> None:
    damage = shared_and_left(model, protection)
    assert damage.waited == waits
    assert damage.compared == 20
    if waits:
        assert (damage.changed, damage.difference) == (0, 0.0)
    else:
        assert damage.difference > 0.1


@pytest.mark.parametrize(
    ("design", "until", "safe"),
    [("copy", "copied", True), ("shared", "copied", False), ("shared", "last read", True)],
)
def test_when_protection_may_end(model: Decoder, design, until, safe: bool) -> None:
    assert (protected_until(model, design, until).difference == 0) == safe


def test_giving_up_the_first_page_loses_all_and_the_last_one_little(model: Decoder) -> None:
    head, tail = return_after_eviction(model, "head_first"), return_after_eviction(model, "tail_first")
    assert head.prompt == tail.prompt == 12 * 16 + 3
    assert (head.hit, head.reachable, head.kept) == (0, 0, 11)
    assert head.difference == 0  # all is computed as without a cache
    assert (tail.hit, tail.reachable, tail.kept) == (11 * 16, 11, 11)
    assert tail.difference < 1e-4
    assert head.same_tokens
    assert tail.same_tokens
