"""Figures as people and programs read them."""

import os
import time

import pytest

from agentsim.report import figures


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [
        (311_760, 592_180, "52.65"),
        (0, 0, "0.00"),  # of nothing, nothing was read
        (1, 3, "33.33"),
        (99_999, 100_000, "100.00"),
        (1, 800, "0.12"),  # 0.125 is as far from 0.12 as from 0.13: the even one
        (None, 5, "–"),
    ],
)
def test_per_cent(part: int | None, whole: int, shown: str) -> None:
    assert figures.per_cent(part, whole) == shown


@pytest.mark.parametrize(
    ("pico", "shown"),
    [
        (1_234_500_000_000_000, "$1,234.50"),
        (13_625_000_000, "$0.0136"),
        (0, "$0.00"),
        (None, "not priced"),
        (-2 * 10**12, "-$2.00"),
    ],
)
def test_money(pico: int | None, shown: str) -> None:
    assert figures.money(pico) == shown


def test_input_equivalents_are_exact() -> None:
    assert figures.equivalents(381_701 * 10**6) == "381,701"
    assert figures.equivalents(158_018_500_000) == "158,018.5"
    assert figures.equivalents(-1_500_000) == "-1.5"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (0.44, "0.4 s"),
        (9.97, "10 s"),
        (35, "35 s"),
        (119.4, "119 s"),
        (335, "5m 35s"),
        (3_723, "1h 02m"),
        (3 * 86_400 + 4 * 3_600, "3d 04h"),
        (-5, "-5 s"),
    ],
)
def test_lengths_of_time(seconds: float, shown: str) -> None:
    assert figures.span(round(seconds * 10**9)) == shown


def test_times_on_a_screen_are_local_and_times_for_programs_are_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = 1_767_607_200 * 10**9 + 1  # 2026-01-05 10:00:00 UTC and a nanosecond
    monkeypatch.setitem(os.environ, "TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert figures.clock(moment) == "19:00:00"
        assert figures.day(moment) == "2026-01-05"
        assert figures.utc(moment) == "2026-01-05T10:00:00.000000001Z"
    finally:
        monkeypatch.setitem(os.environ, "TZ", "UTC")
        time.tzset()


@pytest.mark.parametrize("moment", [10**30, -(10**30)])
def test_a_time_beyond_the_calendar_is_unknown(moment: int) -> None:
    assert figures.clock(moment) == "–"
    assert figures.utc(moment) is None


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "+0:00:00"), (335.9, "+0:05:35"), (90_061, "+25:01:01"), (-5, "-0:00:05")],
)
def test_a_time_that_counts_from_its_own_beginning_is_no_date(seconds: float, shown: str) -> None:
    nanoseconds = round(seconds * 10**9)
    assert figures.clock(nanoseconds) == figures.moment(nanoseconds) == shown
    assert figures.day(nanoseconds) == "–"


def test_a_moment_of_the_calendar() -> None:
    assert figures.moment(1_767_607_200 * 10**9).startswith("2026-01-05 ")
    assert figures.moment(None) == "–"


def test_exact_decimals() -> None:
    assert figures.exact(2_385_631_250_000, 12) == "2.38563125"
    assert figures.exact(0, 12) == "0"
    assert figures.exact(5 * 10**12, 12) == "5"
    assert figures.exact(1, 12) == "0.000000000001"
    assert figures.exact(None, 12) is None
