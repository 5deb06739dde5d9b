"""Whole tables of rows from public bug reports: what is called lost, in sum."""

from __future__ import annotations

import itertools

from tests.agentsim.diagnose.test_rows import said, verdicts

WRITTEN_AND_READ = [
    (240_995, 20_601),
    (318_111, 20_601),
    (398_768, 20_601),
    (562_592, 20_601),
    (677_381, 24_108),
    (740_887, 20_601),
    (784_944, 20_601),
    (899_075, 20_601),
]
"""C45: rewrites of one session, hours apart but for the last one, which came 82 s after the row before had ended."""


def test_c45_what_was_lost_is_less_than_what_was_written() -> None:
    specs = [{"read": read, "write_long": written} for written, read in WRITTEN_AND_READ]
    first, *later = verdicts(*specs)
    assert sum(written for written, _ in WRITTEN_AND_READ) == 4_622_753
    assert first.kind == "first"
    assert {one.kind for one in later} == {"miss"}
    # Each could have read all that the row before had in the cache; the growth since then was new and no waste.
    assert [one.lost for one in later] == [
        before + its_read - read for (before, its_read), (_, read) in itertools.pairwise(WRITTEN_AND_READ)
    ]
    assert sum(one.lost for one in later) == 4_622_753 - 899_075  # all but the last was there to be read
    # Without times an expiry cannot be excluded for any of them.
    assert all("AS202" in (one.cause, *one.alternatives) for one in later)


def test_c45_a_gap_of_82_seconds_excludes_the_expiry() -> None:
    (w1, r1), (w2, r2) = WRITTEN_AND_READ[-2:]
    last = verdicts(
        {"t": 0, "took": 30, "read": r1, "write_long": w1}, {"t": 30 + 82, "took": 30, "read": r2, "write_long": w2}
    )[1]
    assert (last.kind, last.lost) == ("miss", 784_944)
    assert "AS202" not in (last.cause, *last.alternatives)
    assert "alone cannot explain" in said(last)


def test_c35_a_summary_of_7_506_written_tokens_is_no_miss_of_the_next_one() -> None:
    # Two one-shot requests with a marker, each of its own text: nothing of the first could have been read.
    rows = [
        {
            "fresh": 3,
            "write_short": 7_506,
            "read": 0,
            "output": 1_486,
            "purpose": "summary",
            "lane": "s1",
            "parent": None,
        },
        {
            "fresh": 3,
            "write_short": 11_544,
            "read": 0,
            "output": 3_049,
            "purpose": "summary",
            "lane": "s2",
            "parent": None,
        },
    ]
    assert (3 + 7_506 + 1_486, 3 + 11_544 + 3_049) == (8_995, 14_596)  # the totals of the report
    assert [(one.kind, one.lost) for one in verdicts(*rows)] == [("first", 0), ("first", 0)]
