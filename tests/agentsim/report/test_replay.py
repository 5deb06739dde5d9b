"""A judged session on a screen."""

import io
import re
from pathlib import Path

import msgspec
import pytest

from agentsim.core.session import Event, Lane
from agentsim.core.verdict import Verdict
from agentsim.diagnose import Diagnosis
from agentsim.report.clean import display_width
from agentsim.report.paper import Paper
from agentsim.report.screen.replay_page import bar, gaps_in_lanes, write_replay
from agentsim.report.verdict_words import lane_names
from tests.agentsim.report.small import MISS, diagnosis, row, small

GOLDEN = Path(__file__).parent / "golden"


def page(judged: Diagnosis, width: int = 100, colour: bool = False, **more: object) -> str:
    stream = io.StringIO()
    write_replay(Paper(stream, width=width, colour=colour), judged, **more)  # type: ignore[arg-type]
    return stream.getvalue()


def test_the_page_of_a_small_session() -> None:
    # 8,500 written at $6.25 a million: $0.053125. 10,000 lost at 6.25 - 0.50: $0.0575.
    assert page(small()) == (GOLDEN / "replay-100.txt").read_text()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140, 200])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    assert max(display_width(line) for line in page(small(), width).splitlines()) <= width


def test_a_narrow_screen_keeps_what_matters() -> None:
    lines = page(small(), 80).splitlines()
    titles = next(line for line in lines if line.lstrip().startswith("#")).split()
    assert {"#", "written", "read", "hit", "cost", "happened"} <= set(titles)


def test_a_wide_screen_shows_the_parts_of_a_prompt_as_a_bar() -> None:
    assert "█ read ▒ write ░ fresh" in page(small(), 200)
    assert "█ read" not in page(small(), 100)


def test_colour_says_nothing_that_words_do_not() -> None:
    assert re.sub(r"\x1b\[[0-9;]*m", "", page(small(), colour=True)) == page(small())


def test_only_misses() -> None:
    text = page(small(), rows="misses")
    assert re.findall(r"^ +(\d+)  \d\d:", text, re.M) == ["3"]
    assert "4 requests:" in text, "totals stay those of the whole session"


def test_the_sum_of_what_nobody_read_names_the_rows_that_paid_most() -> None:
    sizes = {"a": 1_000, "b": 4_000, "c": 3_000, "d": 2_000}
    rows = [row(name, at, 10, size, 0, lane=name) for at, (name, size) in enumerate(sizes.items())]
    judged = diagnosis(rows, [Verdict(request=one.request.id, kind="first") for one in rows])
    # 10,000 tokens at 1,250,000 picodollars of surcharge.
    sum_of_it = "never read: 4 writes, 10,000 tokens, $0.0125 of surcharge (AS307)"
    text = " ".join(page(judged, 200).split())
    assert f"{sum_of_it}; most at #2 ($0.0050), #3 ($0.0038), #4 ($0.0025)" in text
    assert "uncached-one-shots" not in text
    rows[0] = row("a", 0, 10, 1_000, 0, lane="a", purpose="summary")
    judged = diagnosis(rows, [Verdict(request=one.request.id, kind="first") for one in rows])
    assert "compare --policy uncached-one-shots" in page(judged, 200)


def test_only_one_lane() -> None:
    judged = diagnosis(
        [row("a", 0, 10, 10, 0), row("b", 1, 10, 10, 0, lane="side")],
        [Verdict(request="a", kind="first"), Verdict(request="b", kind="first")],
        lanes=(Lane(id="main", title=""), Lane(id="side", title="", purpose="subagent")),
    )
    assert re.findall(r"^ +(\d+)  \d\d:", page(judged, lane="side"), re.M) == ["2"]
    assert " sub " in page(judged, 120)


def test_words_of_the_conversation_are_shown_only_when_asked_for() -> None:
    assert "{secret}" not in page(small())
    assert "{secret}" in page(small(), content=True)


def test_what_is_unknown_is_a_dash_and_not_a_zero() -> None:
    nothing = row("a", 0, 0, 0, 0)
    usage = msgspec.structs.replace(nothing.usage, fresh=None, write_short=None, read=None)
    nothing = msgspec.structs.replace(nothing, usage=usage, cost=None, start=None, end=None)
    line = next(
        line
        for line in page(diagnosis([nothing], [Verdict(request="a", kind="unreported")]), 120).splitlines()
        if "no counters" in line
    )
    assert line.split()[1:-3] == ["–"] * (len(line.split()) - 4)
    assert "not priced" in page(diagnosis([nothing], [Verdict(request="a", kind="unreported")]))


