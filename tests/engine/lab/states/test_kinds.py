"""Every kind of state against its dense definition, with fresh inputs each run of the suite."""

from __future__ import annotations

import secrets

import pytest
import torch

from agentsim.engine.lab.states.layer_state import Snapshot, Unrestorable
from agentsim.engine.lab.states.state_kinds import DIM, HEAD_DIM, KINDS, WINDOW, random_inputs

torch.set_num_threads(1)

NAMES = sorted(KINDS)
MEND_BY_TRUNCATION = {name for name in NAMES if not any(w in name for w in ("window", "recurrent", "YOCO"))}
BY_SNAPSHOT = set(NAMES) - MEND_BY_TRUNCATION
EXACT = 1e-11
"""float64; sums of a few hundred products of numbers near 1 (a recurrent read divides by a small total at times)."""


@pytest.fixture
def generator() -> torch.Generator:
    seed = secrets.randbits(48)
    print(f"seed {seed}")  # pytest shows it where a test fails
    return torch.Generator().manual_seed(seed)


def close(ours: torch.Tensor, theirs: torch.Tensor) -> bool:
    return ours.shape == theirs.shape and float((ours - theirs).abs().max()) <= EXACT * max(
        1, float(theirs.abs().max())
    )


@pytest.mark.parametrize("name", NAMES)
def test_one_go_is_the_dense_definition(name: str, generator: torch.Generator) -> None:
    made = KINDS[name](generator)
    inputs = random_inputs(generator, 13)
    assert close(made.state.append(inputs), made.dense(inputs))
    assert made.state.length == 13


@pytest.mark.parametrize("name", NAMES)
def test_any_split_gives_the_same(name: str, generator: torch.Generator) -> None:
    made = KINDS[name](generator)
    inputs = random_inputs(generator, 14)
    parts, start = [], 0
    while start < 14:
        count = int(torch.randint(1, 5, (1,), generator=generator))
        parts.append(made.state.append(inputs[start : start + count]))
        start += count
    assert close(torch.cat(parts), made.dense(inputs))


@pytest.mark.parametrize("name", NAMES)
def test_recording_keeps_what_appending_keeps(name: str, generator: torch.Generator) -> None:
    made = KINDS[name](generator)
    inputs = random_inputs(generator, 12)
    made.state.record(inputs[:11])
    assert close(made.state.append(inputs[11:]), made.dense(inputs)[11:])


@pytest.mark.parametrize("name", sorted(MEND_BY_TRUNCATION))
def test_truncation_is_as_if_the_rest_never_came(name: str, generator: torch.Generator) -> None:
    made = KINDS[name](generator)
    document, old, new = (random_inputs(generator, count) for count in (9, 4, 3))
    made.state.append(torch.cat((document, old)))
    made.state.truncate(9)
    assert made.state.length == 9
    assert close(made.state.append(new), made.dense(torch.cat((document, new)))[9:])


@pytest.mark.parametrize("name", sorted(BY_SNAPSHOT))
def test_what_cannot_be_truncated_says_so_and_changes_nothing(name: str, generator: torch.Generator) -> None:
    made = KINDS[name](generator)
    document, old, new = (random_inputs(generator, count) for count in (9, WINDOW + 1, 3))
    made.state.append(torch.cat((document, old)))
    with pytest.raises(Unrestorable):
        made.state.truncate(9)
    assert close(made.state.append(new), made.dense(torch.cat((document, old, new)))[-3:])


@pytest.mark.parametrize("name", NAMES)
def test_a_snapshot_restores(name: str, generator: torch.Generator) -> None:
    made = KINDS[name](generator)
    document, old, new = (random_inputs(generator, count) for count in (9, 7, 3))
    made.state.append(document)
    snapshot = made.state.snapshot()
    made.state.append(old)
    made.state.restore(snapshot)
    assert close(made.state.append(new), made.dense(torch.cat((document, new)))[9:])
    made.state.restore(snapshot)  # and again: what came after it did not touch it
    assert close(made.state.append(new), made.dense(torch.cat((document, new)))[9:])


@pytest.mark.parametrize("name", NAMES)
def test_a_snapshot_costs_nothing_exactly_where_truncation_is_possible(name: str, generator: torch.Generator) -> None:
    made = KINDS[name](generator)
    made.state.append(random_inputs(generator, 9))
    assert (made.state.snapshot().bytes == 0) == (name in MEND_BY_TRUNCATION)


@pytest.mark.parametrize("name", NAMES)
def test_positions_never_reached_are_refused(name: str, generator: torch.Generator) -> None:
    made = KINDS[name](generator)
    made.state.append(random_inputs(generator, 3))
    for length in (4, -1):
        with pytest.raises(ValueError, match="never reached"):
            made.state.truncate(length)


def number(count: int) -> int:
    return 8 * count  # float64


