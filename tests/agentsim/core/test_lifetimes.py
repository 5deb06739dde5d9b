"""Lengths of time in requests."""

from __future__ import annotations

import pytest

from agentsim.core.lifetimes import seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"), [("5m", 300), ("30m", 1_800), ("1h", 3_600), ("12h", 43_200), ("24h", 86_400), ("90s", 90)]
)
def test_lengths(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "30", "-5m", "1.5h", "５m", "9999999h", "30 m", "in_memory"])
def test_what_is_none(text: str) -> None:
    assert seconds_of(text) is None
