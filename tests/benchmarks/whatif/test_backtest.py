"""The backtest: a world of published rules alone is predicted exactly, and what is hidden stands in no log."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentsim.core.prompt import Breakpoint, Prompt
from agentsim.core.session import Request
from benchmarks.whatif.backtest_run import run
from benchmarks.whatif.backtest_scores import Baseline, Prediction, load, save, score
from benchmarks.whatif.backtest_sessions import BacktestOrder, live, logged
from benchmarks.whatif.backtest_world import BacktestWorld
from benchmarks.whatif.codex_bounds import predictions_of
from benchmarks.whatif.hidden_facts import SECOND, HiddenFacts, drawn, nothing_hidden
from benchmarks.whatif.kept_logs import FORMS
from benchmarks.whatif.natural_halves import FEWEST, halves_of
from benchmarks.whatif.rewritten_runs import sent_again
from tests.agentsim.whatif.policies.small import TEN, block
from tests.agentsim.whatif.policies.test_histories import long_session

IDLE = 14
"""The number of a session of ``idle-afternoon``: five requests with pauses between them."""


def test_the_published_rules_alone_are_predicted_exactly() -> None:
    found = run([BacktestOrder(IDLE, 5, hidden=False)], ["bodies"], ["ttl-5m", "ttl-1h", "keep-alive", "no-caching"])
    assert [baseline.off for baseline in found.baselines] == [0]
    told = [one for one in found.predictions if one.saving is not None]
    assert len(told) >= 2
    assert all(one.saving == one.true for one in told)


def test_the_same_seed_lives_the_same_session() -> None:
    order = BacktestOrder(IDLE, 7)
    assert live(order).session == live(order).session


@pytest.mark.parametrize("form", sorted(FORMS))
def test_logs_hold_what_is_logged_and_no_more(form: str, tmp_path: Path) -> None:
    from agentsim.traces.format_registry import read

    lived = live(BacktestOrder(IDLE, 7))
    writer, held = FORMS[form]
    writer(lived, tmp_path / "log.jsonl")
    (found,) = read([str(tmp_path / "log.jsonl")])
    assert len(found.requests) == len(held(lived)) <= len(logged(lived))
    assert [r.usage.read for r in found.requests if r.usage] == [r.usage.read for r in held(lived) if r.usage]
    assert not any(request.host for request in found.requests)


def served(world: BacktestWorld, start: float, blocks: int, marks: tuple[int, ...], ttl: int = 300) -> int:
    prompt = Prompt.of([block(f"b{number}", 2_000) for number in range(blocks)], [Breakpoint(m, ttl) for m in marks])
    now = TEN + int(start * SECOND)
    asked = Request(id="r", lane="main", model="claude-opus-4-8", start=now, prompt=prompt)
    return world.commit(world.look_up(asked, now), first_token=now + SECOND, end=now + 2 * SECOND).usage.read or 0


@pytest.mark.parametrize(("blocks", "read"), [(20, 2_000), (21, 0)])
def test_an_entry_nineteen_blocks_back_is_found(blocks: int, read: int) -> None:
    world = BacktestWorld(nothing_hidden("x"))
    assert served(world, 0, 1, (0,)) == 0
    assert served(world, 10, blocks, (blocks - 1,)) == read


@pytest.mark.parametrize(("pause", "read"), [(299.9, 2_000), (300.0, 0)])
def test_an_entry_lives_five_minutes(pause: float, read: int) -> None:
    world = BacktestWorld(nothing_hidden("x"))
    served(world, 0, 1, (0,))
    assert served(world, pause, 1, (0,)) == read


def test_hidden_facts_follow_from_the_seed() -> None:
    facts = drawn("1/2", TEN)
    assert facts == drawn("1/2", TEN)
    jittery = HiddenFacts("x", jitter=True)
    assert 0 <= jittery.linger(b"k", 300) <= 45 * SECOND
    assert jittery.linger(b"k", 300) == jittery.linger(b"k", 300)
    assert HiddenFacts("x").linger(b"k", 300) == 0


def test_scores(tmp_path: Path) -> None:
    predictions = [
        Prediction("1", "s", "bodies", "p", 100, 10, 9, 5, 9),
        Prediction("2", "s", "bodies", "p", 100, -10, 2, -11, 3, told=False),
        Prediction("3", "s", "bodies", "p", 100, 1, -1, -2, 2),
        Prediction("4", "s", "bodies", "p", 100, 5, None),
    ]
    (row,) = score(predictions)
    assert (row.count, row.told, row.mattering, row.right) == (4, 2, 1, 1)
    assert row.covered == pytest.approx(2 / 3)
    save(tmp_path / "rows", predictions, [Baseline("1", "bodies", 100, 0)])
    assert load([tmp_path / "rows"]) == (predictions, [Baseline("1", "bodies", 100, 0)])


@pytest.mark.parametrize("number", [IDLE, 0])
def test_what_is_sent_again_without_a_policy_is_billed_as_it_was(number: int) -> None:
    lived = live(BacktestOrder(number, 7))
    again = sent_again(lived, None)
    usages = {request.id: request.usage for request in again.session.requests}
    assert [usages[request.id] for request in lived.session.requests] == [r.usage for r in lived.session.requests]


def test_rollouts_are_read_as_they_were_billed_and_a_prompt_that_goes_astray_reads_nothing(tmp_path: Path) -> None:
    predictions, baseline = predictions_of(BacktestOrder(0, 78), tmp_path)
    assert baseline.off == 0
    within = [one for one in predictions if one.low is not None and one.high is not None]
    assert within
    assert all((one.low or 0) <= one.true <= (one.high or 0) for one in within)
    assert HiddenFacts("x", astray=1.0).goes_astray(b"p")
    assert not HiddenFacts("x").goes_astray(b"p")


@pytest.mark.parametrize(("requests", "cut"), [(FEWEST - 1, False), (FEWEST, True)])
def test_a_session_is_cut_at_the_middle(requests: int, cut: bool) -> None:
    given = long_session(requests)
    found = halves_of(given)
    assert (found is not None) == cut
    if found is not None:
        first, second = found
        assert (*first.requests, *second.requests)[0] == given.requests[0]
        assert [r.id for half in found for r in half.requests] == [r.id for r in given.requests]
        assert second.requests[0].parent is None
