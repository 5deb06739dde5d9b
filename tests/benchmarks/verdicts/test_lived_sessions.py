"""Invariants of every lived session: counters add up, reads were written before, and truths hold in the world."""

from __future__ import annotations

import json

import pytest

from benchmarks.verdicts.benchmark_run import by_call, forms_of, run, write_form
from benchmarks.verdicts.cell_registry import CELLS
from benchmarks.verdicts.judged_by_agentsim import judge
from benchmarks.verdicts.session_living import Order, live, orders
from benchmarks.verdicts.simulated_agent import Life

PLACES = [(cell.name, family) for cell in CELLS.values() for family in cell.families]


def lived(name: str, family: str, number: int = 0) -> Life:
    return live(Order(CELLS[name], family, number, 77), shipped_only=True)


@pytest.mark.parametrize(("name", "family"), PLACES, ids=lambda value: str(value))
def test_a_cell_lives_as_its_truth_says(name: str, family: str) -> None:
    for number in range(2):
        life = lived(name, family, number)
        told = [call for call in life.calls if call.truth.cell == name and call.truth.outcome != "free"]
        assert told or name == "healthy:plain"
        for call in life.calls:
            _counters_hold(life, call)
            if call.truth.outcome == "loss":
                assert call.truth.lost > 0, call
                assert call.billed.read < call.billed.total - call.truth.lost + 1
            if call.truth.outcome == "healthy":
                assert call.truth.lost == 0, call
                assert not call.truth.right


def _counters_hold(life: Life, call) -> None:
    billed = call.billed
    assert billed.read + billed.write_short + billed.write_long + billed.fresh == billed.total
    assert min(billed.read, billed.write_short, billed.write_long, billed.fresh) >= 0
    assert sum(position.tokens for position in call.positions) <= billed.total or call.rules.matching == "unit"
    before = [other.billed for other in life.calls if other.start < call.start]
    assert billed.read <= max((other.kept for other in before), default=0), "a read was written before"
    assert call.start < call.first_token < call.end


def test_the_same_seed_lives_the_same_session() -> None:
    one, other = lived("tool-inserted", "claude"), lived("tool-inserted", "claude")
    assert [call.body for call in one.calls] == [call.body for call in other.calls]
    assert [call.billed for call in one.calls] == [call.billed for call in other.calls]


def test_there_are_enough_causes_and_leads() -> None:
    causes = [cell for cell in CELLS.values() if not cell.lead]
    leads = [cell for cell in CELLS.values() if cell.lead]
    assert len(causes) >= 25
    assert len(leads) >= 10


@pytest.mark.parametrize(("name", "family"), [("lookback", "claude"), ("effort", "codex"), ("key-order", "openai")])
def test_no_log_holds_the_truth_or_a_hidden_fact(name: str, family: str, tmp_path) -> None:
    life = lived(name, family)
    for form in forms_of(life, ()):
        text = write_form(life, form, tmp_path).read_text()
        for line in text.splitlines():
            row = json.loads(line)
            assert "truth" not in row
            assert "place" not in row
        assert all(code not in text for call in life.calls for code in call.truth.right)


def test_every_row_of_a_log_is_found_again(tmp_path) -> None:
    """The reader loses no row: a verdict is there for each call that was written."""
    seen: dict[str, int] = {}

    for order in [*orders(204, 5)][::4]:
        life = live(order, shipped_only=True)
        calls = sorted(life.logged(), key=lambda call: call.start)
        for form in forms_of(life, order.cell.unseen):
            ids = [call.id for call in calls if form != "claude-code" or call.purpose != "summary"]
            said = by_call(ids, judge(write_form(life, form, tmp_path)))
            assert said.keys() == set(ids), (life.id, form)
            seen[form] = seen.get(form, 0) + 1
    assert set(seen) == {"pairs", "agentsim/1", "messages", "counters", "claude-code", "codex"}


@pytest.mark.slow
def test_the_quick_run_scores_every_cell() -> None:
    outcome = run(orders(400, 9))
    assert {cell for cell, _, _ in outcome.board.scores} == set(CELLS)
    assert outcome.sessions == 400