def test_a_new_day_and_an_event_stand_between_the_rows() -> None:
    rows = [row("a", 0, 10, 10, 0), row("b", 86_400, 10, 10, 0)]
    verdicts = [Verdict(request="a", kind="first"), Verdict(request="b", kind="compaction")]
    text = page(diagnosis(rows, verdicts, events=(Event(kind="compaction", time=None, lane="main", before="b"),)))
    assert (
        text.index("  1  10:00") < text.index("2026-01-06") < text.index("history compacted") < text.index("  2  10:00")
    )


def test_a_compaction_names_the_block_where_the_prompts_part() -> None:
    verdict = Verdict(request="a", kind="compaction", place=MISS.place)
    text = page(diagnosis([row("a", 0, 10, 10, 0)], [verdict]))
    assert "first change tools[7] db_query inserted" in text
    assert "lost" not in text


def test_why_a_lane_is_not_cached_is_told_once() -> None:
    rows = [row("a", 0, 10, 0, 0), row("b", 5, 10, 0, 0), row("c", 9, 10, 0, 0, lane="side")]
    verdicts = [Verdict(request=r.request.id, kind="uncached", established=("Too short.",)) for r in rows]
    assert page(diagnosis(rows, verdicts)).count("Too short.") == 2


def test_a_copied_request_is_marked() -> None:
    judged = diagnosis([row("a", 0, 10, 10, 0, counted=False)], [Verdict(request="a", kind="first")])
    assert "copied from another session" in page(judged)
    assert "0 requests:" in page(judged)


def test_gaps_are_counted_in_the_lane() -> None:
    requests = [
        row(id, start, 10, 1, 0, lane=lane).request for id, start, lane in [("a", 0, "x"), ("b", 5, "y"), ("c", 9, "x")]
    ]
    assert gaps_in_lanes(requests) == [None, None, 9 * 10**9]


def test_lanes_are_numbered_where_there_are_several_of_a_kind() -> None:
    lanes = [Lane(id=str(i), title="", purpose=purpose) for i, purpose in enumerate(["main", "subagent", "subagent"])]  # type: ignore[arg-type]
    assert list(lane_names(lanes).values()) == ["main", "sub 1", "sub 2"]


@pytest.mark.parametrize(("written", "read"), [(0, 0), (1, 0), (1, 10**6), (10**6, 1), (5, 5)])
def test_a_bar_has_a_fixed_length_and_shows_the_larger_part(written: int, read: int) -> None:
    drawn = bar(row("a", 0, 1, written, read))
    assert len(drawn) == (22 if written or read else 0)
    if written > read:
        assert drawn.count("▒") >= drawn.count("█")


def test_alternatives_are_named() -> None:
    implied = msgspec.structs.replace(MISS, evidence="implied", alternatives=("AS301",))
    assert re.search(r"or else +AS301 The last entry", page(diagnosis([row("a", 0, 10, 10, 0)], [implied])))
    many = msgspec.structs.replace(implied, alternatives=("AS301", "AS302", "AS303", "AS304"))
    assert re.search(r"or else +AS301, AS302, AS303, AS304$", page(diagnosis([row("a", 0, 10, 10, 0)], [many])), re.M)


def test_the_other_half_of_a_proved_cause_is_no_alternative() -> None:
    both = msgspec.structs.replace(MISS, cause="AS502", alternatives=("AS501",))
    assert re.search(r"with +AS501 ", page(diagnosis([row("a", 0, 10, 10, 0)], [both])))


def test_requests_that_used_no_cache_are_counted_by_cause_and_what_they_repeat_is_said() -> None:
    from agentsim.diagnose import diagnose
    from tests.agentsim.prompts import prompt, request, session, texts

    bodies = [request(f"r{n}", n * 30, prompt(texts(n, 1_000)), lasts=5) for n in (2, 3, 4)]
    text = page(diagnose(session(bodies)), rows="misses")
    assert text.splitlines()[2] == "Nothing was ever cached."
    assert "not cached: 3 requests; No breakpoint was sent (AS305, 3)" in text
    # 2,000 and 3,000 tokens of the second and the third were sent before.
    assert "5,000 of their 9,000 tokens repeat the request before." in text
    marked = [*bodies, request("r5", 200, prompt(texts(5, 1_000), 4), lasts=5)]
    mixed = page(diagnose(session(marked)), rows="misses")
    assert "Nothing was lost." in mixed
    assert "not cached: 3 requests" in mixed
    assert "not cached" not in page(small())
