"""The prompt bar is to scale."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.session import Request, Row, Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose import diagnose
from agentsim.report.clean import display_width
from agentsim.traces.format_registry import read
from agentsim.tui.trace.prompt_bar import LABEL, prompt_bar
from tests.tui.conftest import ATLAS

(SESSION,) = read([ATLAS])
JUDGED = diagnose(SESSION)


def text(line) -> str:
    return "".join(piece if isinstance(piece, str) else piece[0] for piece in line)


def bar(index: int, width: int = 105, earlier: int | None = None) -> list[str]:
    old = JUDGED.rows[earlier] if earlier is not None else None
    return [text(line) for line in prompt_bar(JUDGED.rows[index], JUDGED.verdicts[index], old, width)]


def test_parts_to_scale():
    """Row 9 read 7,350 of 40,650 tokens: 100 cells × 7,350 / 40,650 = 18.08 cells."""
    now = next(line for line in bar(8) if line.startswith("now"))
    assert (now.count("█"), now.count("▒"), now.count("░")) == (18, 82, 0)


def test_the_parting_of_a_tool_inserted():
    """Row 5 parts after 2,260 of 34,650 tokens, at cell 100 × 2,260 / 34,650 = 6.5, so cell 7."""
    lines = bar(4, earlier=3)
    below = lines[2]
    assert below[LABEL:].index("✗") == 7
    was = next(line for line in lines if line.startswith("was"))
    # 32,800 of 34,650 tokens are 95 cells, 7 of them as before.
    assert (was.count("═"), was.count("≠")) == (7, 88)


def test_markers_stand_at_the_end_of_their_prefix():
    """Row 1: tools and system are 7,000 of 8,500 tokens (cell 82), the other marker is at the end."""
    below = bar(0)[2][LABEL:]
    assert [place for place, glyph in enumerate(below) if glyph == "▲"] == [81, 99]
    assert "▲5m" in below


def test_sections_are_named():
    assert "┌tools 5,200" in bar(0)[0]
    assert "┌messages 1,500" in bar(0)[0]


counts = st.one_of(st.none(), st.integers(0, 10**7))


@given(counts, counts, counts, st.integers(0, 240))
def test_any_usage_fits_its_width(read_tokens, written, fresh, width):
    usage = Usage(read=read_tokens, write_short=written, fresh=fresh)
    request = Request(id="r", lane="m", model="x", start=None, usage=usage)
    row = Row(request=request, usage=usage, start=None, first_token=None, end=None)
    for kind in ("hit", "miss"):
        verdict = Verdict(request="r", kind=kind)
        for line in prompt_bar(row, verdict, row, width):
            assert display_width(text(line).rstrip()) <= max(width, 0)


@pytest.mark.parametrize("width", [15, 40, 80, 200])
def test_every_row_at_any_width(width):
    for index in range(14):
        for line in bar(index, width, index - 1 if index else None):
            assert display_width(line.rstrip()) <= width
