"""The assertion for test suites."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentsim.testing import assert_budget
from tests.agentsim.budget.recorded import after, before, rows_only

SAMPLES = Path(__file__).resolve().parents[2] / "traces" / "samples"


@pytest.mark.parametrize(
    ("held", "broken"),
    [
        ({"max_cost": "0.1428"}, {"max_cost": "0.1427"}),
        ({"max_cost": Decimal("0.1428")}, {"max_cost": 0}),
        ({"max_equivalents": 40_400}, {"max_equivalents": 40_399}),
        ({"min_hit_rate": 0.79}, {"min_hit_rate": 0.8}),
        ({"min_hit_rate": "79%"}, {"min_hit_rate": "80%"}),
        ({"max_misses": 1}, {"max_misses": 0}),
        ({"max_misses": {"AS104": 0, "total": 1}}, {"max_misses": {"AS103": 0}}),
        ({"max_lost_cost": "0.04"}, {"max_lost_cost": "0.03"}),
        ({"forbid": ["AS4xx"]}, {"forbid": "AS103"}),
    ],
)
def test_it_holds_or_raises(held: Any, broken: Any) -> None:
    assert_budget(SAMPLES / "gate-after.jsonl", **held)
    assert_budget(after(), **held)
    with pytest.raises(AssertionError):
        assert_budget(str(SAMPLES / "gate-after.jsonl"), **broken)


def test_the_message_is_the_table_and_the_cause() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_budget(SAMPLES / "gate-after.jsonl", max_cost="0.12", forbid=["AS103"])
    text = str(caught.value)
    assert "BROKEN  assert_budget" in text
    assert "max-cost $0.12" in text
    assert "tools[0] fetch_page moved" in text


def test_what_cannot_be_judged_raises() -> None:
    with pytest.raises(AssertionError, match="AS103 is not ruled out"):
        assert_budget(rows_only(after()), forbid=["AS103"])
    with pytest.raises(AssertionError, match="not judged"):
        assert_budget(before(requests=()), max_misses=0)


def test_a_wrong_call_is_no_broken_budget(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give one"):
        assert_budget(before())
    with pytest.raises(ValueError, match="must be dollars"):
        assert_budget(before(), max_cost=0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="did you mean"):
        assert_budget(before(), forbid=["AS1O3"])
    with pytest.raises(FileNotFoundError):
        assert_budget(tmp_path / "nothing.jsonl", max_cost=1)


def test_a_file_that_is_no_log_raises(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("not a log\n")
    with pytest.raises(AssertionError, match="cannot be read"):
        assert_budget(tmp_path / "x.jsonl", max_cost=1)
