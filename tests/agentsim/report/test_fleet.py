"""A fleet on a screen of eighty columns, as CSV, and as a page on a telephone."""

from __future__ import annotations

import csv
import io
import re
from datetime import date
from decimal import Decimal

import msgspec
import pytest

from agentsim.fleet.fleet_figures import FleetFigures
from agentsim.fleet.regression_watch import CauseGrowth, GroupChange, Watch
from agentsim.report.ci.prometheus import prometheus_text
from agentsim.report.clean import display_width
from agentsim.report.json.fleet_csv import csv_of
from agentsim.report.paper import Paper
from agentsim.report.screen.fleet_page import dollars, write_figures
from agentsim.report.screen.watch_page import write_watch
from agentsim.report.web.fleet_html import page
from tests.agentsim.report.test_html import HOSTILE, figures, group, line

UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
NAMES = ("keep-alive", "keep-alive-steady", "keep-alive-three", "keep-alive-hour", "keep-alive-priced")


def text(found: FleetFigures, width: int = 80) -> str:
    stream = io.StringIO()
    write_figures(Paper(stream, width=width), found)
    return stream.getvalue()


def tried(*names: str) -> FleetFigures:
    lines = tuple(line(name, "-1829.43", 200_000) for name in names)
    return msgspec.structs.replace(figures(), policies=(*lines, line("recorded", "0", 100)))


@pytest.mark.parametrize("width", [80, 100, 140])
def test_policies_that_begin_alike_stay_apart(width: int) -> None:
    """Five names that would all be cut to the same letters."""
    lines = text(tried(*NAMES), width).splitlines()
    assert [name for name in NAMES if sum(entry.split()[:1] == [name] for entry in lines) == 1] == list(NAMES)
    assert max(map(display_width, lines)) <= width


def test_what_has_no_price_costs_nobody_knows_what() -> None:
    """100 requests of 100 without a price: no dollars, which is not none."""
    free = group("local", "0", cost=None, lost_cost=None, unpriced=100)
    found = msgspec.structs.replace(figures(), by=(("project", (group("paid", "9"), free)),))
    (row,) = [entry for entry in text(found, 120).splitlines() if entry.strip().startswith("local")]
    assert row.split() == ["local", "100", "–", "7", "1,234", "–", "–"]
    assert "$0.00" not in row
    assert csv_of((free,), "project").splitlines()[1] == "local,100,10,30,60,5,,100,7,1234,"
    cells = re.search(r"<tr><td>local</td>(.*?)</tr>", page(found, "x"))
    assert cells is not None
    assert re.findall(r"<td>(.*?)</td>", cells[1])[2:] == ["–", "7", "–", "–"]


def test_reasons_are_counted_and_hold_for_each_session() -> None:
    lines = text(figures()).splitlines()
    at = next(number for number, entry in enumerate(lines) if "left out" in entry)
    assert lines[at].strip() == "3 sessions left out of this; of each holds:"
    assert [entry.split(maxsplit=1) for entry in lines[at + 1 : at + 3]] == [
        ["2", "no rules for project"],
        ["1", "the simulation explains less than 90 % of its tokens"],
    ]


@pytest.mark.parametrize(
    ("amount", "words"), [("-0.004", "$0.00"), ("-0.006", "-$0.01"), ("1234.5", "$1,234.50"), ("-1234.5", "-$1,234.50")]
)
def test_nothing_is_not_less_than_nothing(amount: str, words: str) -> None:
    assert dollars(Decimal(amount)) == words


def test_hostile_names_stay_inert_on_the_screen() -> None:
    found = msgspec.structs.replace(
        figures(), by=tuple((name, (group(HOSTILE, "9"), group("b", "1"))) for name in ("version", "project", "team"))
    )
    assert not UNSAFE.search(text(found))
    for name, groups in found.by:
        table = csv_of(groups, name)
        assert not UNSAFE.search(table)
        assert [row[0] for row in csv.reader(table.splitlines())][2] == "b"
    formula = csv_of((group("\t=1+1", "9"), group("@x", "1")), "team").splitlines()
    assert [row.startswith("'") for row in formula[1:]] == [True, True]


def test_wide_charts_are_scrolled_on_narrow_screens_and_names_are_not_broken_by_letters() -> None:
    html = page(figures(), "x")
    charts = re.findall(r"<svg [^>]*>", html)
    assert len(charts) == 5
    assert [' width="760"' in chart for chart in charts] == ['class="wide"' in chart for chart in charts]
    assert re.search(r"\.wide\{min-width:\d{3}px\}", html)
    assert re.search(r"td:first-child\{[^}]*min-width:\d+em", html)


def test_hostile_groups_stay_inert_in_gauges_and_on_the_page_of_a_watch() -> None:
    day = date(2026, 1, 5)
    growth = CauseGrowth(cause=HOSTILE, before=0.1, last=0.2, cost=Decimal(3))
    change = GroupChange(
        dimension="version",
        name=HOSTILE,
        new=True,
        sessions_before=9,
        sessions=7,
        before=0.1,
        last=0.2,
        low=0.05,
        high=0.15,
        excess=Decimal(3),
        flag="worse",
        causes=(growth,),
    )
    seen = Watch(first=day, last=day, before_first=day, before_last=day, changes=(change,), few=0)
    stream = io.StringIO()
    write_watch(Paper(stream, width=80), seen)
    gauges = prometheus_text(seen)
    assert not UNSAFE.search(stream.getvalue() + gauges)
    samples = [entry for entry in gauges.splitlines() if not entry.startswith("#")]
    assert len(samples) == 5
    form = re.compile(r'agentsim_\w+\{dimension="version",name="(?:[^"\\]|\\\\|\\")*"\} -?[0-9.]+')
    assert all(form.fullmatch(sample) for sample in samples)
