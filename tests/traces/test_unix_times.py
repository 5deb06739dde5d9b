"""Unix times of captures, exactly, in whatever unit."""

from __future__ import annotations

import pytest

from agentsim.traces.time_stamps import unix_nanoseconds


@pytest.mark.parametrize(
    "number", [b"1748554704.293", b"1748554704293", b"1748554704293000", b"1748554704293000000", b"1.748554704293e9"]
)
def test_the_unit_follows_from_the_size(number):
    assert unix_nanoseconds(number) == 1_748_554_704_293_000_000


def test_digits_that_a_float_would_lose_are_kept():
    """1748554704.2902122 s is 290,212,200 ns after the second; as a float it would be off by 38 ns."""
    assert unix_nanoseconds(b"1748554704.2902122") == 1_748_554_704_290_212_200
    assert int(float("1748554704.2902122") * 10**9) != 1_748_554_704_290_212_200


@pytest.mark.parametrize("number", [b"", b"null", b"-1", b"NaN", b'"1"', b"1e99", b"9" * 30, b"1.", b".5", b"1\n"])
def test_what_is_no_time_is_none(number):
    assert unix_nanoseconds(number) is None
