"""Many sessions on a screen."""

import io
import timeit
from pathlib import Path

import msgspec
import pytest

from agentsim.fleet.summary import Summary
from agentsim.report.clean import display_width
from agentsim.report.paper import Paper
from agentsim.report.screen.summary_page import write_summary
from tests.agentsim.report.many import many

GOLDEN = Path(__file__).parent / "golden"


def page(summary: Summary, width: int = 100) -> str:
    stream = io.StringIO()
    write_summary(Paper(stream, width=width), summary)
    return stream.getvalue()


def test_the_page_of_a_summary() -> None:
    # $12.35 of $1,234.50 is 1.00 %; 9,000,000 of 10,000,000 tokens is 90.00 %.
    assert page(many()) == (GOLDEN / "summary-100.txt").read_text()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    assert max(display_width(line) for line in page(many(), width).splitlines()) <= width


def test_a_summary_of_nothing() -> None:
    nothing = msgspec.structs.replace(many(), sessions=0, requests=0, losses=(), worst_sessions=(), worst_misses=())
    assert "No requests in here." in page(nothing)


def test_it_is_drawn_in_no_time() -> None:
    large = msgspec.structs.replace(
        many(), worst_misses=many().worst_misses * 10, worst_sessions=many().worst_sessions * 10
    )
    page(large)  # the texts of the causes are read once
    assert min(timeit.repeat(lambda: page(large), number=1, repeat=5)) < 0.03
