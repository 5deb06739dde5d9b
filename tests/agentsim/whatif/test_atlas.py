"""The session of fourteen requests: what each fix saves alone, and all of them together, to the last digit."""

from __future__ import annotations

from fractions import Fraction

import pytest

from agentsim.diagnose import diagnose
from agentsim.traces.samples.make_atlas import atlas_session, usage_session
from agentsim.whatif.comparison import compare
from agentsim.whatif.fix_savings import savings
from agentsim.whatif.policies import parse
from tests.agentsim.whatif.policies.small import rows, under

MICRO = 10**6
WRITE, READ = Fraction(5, 4), Fraction(1, 10)

FIXES: dict[str, tuple[Fraction, dict[str, tuple[int, int]]]] = {
    # policy: (saving in tokens of ordinary input, {row: (written, read)})
    "deferred-tools": (Fraction(36_915), {"r05": (1_850, 32_800), "r09": (33_650, 7_000), "r11": (44_870, 7_000)}),
    "keep-alive": (Fraction("37957.5"), {"r07": (1_500, 36_150)}),
    "free-tool-choice": (Fraction(38_295), {"r09": (1_500, 39_150), "r10": (1_500, 40_650)}),
    "combine-blocks": (Fraction(40_020), {"r11": (9_720, 42_150)}),
    "marker-previous": (Fraction(40_020), {"r11": (9_720, 42_150)}),
    "stagger-fan-out": (Fraction(69_690), {"r12": (30_500, 51_870), "r13": (200, 82_170), "r14": (200, 82_170)}),
}


@pytest.mark.parametrize("name", FIXES)
def test_each_fix_alone(name: str) -> None:
    saving, revised = FIXES[name]
    comparison = compare(atlas_session(), [parse(name)])
    assert comparison.calibration.exact == 14
    assert comparison.recorded.equivalents == 381_701 * MICRO
    (outcome,) = comparison.outcomes
    assert outcome.saving_equivalents == saving * MICRO
    found = {row.request.id: (row.usage.write, row.usage.read) for row in rows(under(atlas_session(), name))}
    assert {row: found[row] for row in revised} == revised


def test_the_savings_follow_from_the_rows() -> None:
    # Row 5 reads 32,800 of what it wrote; rows 9 and 11 can read 350 less, since db_query left the front.
    assert FIXES["deferred-tools"][0] == 32_800 * (WRITE - READ) - 2 * 350 * (WRITE - READ)
    # Row 7 reads 36,150, and so did the refresh.
    assert FIXES["keep-alive"][0] == 36_150 * (WRITE - READ) - 36_150 * READ
    # Row 9 reads 39,150 instead of 7,350, row 10 reads 40,650 instead of 39,150.
    assert FIXES["free-tool-choice"][0] == (31_800 + 1_500) * (WRITE - READ)
    assert FIXES["combine-blocks"][0] == 34_800 * (WRITE - READ)
    assert FIXES["stagger-fan-out"][0] == 2 * 30_300 * (WRITE - READ)


def test_the_refresh_is_sent_270_seconds_after_row_6_began() -> None:
    given = atlas_session()
    (ping,) = [r for r in under(given, "keep-alive").requests if r.purpose == "keep_alive"]
    (sixth,) = [r for r in given.requests if r.id == "r06"]
    assert (ping.start or 0) - (sixth.start or 0) == 270 * 10**9
    assert ping.prompt == sixth.prompt
    assert ping.parent == "r06"


@pytest.mark.parametrize("eleven", ["combine-blocks", "marker-previous"])
def test_all_fixes_together(eleven: str) -> None:
    names = ["deferred-tools", "keep-alive", "free-tool-choice", eleven, "stagger-fan-out"]
    combined = compare(atlas_session(), names, combine=True).combined
    assert combined is not None
    assert {step.policy.name for step in combined.steps} == set(names)
    sums = combined.sums
    assert (sums.requests, sums.written, sums.read) == (15, 82_770, 545_560)
    assert sums.equivalents == 158_018_500_000  # 158,018.5 tokens
    assert Fraction("158018.5") == 82_770 * WRITE + 545_560 * READ
    assert round(100 * sums.hit_rate[0] / sums.hit_rate[1], 2) == 86.83
    # What is saved together is not the sum of what each saves alone.
    assert combined.saving_equivalents == 381_701 * MICRO - 158_018_500_000
    assert sum(step.alone_equivalents or 0 for step in combined.steps) == int(Fraction("222877.5") * MICRO)
    assert combined.steps[-1].together_equivalents == combined.saving_equivalents


