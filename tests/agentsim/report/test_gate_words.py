"""Results in words: exact where a last digit decides."""

from fractions import Fraction
from typing import Any

import pytest

from agentsim.budget.budget_gate import Result
from agentsim.report import gate_words
from tests.agentsim.budget.recorded import after, budget, gate, limit


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (Fraction(85, 100), "85"),
        (Fraction(855, 1000), "85.5"),
        (Fraction(2, 3), "66.67"),
        (Fraction(-2, 3), "-66.67"),
        (Fraction(-1, 200), "-0.5"),
        (Fraction(0), "0"),
        (Fraction(1), "100"),
        (Fraction(1, 10**6), "less than 0.01"),
        (Fraction(-1, 10**6), "more than -0.01"),
    ],
)
def test_per_cent(share: Fraction, text: str) -> None:
    assert gate_words.percent(share) == text


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("max-cost", 5 * 10**11, "max-cost $0.50"),
        ("max-cost", 1_234 * 10**12 + 1, "max-cost $1,234.000000000001"),
        ("max-cost", Fraction(1, 3), "max-cost $0.000000000001"),  # up: what is beyond never looks like what is allowed
        ("max-input-equivalents", 158_018_500_000, "max-input-equivalents 158,018.5"),
        ("min-hit-rate", Fraction(85, 100), "min-hit-rate 85 %"),
        ("max-misses", 3, "max-misses 3"),
    ],
)
def test_limits_as_they_were_written(kind: str, value: Any, text: str) -> None:
    assert gate_words.limit(limit(kind, value)) == text


def test_growth_names_its_metric_and_its_base() -> None:
    one = limit("max-growth", Fraction(5, 100), metric="cost", relative=True)
    assert gate_words.limit(one) == "max-growth of cost 5 %"
    assert gate_words.limit(one, Fraction(4 * 10**11)) == "max-growth of cost 5 % over $0.40"
    result = Result(
        budget="b",
        level="error",
        limit=one,
        subject="s",
        traces=(),
        status="broken",
        base=Fraction(4 * 10**11),
        actual=Fraction(5 * 10**11),
    )
    assert gate_words.found(result) == "$0.50 (+25 %)"
    assert gate_words.beyond(result) == "$0.08 over"  # 0.50 - 0.40 x 1.05
    assert result.excess == Fraction(8, 42)


def test_a_hit_rate_is_too_low_by_points() -> None:
    (result,) = gate(after(), budgets=[budget(limit("min-hit-rate", Fraction(80, 100)))]).results
    assert gate_words.found(result) == "79.12 %"
    assert gate_words.beyond(result) == "0.88 points too low"  # 80 - 94,000 / 118,800


def test_what_is_known_to_be_spent_is_a_least_sum() -> None:
    from tests.agentsim.budget.recorded import with_requests

    unfinished = with_requests(after(), output_final=False)
    (result,) = gate(unfinished, budgets=[budget(limit("max-cost", 10**12))]).results
    assert gate_words.line(result).startswith(
        "NOT JUDGED · b · rec/gate-after.jsonl · max-cost $1.00 · found at least $0.1428"
    )
