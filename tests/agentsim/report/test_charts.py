"""Columns by week: their labels stay inside of the chart and clear of each other."""

from __future__ import annotations

import re
from itertools import pairwise

from agentsim.report.web.charts import WIDTH, Bar, bars, columns

CHARACTER = 6.6


def reaches(svg: str, kind: str) -> list[tuple[float, float]]:
    """From where to where each text of a kind reaches, by the width of a character."""
    found = re.findall(rf'<text class="{kind}" x="([\d.-]+)" [^>]*text-anchor="middle">([^<]*)<', svg)
    return [(float(x) - len(text) * CHARACTER / 2, float(x) + len(text) * CHARACTER / 2) for x, text in found]


def weeks(values: list[float]) -> list[Bar]:
    return [Bar(f"2026-W{number:02d}", value, f"${value:,.2f}") for number, value in enumerate(values, 1)]


def test_names_at_both_ends_are_whole():
    svg = columns(weeks([1.0] * 30), "Loss by week")
    names = reaches(svg, "name")
    assert names[0][0] >= -0.1
    assert all(end <= WIDTH + 0.1 for _, end in names)
    assert "2026-W01" in svg


def test_neighbours_are_not_written_over_each_other():
    """Of two tall columns side by side the taller one is labelled; the third stands far away."""
    values = [0.0] * 40
    values[20], values[21], values[3] = 24_000.0, 35_000.0, 14_000.0
    svg = columns(weeks(values), "Loss by week")
    labels = sorted(reaches(svg, "label"))
    assert len(labels) == 2
    assert all(one[1] <= other[0] for one, other in pairwise(labels))
    assert "$35,000.00</text>" in svg
    assert "$24,000.00</text>" not in svg


def test_few_columns_are_all_labelled():
    assert len(reaches(columns(weeks([1.0, 2.0, 3.0]), "Loss by week"), "label")) == 3


def test_the_first_name_is_clear_of_the_second():
    """Where there are so many columns that the first name would begin left of the chart."""
    days = [Bar(f"2026-01-{number % 28 + 1:02}", 1.0, "") for number in range(34)]
    names = sorted(reaches(columns(days, "Loss by day"), "name"))
    assert len(names) > 4
    assert all(one[1] <= other[0] for one, other in pairwise(names))


def test_capitals_have_room():
    svg = bars([Bar("ENABLE_PROMPT_CACHING_1H=1", 7.56, "$7.56", 0.1, 17.9)], "Would have saved")
    (x,) = re.findall(r'<text class="name" x="([\d.]+)"', svg)
    assert float(x) >= len("ENABLE_PROMPT_CACHING_1H=1") * 8