@pytest.mark.parametrize(
    ("name", "tokens", "held", "read"),
    [
        ("full, MHA", 11, number(11 * 2 * 4 * HEAD_DIM), number(11 * 2 * 4 * HEAD_DIM)),
        ("full, GQA", 11, number(11 * 2 * 2 * HEAD_DIM), number(11 * 2 * 2 * HEAD_DIM)),
        ("full, MQA", 11, number(11 * 2 * 1 * HEAD_DIM), number(11 * 2 * 1 * HEAD_DIM)),
        ("sliding window", 3, number(3 * 2 * 2 * HEAD_DIM), number(3 * 2 * 2 * HEAD_DIM)),
        ("sliding window", 11, number(5 * 2 * 2 * HEAD_DIM), number(5 * 2 * 2 * HEAD_DIM)),
        # one history and three windows are kept; three layers read the history, each its own window
        ("shared global + windows", 11, number((11 + 3 * 5) * 64), number((3 * 11 + 3 * 5) * 64)),
        # two windows and one history; two late layers read it
        ("YOCO", 11, number((11 + 2 * 5) * 64), number((2 * 11 + 2 * 5) * 64)),
        ("latent, absorbed query", 11, number(11 * 6), number(11 * 6)),
        ("one vector for K and V", 11, number(11 * HEAD_DIM), number(11 * HEAD_DIM)),
        ("recurrent, matrix only", 11, number(8 * 12), number(8 * 12)),
        ("recurrent, normalised", 11, number(8 * 12 + 8), number(8 * 12 + 8)),
        # eleven records and index keys of four numbers are kept; three records and all index keys are read
        ("index-selected", 11, number(11 * (64 + 4)), number(3 * 64 + 11 * 4)),
        ("image by cross-attention", 11, number((11 + 4) * 64), number((11 + 4) * 64)),
        # 16 numbers: 8 bytes of levels and a step of 4
        ("INT4", 11, 11 * 2 * 2 * (8 + 4), 11 * 2 * 2 * (8 + 4)),
    ],
)
def test_bytes(name: str, tokens: int, held: int, read: int, generator: torch.Generator) -> None:
    state = KINDS[name](generator).state
    state.append(random_inputs(generator, tokens))
    assert (state.bytes, state.reads()) == (held, read)


def test_int4_is_near_what_it_stands_for_and_not_equal(generator: torch.Generator) -> None:
    made = KINDS["INT4"](generator)
    inputs = random_inputs(generator, 12)
    from agentsim.engine.lab.states.full_state import FullHistory
    from agentsim.engine.lab.states.int4_state import Int4History

    assert isinstance(made.state, Int4History)
    full = FullHistory(made.state.weights).append(inputs)
    error = float((made.state.append(inputs) - full).abs().max())
    assert 0 < error < 0.5 * float(full.abs().max())


def test_a_reference_is_no_snapshot(generator: torch.Generator) -> None:
    # The matrix is changed in place: whoever keeps the array instead of a copy finds the later numbers in it.
    made = KINDS["recurrent, normalised"](generator)
    document, old, new = (random_inputs(generator, count) for count in (6, 4, 2))
    made.state.append(document)
    reference = Snapshot(6, made.state.kept())
    copy = made.state.snapshot()
    made.state.append(old)
    made.state.restore(reference)
    assert not close(made.state.append(new), made.dense(torch.cat((document, new)))[6:])
    made.state.restore(copy)
    assert close(made.state.append(new), made.dense(torch.cat((document, new)))[6:])


def test_additions_can_be_undone_but_not_bit_for_bit() -> None:
    from agentsim.engine.lab.states.recurrent_state import LinearWeights, Recurrent

    generator = torch.Generator().manual_seed(3)
    weights = LinearWeights.drawn(generator, dim=DIM, key_dim=8, value_dim=12, dtype=torch.float32)
    state = Recurrent(weights)
    inputs = random_inputs(generator, 40).to(torch.float32)
    keys, values = state.contributions(inputs)
    for key, value in zip(keys[:36], values[:36], strict=True):
        state.add(key, value)
    before = state.matrix.clone()
    for key, value in zip(keys[36:], values[36:], strict=True):
        state.add(key, value)
    for key, value in reversed(list(zip(keys[36:], values[36:], strict=True))):
        state.subtract(key, value)
    assert state.length == 36
    assert torch.allclose(state.matrix, before, rtol=0, atol=1e-4)
    assert not torch.equal(state.matrix, before)


@pytest.mark.parametrize("name", ["sliding window", "shared global + windows", "YOCO"])
def test_a_window_can_lose_one_token_and_no_second(name: str, generator: torch.Generator) -> None:
    # The next token counts in its own window of five: it reads four others, and five are kept.
    made = KINDS[name](generator)
    tokens, new = random_inputs(generator, 12), random_inputs(generator, 3)
    made.state.append(tokens)
    made.state.truncate(11)
    with pytest.raises(Unrestorable):
        made.state.truncate(10)
    assert made.state.length == 11
    assert close(made.state.append(new), made.dense(torch.cat((tokens[:11], new)))[11:])


@pytest.mark.parametrize("name", ["sliding window", "shared global + windows", "YOCO"])
def test_a_window_that_never_filled_can_lose_any(name: str, generator: torch.Generator) -> None:
    made = KINDS[name](generator)
    tokens, new = random_inputs(generator, WINDOW), random_inputs(generator, 7)
    made.state.append(tokens)
    made.state.truncate(2)
    assert close(made.state.append(new), made.dense(torch.cat((tokens[:2], new)))[2:])
