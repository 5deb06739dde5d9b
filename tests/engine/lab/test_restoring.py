"""What each scheme can continue from, and what a provider that keeps it reuses."""

from __future__ import annotations

import pytest

from agentsim.engine.lab.common_prefix import DOCUMENT, PROVIDERS, modeled, served
from agentsim.engine.lab.restore import exactness, refusal, replay_error
from agentsim.engine.lab.small_schemes import LAYERS, WINDOW
from agentsim.engine.lab.states.shared_state import SharedGlobal
from agentsim.engine.lab.three_schemes import (
    SCHEMES,
    fill,
    full_histories,
    kept,
    matrices,
    read,
    shared_histories,
    snapshots,
)

MIB = 1 << 20


@pytest.mark.parametrize(
    ("build", "stored", "reads", "sessions"),
    [
        # 32 layers × 4,096 tokens × 2 heads × 64 × 2 (K, V) × 2 bytes
        (full_histories, 32 * 4_096 * 2 * 64 * 2 * 2, 64 * MIB, 10),
        # four histories and 32 windows of 128; every layer reads its group's history and its window
        (shared_histories, (4 * 4_096 + 32 * 128) * 512, (32 * 4_096 + 32 * 128) * 512, 64),
        # 32 matrices of 64 × 256
        (matrices, 32 * 64 * 256 * 2, MIB, 640),
    ],
)
def test_three_schemes(build, stored: int, reads: int, sessions: int) -> None:
    states = build()
    fill(states, 4_096)
    assert (kept(states), read(states)) == (stored, reads)
    assert 640 * MIB // kept(states) == sessions


@pytest.mark.parametrize(("letter", "snapshot"), [("A", 0), ("B", 2 * MIB), ("C", MIB)])
def test_continuing_at_3072_of_4096(letter: str, snapshot: int) -> None:
    build = next(build for name, build in SCHEMES.items() if name[0] == letter)
    states = build()
    fill(states, 3_072)
    copies = snapshots(states)
    fill(states, 1_024)
    why = refusal(states, 3_072)
    assert (why is None) == (letter == "A")
    assert sum(copy.bytes for copy in copies) == snapshot
    if letter == "B":
        # 4,096 − 128 + 1
        assert why is not None
        assert "only 3969–4096 are kept" in why
        assert all(isinstance(state, SharedGlobal) and state.history.length == 4_096 for state in states)
    for state, copy in zip(states, copies, strict=True):
        state.restore(copy)
        assert state.length == 3_072


def test_what_restores_restores_exactly() -> None:
    for letter in "ABC":
        difference = exactness(letter, 9, snapshot=True)
        assert difference is not None
        assert difference < 1e-12
    assert exactness("A", 9, snapshot=False) == pytest.approx(0, abs=1e-12)
    assert exactness("B", 9, snapshot=False) is None
    assert exactness("C", 9, snapshot=False) is None


def test_a_replay_is_exact_from_one_window_for_each_layer_on() -> None:
    exact = LAYERS * (WINDOW - 1)
    assert replay_error(exact, 9) < 1e-12
    assert replay_error(exact - 1, 9) > 1e-9
    assert replay_error(WINDOW, 9) > 1e-3
    assert replay_error(0, 9) > replay_error(exact - 1, 9)


@pytest.mark.parametrize(
    ("provider", "reads"),
    [
        ("full history", (0, 64, 64)),
        ("shared + windows, snapshots at input ends only", (0, 0, 0)),
        ("shared + windows, also where prompts part", (0, 0, 64)),
        ("shared + windows, bounded replay", (0, 64 - 5, 64)),
        ("matrices, also where prompts part", (0, 0, 64)),
    ],
)
def test_a_document_with_three_questions(provider: str, reads: tuple[int, ...]) -> None:
    assert len(DOCUMENT) == 64
    results = served(provider, 9)
    assert tuple(result.reused for result in results) == reads
    approximate = PROVIDERS[provider][2] > 0
    assert all((result.difference < 1e-10) != approximate for result in results[1:])
    assert results[0].difference < 1e-10


def test_the_modeled_provider_of_units_reads_the_same() -> None:
    assert modeled() == tuple(result.reused for result in served("shared + windows, also where prompts part", 9))
