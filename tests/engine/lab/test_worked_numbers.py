"""Numbers that can be checked by hand, each beside its arithmetic."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
import torch

from agentsim.engine.lab.divergence import cross_entropy, entropy, kl, total_variation
from agentsim.engine.lab.entries import Granularity
from agentsim.engine.lab.experts import CHOSEN, EXPERTS, POSITIONS, Experts, balance_by_bias, collapsed, trained
from agentsim.engine.lab.granularity import measured
from agentsim.engine.lab.indexer import worked_step
from agentsim.engine.lab.inverse_rope import turned
from agentsim.engine.lab.kv_size import held, pairs
from agentsim.engine.lab.latent import EXPAND
from agentsim.engine.lab.linear_attention import vector, written
from agentsim.engine.lab.score_tables import (
    average_of_tiles,
    combine_exponentials,
    online_attention,
    rescaled,
    table_bytes,
)
from agentsim.engine.lab.speculation import ledger
from agentsim.engine.lab.states.latent_state import absorb
from agentsim.engine.lab.yoco import INPUTS, model
from agentsim.engine.layouts.alternatives import alternatives
from agentsim.engine.layouts.kv_sizes import GIB, MIB, Shape, kv_bytes, number_bytes, sessions_in, yoco_bytes
from agentsim.engine.layouts.state_layout import StateLayout, TokenState
from agentsim.kernels import pack_int4, unpack_int4

TEACHING = Shape(layers=32, heads=32, kv_heads=32, head_dim=128)


def test_score_tables() -> None:
    assert table_bytes(10_000) == 10_000 * 10_000 * 2 == 200 * 10**6
    assert 2 * table_bytes(10_000) == 400 * 10**6


def test_tiles_of_a_softmax() -> None:
    # exponentials 1, 1 | 3 over values 0, 0 | 10: (0 + 0 + 30) / (1 + 1 + 3)
    assert combine_exponentials([[1, 1], [3]], [[0, 0], [10]]) == 30 / 5 == 6
    # rescaled by the larger score of the second tile: 10 / (2/3 + 1)
    assert rescaled([[0, 0], [math.log(3)]], [[0, 0], [10]]) == pytest.approx(10 / (2 / 3 + 1)) == pytest.approx(6)
    # normalised tile by tile: (0 + 10) / 2, which is wrong
    assert average_of_tiles([[1, 1], [3]], [[0, 0], [10]]) == 5


@pytest.mark.parametrize("tile", [1, 3, 16, 64, 1_000])
def test_online_attention_is_attention(tile: int) -> None:
    generator = torch.Generator().manual_seed(tile)
    query = 5 * torch.randn(8, generator=generator, dtype=torch.float64)
    keys, values = (torch.randn(64, 8, generator=generator, dtype=torch.float64) for _ in range(2))
    whole = torch.softmax(keys @ query / 8**0.5, 0) @ values
    assert float((online_attention(query, keys, values, tile) - whole).abs().max()) <= 1e-15


def test_large_scores_do_not_overflow() -> None:
    query = torch.full((4,), 1e4, dtype=torch.float64)
    keys = torch.tensor([[1.0] * 4, [-1.0] * 4, [0.5] * 4], dtype=torch.float64)
    read = online_attention(query, keys, torch.eye(3, dtype=torch.float64), 1)
    assert read.tolist() == [1, 0, 0]


def test_key_value_sizes() -> None:
    # 32 layers × 32,768 tokens × 2 (K and V) × heads × 128 × 2 bytes
    for heads, gib in ((32, 16), (8, 4), (1, 0.5)):
        shape = replace(TEACHING, kv_heads=heads)
        assert kv_bytes(shape, 32_768) == 32 * 32_768 * 2 * heads * 128 * 2 == gib * GIB


def test_pairs_of_five_tokens() -> None:
    assert (pairs(8, 8, 5), pairs(8, 2, 5), pairs(8, 1, 5)) == (8 * 5, 2 * 5, 1 * 5) == (40, 10, 5)
    # four numbers each in K and V, two bytes: 16 bytes a pair, 32 for two groups
    assert held(1, head_dim=4, heads=8, tokens=1).bytes == (4 + 4) * 2 == 16
    assert held(2, head_dim=4, heads=8, tokens=1).bytes == 32


def test_four_bits() -> None:
    # 16 numbers: 16 / 2 bytes of levels and a step of 4
    assert number_bytes(16, 4) == 8 + 4 == 12
    assert number_bytes(16, 16) == 32
    assert number_bytes(2_048, 4) == 2_048 // 2 + 2_048 // 16 * 4 == 1_024 + 512
    numbers = torch.zeros(16)
    numbers[:2] = torch.tensor([0.7, 0.32])
    packed, steps = pack_int4(numbers)
    assert (packed.nbytes, steps.nbytes) == (8, 4)
    assert float(steps[0]) == pytest.approx(0.1)
    assert float(unpack_int4(packed, steps, torch.float32)[1]) == pytest.approx(3 * 0.1)


def test_a_latent_scores_as_its_key_does() -> None:
    latent, query = (torch.tensor(x, dtype=torch.float64) for x in ([2.0, 1.0], [1.0, 0.0, 2.0]))
    assert (latent @ EXPAND).tolist() == [2, 1, 2 + 1]
    moved = absorb(query[None, None], EXPAND[None])[0, 0]
    assert moved.tolist() == [1 + 2, 0 + 2] == [3, 2]
    assert float(query @ (latent @ EXPAND)) == 1 * 2 + 0 * 1 + 2 * 3 == 8
    assert float(moved @ latent) == 3 * 2 + 2 * 1 == 8


def test_linear_attention() -> None:
    state = written()
    assert state.matrix.tolist() == [[2, 0 + 6], [4, 0 + 3]]
    assert state.total is not None
    assert state.total.tolist() == [1 + 2, 2 + 1]
    query = vector(1, 2)
    assert (query @ state.matrix).tolist() == [1 * 2 + 2 * 4, 1 * 6 + 2 * 3] == [10, 12]
    assert state.read(query).tolist() == pytest.approx([10 / 9, 12 / 9])


def test_inverse_rotation() -> None:
    mixed = 0.75 * torch.tensor([2.0, 0.0], dtype=torch.float64) + 0.25 * torch.tensor([0.0, 4.0], dtype=torch.float64)
    assert mixed.tolist() == [1.5, 1]
    back = turned(mixed, -100)
    a = math.radians(-100)
    assert back.tolist() == pytest.approx([1.5 * math.cos(a) - math.sin(a), 1.5 * math.sin(a) + math.cos(a)])
    assert back.tolist() == pytest.approx([0.724, -1.651], abs=0.0005)


def test_positions_that_skip_the_later_half() -> None:
    state = model(7)
    generator = torch.Generator().manual_seed(7)
    state.prefill(torch.randn(INPUTS, 16, generator=generator, dtype=torch.float64))
    assert dict(state.traversed) == {1: 1_000, 2: 1_000, 3: 1, 4: 1}
    assert state.history.length == 1_000
    state.append(torch.randn(1, 16, generator=generator, dtype=torch.float64))
    assert dict(state.traversed) == {1: 1_001, 2: 1_001, 3: 2, 4: 2}


def test_experts() -> None:
    generator = torch.Generator().manual_seed(5)
    layer, inputs = collapsed(generator)
    routed = layer.route(inputs)
    assert routed.assignments == 100 * 2 == POSITIONS * CHOSEN == 200
    assert routed.load(EXPERTS) == [0, 0, 100, 0, 0, 0, 0, 100]
    assert trained(layer, inputs) == ([2, 7], True)
    weights = routed.weights.clone()
    loads = balance_by_bias(layer, inputs, 120)
    assert sum(loads[-1]) == 200
    assert min(loads[-1]) > 0
    # The bias chooses and does not mix: whoever is chosen as before counts as before.
    again = layer.route(inputs)
    same = (again.experts == routed.experts).all(1)
    assert torch.equal(again.weights[same], weights[same])


def test_experts_run_only_where_they_are_chosen() -> None:
    generator = torch.Generator().manual_seed(6)
    layer = Experts(generator)
    inputs = torch.randn(30, 16, generator=generator, dtype=torch.float64)
    routed = layer.route(inputs)
    assert torch.allclose(layer.forward(inputs, routed), layer.dense(inputs, routed), rtol=0, atol=1e-12)
    assert routed.weights.sum(-1).tolist() == pytest.approx([1.0] * 30)


def test_divergences() -> None:
    p, r = (0.45, 0.45, 0.10), (0.10, 0.20, 0.70)
    by_hand = 0.45 * math.log(4.5) + 0.45 * math.log(2.25) + 0.10 * math.log(1 / 7)
    assert kl(p, r) == pytest.approx(by_hand) == pytest.approx(0.847, abs=0.0005)
    assert kl(r, p) != pytest.approx(kl(p, r), abs=0.1)
    assert (
        cross_entropy((1, 0, 0), (0.2, 0.5, 0.3)) == pytest.approx(-math.log(0.2)) == pytest.approx(1.609, abs=0.0005)
    )
    assert kl((1, 0, 0), (0.2, 0.5, 0.3)) == pytest.approx(1.609, abs=0.0005)
    assert entropy((1, 0, 0)) == 0
    assert entropy((0.25,) * 4) == pytest.approx(math.log(4))
    assert cross_entropy(p, r) == pytest.approx(entropy(p) + kl(p, r))
    assert cross_entropy((0.5, 0.5), (1, 0)) == kl((0.5, 0.5), (1, 0)) == math.inf
    assert total_variation((0.2, 0.5, 0.3), (0.6, 0.3, 0.1)) == pytest.approx((0.4 + 0.2 + 0.2) / 2)


def test_one_step_of_an_indexer() -> None:
    before, after, error = worked_step(1.0)
    assert before == pytest.approx(0.847, abs=0.0005)
    assert after < before
    assert error < 1e-12


def test_granularity() -> None:
    fine, coarse = Granularity(1), Granularity(16)
    assert fine.entries(10**6) // coarse.entries(10**6) == 1_000_000 // 62_500 == 16
    assert coarse.most_repeated == 15
    # 999 tokens match: 62 groups of 16 are 992, and 7 are left over
    assert (fine.reused(999), coarse.reused(999), coarse.repeated(999)) == (999, 62 * 16, 7)
    assert measured(1, 1_000) == (1_000, 999)
    assert measured(16, 1_000) == (1_000 // 16, 992)
    assert measured(1, 993)[1] == measured(16, 993)[1] == 992
    with pytest.raises(ValueError, match="holds nothing"):
        Granularity(0)


def test_ledgers() -> None:
    ordinary, speculative = ledger(3, 30, tokens=3), ledger(1, 40, drafted=4, per_draft=1, tokens=3)
    assert (ordinary.total, speculative.total) == (3 * 30, 40 + 4 * 1) == (90, 44)


def test_sessions_that_fit() -> None:
    assert sessions_in(640 * MIB, 64 * MIB) == 10
    assert sessions_in(640 * MIB, 10 * MIB) == 64
    assert sessions_in(63, 64) == 0
    assert sessions_in(1, 0) == 0


def test_alternatives() -> None:
    found = {each.name: each.bytes for each in alternatives(StateLayout.plain(replace(TEACHING, kv_heads=8)), 32_768)}
    assert found["as it is (GQA)"] == found["GQA, 8 K/V heads"] == 4 * GIB
    assert found["MHA"] == 16 * GIB
    assert found["MQA"] == GIB // 2
    assert found["INT4"] == 4 * GIB * 12 // 32
    record = 8 * 2 * 128 * 2
    assert (
        found["YOCO, windows of 128"]
        == record * (32_768 + 16 * 128)
        == yoco_bytes(replace(TEACHING, kv_heads=8), 32_768, 128)
    )


def test_windows_and_latents_in_sizes() -> None:
    # 26 layers, all but four with a window of 512; one K/V head of 256
    shape = Shape(26, 4, 1, 256)
    windowed = StateLayout(shape, (TokenState("", 512, layers=4), TokenState("", 512, limit=512, layers=22)))
    record = 2 * 256 * 2
    assert windowed.kv_bytes(300) == 26 * 300 * record == kv_bytes(shape, 300)
    assert windowed.kv_bytes(32_768) == (4 * 32_768 + 22 * 512) * record
    # 61 layers, one vector of 512 + 64 numbers for a token
    latent = Shape(61, 128, 128, 128, latent=576)
    assert kv_bytes(latent, 1) == 61 * 576 * 2 == 70_272


def test_the_exact_rule_gives_the_target_for_any_pair() -> None:
    from agentsim.engine.lab.resampling import expected

    for seed in range(200):
        generator = torch.Generator().manual_seed(seed)
        p, d = (torch.randint(0, 8, (5,), generator=generator).tolist() for _ in range(2))
        if not sum(p) or not sum(d):
            continue
        target, draft = (tuple(Fraction(x, sum(each)) for x in each) for each in (p, d))
        made = expected(target, draft)
        assert made.result == target
        overlap = sum(min(a, b) for a, b in zip(target, draft, strict=True))
        assert 1 - made.rejected == overlap == 1 - sum(abs(a - b) for a, b in zip(target, draft, strict=True)) / 2


@pytest.mark.parametrize(("heads", "groups"), [(32, 8), (9, 1), (12, 3), (64, 16), (1, 1), (7, 1), (10, 2)])
def test_groups_divide_the_query_heads(heads: int, groups: int) -> None:
    ways = [each.name for each in alternatives(StateLayout.plain(Shape(2, heads, heads, 64)), 10)]
    assert f"GQA, {groups} K/V {'head' if groups == 1 else 'heads'}" in ways
