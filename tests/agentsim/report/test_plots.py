"""Plots: where things stand, and that nothing outside can get in."""

import re
from xml.etree import ElementTree

import pytest

from agentsim.engine.lab.experiment import BarPlot, LinePlot, Series
from agentsim.report.figures import short
from agentsim.report.web.plots import svg

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(picture).iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (0.7236, "0.724"),
        (8, "8"),
        (66.0, "66"),
        (1234.5, "1,234"),
        (3.7e-5, "3.7e-5"),
        (1e6, "1e6"),
        (-2, "-2"),
    ],
)
def test_numbers_in_few_letters(number: float, text: str) -> None:
    assert short(number) == text


def test_bars_are_as_long_as_their_values() -> None:
    picture = svg(BarPlot("t", "tokens", (("a", 50.0), ("b", 100.0), ("c", 0.0))))
    widths = [float(rect.get("width", 0)) for rect in ElementTree.fromstring(picture).iter(f"{SVG}rect")][1:]
    assert widths[0] * 2 == pytest.approx(widths[1], abs=0.2)
    assert widths[2] == 1  # a line: there is a bar, of nothing


def test_logarithmic_bars_grow_by_decades() -> None:
    picture = svg(BarPlot("t", "y", (("a", 1.0), ("b", 10.0), ("c", 100.0)), log_y=True))
    a, b, c = [float(rect.get("width", 0)) for rect in ElementTree.fromstring(picture).iter(f"{SVG}rect")][1:]
    assert b - a == pytest.approx(c - b, abs=0.2)


def test_points_stand_where_their_numbers_are() -> None:
    picture = svg(LinePlot("t", "x", "y", (Series("s", ((0.0, 0.0), (5.0, 50.0), (10.0, 100.0))),)))
    dots = [
        (float(c.get("cx", 0)), float(c.get("cy", 0))) for c in ElementTree.fromstring(picture).iter(f"{SVG}circle")
    ]
    (x0, y0), (x1, y1), (x2, y2) = dots
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.2)
    assert y2 < y0, "more is higher"
    assert {"0", "10", "100"} <= set(texts(picture))


def test_what_a_logarithm_does_not_have_is_left_out() -> None:
    picture = svg(
        LinePlot("t", "x", "y", (Series("s", ((1.0, 0.0), (10.0, 5.0), (0.0, 5.0))),), log_x=True, log_y=True)
    )
    assert len(list(ElementTree.fromstring(picture).iter(f"{SVG}circle"))) == 1


@pytest.mark.parametrize(
    "plot",
    [
        LinePlot("t", "x", "y", (Series("s", ((3.0, 7.0),)),)),
        LinePlot("t", "x", "y", (Series("s", ()),), log_x=True, log_y=True),
        LinePlot("t", "x", "y", (Series("s", ((1.0, 4.0), (2.0, 4.0))),)),
        BarPlot("t", "y", ()),
        BarPlot("t", "y", (("a", 0.0),), log_y=True),
    ],
)
def test_little_to_show_is_no_error(plot: LinePlot | BarPlot) -> None:
    ElementTree.fromstring(svg(plot))


def test_names_become_text_and_nothing_else() -> None:
    name = '<script>alert(1)</script>\x1b[31m&\u202e"'
    picture = svg(BarPlot(name, name, ((name, 1.0),)))
    root = ElementTree.fromstring(picture)
    assert not list(root.iter(f"{SVG}script"))
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", picture)
