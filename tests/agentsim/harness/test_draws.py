from decimal import Decimal
from statistics import NormalDist, median

from hypothesis import given
from hypothesis import strategies as st

from agentsim.harness.random_draws import QUANTILES, ChosenDraw, FixedNumber, Uniform, _normal_quantiles, lognormal
from agentsim.harness.random_streams import Stream

FIRST_SIZES = [868, 1018, 178, 1344, 1615, 209]
"""Of the stream \"sizes\" under seed 1. They change only when a draw comes to mean something else."""


def test_quantiles_of_the_normal_distribution():
    exact = NormalDist()
    found = _normal_quantiles()
    assert len(found) == QUANTILES + 1
    for index, z in enumerate(found):
        assert abs(float(z) - exact.inv_cdf((index + 0.5) / (QUANTILES + 1))) < 1e-9


def test_a_lognormal_has_its_median_and_its_tail():
    draw = lognormal(Decimal(1_200), Decimal(9_000))
    stream = Stream(1, "sizes")
    values = sorted(draw.draw(stream) for _ in range(20_000))
    assert 1_150 < median(values) < 1_250
    assert 8_300 < values[19_000] < 9_700
    assert all(isinstance(value, int) for value in values)


def test_the_first_draws_are_those_of_any_platform():
    draw, stream = lognormal(Decimal(1_200), Decimal(9_000)), Stream(1, "sizes")
    assert [draw.draw(stream) for _ in range(6)] == FIRST_SIZES


def test_a_lognormal_is_clipped():
    draw, stream = lognormal(Decimal(100), Decimal(1_000), low=50, high=200), Stream(2, "x")
    values = [draw.draw(stream) for _ in range(2_000)]
    assert (min(values), max(values)) == (50, 200)


def test_a_lognormal_of_seconds_is_in_nanoseconds():
    draw, stream = lognormal(Decimal(2), Decimal(20), unit=10**9), Stream(2, "x")
    values = sorted(draw.draw(stream) for _ in range(4_001))
    assert 1_800_000_000 < values[2_000] < 2_200_000_000


@given(st.integers(0, 10**9), st.integers(0, 10**12), st.integers(0, 2**32))
def test_uniform_reaches_both_ends_and_no_further(low: int, span: int, seed: int):
    draw, stream = Uniform(low, low + span), Stream(seed, "x")
    assert all(low <= draw.draw(stream) <= low + span for _ in range(10))


def test_a_small_uniform_has_all_its_values():
    stream = Stream(1, "x")
    assert {Uniform(3, 5).draw(stream) for _ in range(100)} == {3, 4, 5}


def test_fixed_draws_nothing():
    stream, other = Stream(1, "x"), Stream(1, "x")
    assert FixedNumber(7).draw(stream) == 7
    assert stream.bits() == other.bits()


def test_chosen_has_its_values_and_no_others():
    stream = Stream(1, "x")
    draws = [ChosenDraw([2, 4, 4, 8]).draw(stream) for _ in range(4_000)]
    assert set(draws) == {2, 4, 8}
    assert 1_880 < draws.count(4) < 2_120  # half of them, a standard deviation is 32