@pytest.mark.parametrize(
    ("then", "tokens"),
    [
        ("forced", 50_025),  # 33,300 and 3,000 written, 7,350 and 39,150 read
        ("complies", 11_730),  # 1,500 written twice, 39,150 and 40,650 read
        ("retry", 54_090),  # the same, and the forced request at 33,300 and 7,350
    ],
)
def test_the_tool_choice_alternatives(then: str, tokens: int) -> None:
    those = rows(under(atlas_session(), f"free-tool-choice:then={then}"))
    found = [row.equivalents for row in those if row.request.id.removesuffix("/forced") in ("r09", "r10")]
    assert sum(one or 0 for one in found) == tokens * MICRO


@pytest.mark.parametrize(
    ("spec", "read"),
    [
        (None, 51_870),
        ("marker-common", 51_870),
        ("stagger-fan-out:mark=false", 51_870),
        ("stagger-fan-out", 82_170),
    ],
)
def test_only_marker_and_waiting_together_help_a_fan_out(spec: str | None, read: int) -> None:
    given = atlas_session() if spec is None else under(atlas_session(), spec)
    assert [row.usage.read for row in rows(given)][-2:] == [read, read]


def test_four_ways_to_bring_a_tool_in() -> None:
    def fifth(spec: str | None) -> tuple[int | None, int | None]:
        given = atlas_session() if spec is None else under(atlas_session(), spec)
        (row,) = [row for row in rows(given) if row.request.id == "r05"]
        return row.usage.write, row.usage.read

    assert fifth(None) == (34_650, 0)  # the list is rewritten: everything behind the change is lost
    assert fifth("deferred-tools") == (1_850, 32_800)
    assert fifth("deferred-tools-bare") == (34_650, 0)  # the first late tool loses everything once
    # Two entries of 150 instead of 5,200 tokens of tools; four tools found by then, 60 tokens for each search.
    written, read = fifth("fixed-entries")
    assert read == 300 + 1_800 + 1_500 + 3 * 300 + 2 * 1_200 + 21_000 + (620 + 780 + 1_040) + (860 + 4 * 60)
    assert written == 300 + 1_200


def test_verdicts_carry_the_saving_of_their_own_fix() -> None:
    given = diagnose(atlas_session())
    found = {v.request: s for v, s in zip(given.verdicts, savings(given), strict=True) if s is not None}
    assert {row: (s.policy.name, s.equivalents) for row, s in found.items()} == {
        "r05": ("deferred-tools", 36_915 * MICRO),
        "r07": ("keep-alive", 37_957_500_000),
        "r09": ("free-tool-choice", 38_295 * MICRO),
        "r11": ("marker-previous", 40_020 * MICRO),
        "r13": ("stagger-fan-out", 34_845 * MICRO),
        "r14": ("stagger-fan-out", 34_845 * MICRO),
    }
    assert (found["r05"].written, found["r05"].read) == (1_850, 32_800)
    assert (found["r13"].written, found["r13"].read) == (200, 82_170)


def test_without_bodies_only_what_the_rows_imply_has_a_saving() -> None:
    given = diagnose(usage_session())
    found = {s.request: s.equivalents for s in savings(given) if s is not None}
    assert found == {"r07": 37_957_500_000}


def test_the_refresh_counts_as_a_request_of_the_hit_rate() -> None:
    usages = [row.usage for row in rows(under(atlas_session(), "keep-alive"))]
    read, whole = (sum(getattr(usage, name) or 0 for usage in usages) for name in ("read", "total_input"))
    assert len(usages) == 15
    # 311,760 read, and 36,150 twice more; 592,180 sent, and 36,150 once more.
    assert (read, whole) == (311_760 + 2 * 36_150, 592_180 + 36_150)
