"""Threads by what is free, never by what is there."""

from __future__ import annotations

import pytest

from agentsim.engine.torch_threads import measured_threads, sensible_threads


@pytest.mark.parametrize(
    ("cores", "load", "quota", "expected"),
    [
        (1, 0.0, None, 1),
        (2, 0.0, None, 2),
        (2, 0.2, None, 2),  # what the shell itself needs
        (2, 0.6, None, 1),
        (2, 4.5, None, 1),
        (8, 3.1, None, 5),  # 3.1 - 0.25 rounds up to 3
        (8, None, None, 1),
        (64, 0.0, 2.0, 2),  # a container on a big machine
        (64, 0.0, 1.5, 1),
        (64, 0.0, None, 16),
    ],
)
def test_number_of_threads(cores: int, load: float | None, quota: float | None, expected: int) -> None:
    chosen = sensible_threads(cores, load, quota)
    assert chosen.count == expected
    assert chosen.reason


def test_this_machine_gets_a_number() -> None:
    assert measured_threads().count >= 1
