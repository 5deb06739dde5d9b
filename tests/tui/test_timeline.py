"""Lives of entries on the time axis: one sees why row 7 missed."""

from __future__ import annotations

import pytest

from agentsim.core.dates import SECOND
from agentsim.diagnose import diagnose
from agentsim.traces.format_registry import read
from agentsim.tui.timeline.entry_lifetimes import Lifetimes
from agentsim.tui.tui_app import Launch
from tests.tui.conftest import ATLAS, CLAUDE_CODE, drive, keys, press, shown


def lifetimes(path: str) -> Lifetimes:
    (session,) = read([path])
    judged = diagnose(session)
    return Lifetimes(judged.session, judged.rows, judged.verdicts)


def test_the_entry_of_row_6_died_35_seconds_before_row_7():
    """Row 6 starts at 02:20 and its entry lives 300 s from then: to 07:20. Row 7 starts at 07:55."""
    them = lifetimes(ATLAS)
    life = them.life(5)
    assert life is not None
    start = them.rows[5].start
    assert start is not None
    assert (life.begins - start, life.ttl, life.ends - start) == (0, 300, 300 * SECOND)
    assert life.next == 6
    assert life.fate == "late"
    seventh = them.rows[6].start
    assert seventh is not None
    assert life.late_by(seventh) == (7 * 60 + 55 - 2 * 60 - 20 - 300) * SECOND == 35 * SECOND
    assert "35 s too late" in them.sentence(6)


def test_other_rows_came_in_time():
    them = lifetimes(ATLAS)
    assert [them.life(index).fate for index in range(10)] == ["used"] * 5 + ["late"] + ["used"] * 4  # type: ignore[union-attr]
    # Row 2 began 30 s after row 1, whose entry had 270 s left.
    assert them.sentence(1).endswith("4m 30s to spare.")
    assert "the first of its lane" in them.sentence(0)


def test_a_session_log_counts_from_the_end_of_the_response():
    """In session logs entries were seen to live from the end of the response: row 8 ended at 14:15:47, one hour."""
    them = lifetimes(CLAUDE_CODE)
    life = them.life(7)
    row = them.rows[7]
    assert life is not None
    assert (life.begins, life.ttl, life.fate) == (row.end, 3600, "late")
    assert "15m" in them.sentence(8)


def test_drawn_with_zoom_and_panning():
    async def look(pilot):
        text = shown(pilot.app)
        sixth = next(line for line in text.splitlines() if line.strip().startswith("6 main"))
        # It runs, it lives, it ends, and after a while the next one comes too late.
        assert "█" in sixth
        assert sixth.index("━") > sixth.index("█")
        assert sixth.index("┤") > sixth.index("━")
        assert sixth.rindex("✗") > sixth.index("┤")
        assert "·" in sixth[sixth.index("┤") : sixth.rindex("✗")]
        assert "35 s too late" in " ".join(text.split())
        for key in ("plus", "plus", "right", "left", "minus", "minus", "minus", "0", "a", "j", "k", "G", "g"):
            await press(pilot, key)
            assert "1 cell =" in shown(pilot.app)

    back = keys("right_square_bracket", "escape")

    async def same_row(pilot):
        assert pilot.app.screen.selected == 4  # from the first row, the next miss is row 5

    drive(Launch(paths=(ATLAS,)), keys(*["right_square_bracket"] * 2, "v"), look, back, same_row)


@pytest.mark.parametrize("times", ["none", "one", "backwards"])
def test_odd_times_are_drawn(times):
    import msgspec

    (session,) = read([ATLAS])
    moments = {"none": lambda n: None, "one": lambda n: 10**18, "backwards": lambda n: 10**18 - n * 10**12}[times]
    requests = tuple(
        msgspec.structs.replace(request, start=moments(n), end=moments(n), first_token=moments(n))
        for n, request in enumerate(session.requests)
    )
    judged = diagnose(msgspec.structs.replace(session, requests=requests))
    drive(Launch(diagnoses=(judged,)), keys("v", "plus", "minus", "0", "a", "j", "right_square_bracket"))
