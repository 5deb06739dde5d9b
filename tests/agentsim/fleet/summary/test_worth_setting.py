"""What to set: simulated over the sessions of a summary, told only where its sign holds."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from agentsim.diagnose.setting_diff import diff_of
from agentsim.fleet.summary import summarise
from agentsim.fleet.summary.session_study import MOST_REQUESTS, affordable, studies_of
from agentsim.fleet.summary.summary_shape import SessionLine
from agentsim.fleet.summary.worth_setting import SettingAdvice, _interval, worth_setting
from agentsim.report.paper import Paper
from agentsim.report.screen.advice_page import write_advice
from agentsim.traces.format_registry import read
from agentsim.traces.samples.claude_log import ClaudeLog
from agentsim.whatif.cache_bounds import bounds
from agentsim.whatif.comparison import compare


def claude_session(path: Path, *, session: str, pauses: tuple[int, ...]) -> None:
    """A session of Claude Code with entries of five minutes: after a longer pause all is written again."""
    made = ClaudeLog(session, model="claude-opus-4-8")
    made.user("Begin.")
    made.call(0, 60_000, output=100)
    warm = 60_000
    for pause in pauses:
        made.now += pause
        made.results()
        made.call(*((warm, 1_000) if pause < 300 else (0, warm + 1_000)), output=100)
        warm += 1_000
    made.save(path)


def line(name: str, requests: int, lost: int) -> SessionLine:
    return SessionLine(
        session=name,
        project="",
        requests=requests,
        cost=lost,
        lost_cost=lost,
        misses=1,
        hit_read=0,
        hit_total=1,
        first_stamp="",
        last_stamp="",
    )


def advice_of(folder: Path | str) -> SettingAdvice:
    sessions = summarise([str(folder)]).by_loss
    return worth_setting(studies_of(sessions), len(sessions))


def test_pauses_of_a_quarter_of_an_hour_ask_for_an_hour(tmp_path: Path) -> None:
    claude_session(tmp_path / "one.jsonl", session="one", pauses=(900, 900, 900, 900))
    (found,) = advice_of(tmp_path).lines
    assert found.policy == "ttl-1h"
    assert found.setting.set == "ENABLE_PROMPT_CACHING_1H=1"
    told = compare([str(tmp_path / "one.jsonl")], ["ttl-1h"])
    assert found.saving == told.outcomes[0].saving
    assert found.cost == told.recorded.cost
    assert (found.low, found.high) == (None, None)


def test_without_pauses_nothing_is_to_be_set(tmp_path: Path) -> None:
    claude_session(tmp_path / "one.jsonl", session="one", pauses=(10, 10, 10, 10))
    advice = advice_of(tmp_path)
    assert advice.simulated == 1
    assert advice.lines == ()
    stream = io.StringIO()
    write_advice(Paper(stream, width=80), advice, ["logs"])
    assert "No setting that is known would have saved anything" in stream.getvalue()


def test_five_sessions_get_an_interval_and_the_proof_a_command(tmp_path: Path) -> None:
    for number in range(5):
        claude_session(tmp_path / f"{number}.jsonl", session=f"s{number}", pauses=(900,) * (3 + number))
    advice = advice_of(tmp_path)
    (found,) = advice.lines
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low <= found.saving <= found.high
    stream = io.StringIO()
    write_advice(Paper(stream, width=80), advice, ["my logs"])
    assert "Proof: agentsim compare 'my logs' --policy ttl-1h" in stream.getvalue()


def test_what_helps_one_of_few_and_harms_another_is_not_told(tmp_path: Path) -> None:
    claude_session(tmp_path / "one.jsonl", session="one", pauses=(900, 900, 900, 900))
    claude_session(tmp_path / "two.jsonl", session="two", pauses=(10, 10, 10, 10))
    assert advice_of(tmp_path).lines == ()


def test_an_automatic_cache_gets_the_setting_whose_least_saving_is_above_nothing(shared_data: Path) -> None:
    log = str(shared_data / "codex" / "agentv__gpt55-173req-compacted.jsonl")
    (found,) = advice_of(log).lines
    assert diff_of(found.setting) == ("~/.codex/config.toml", "+ model_auto_compact_token_limit = 95000")
    told = bounds(read([log], []))
    assert told is not None
    least = max((one.least or 0, one.most) for one in told.bounds if one.name.startswith("compact-"))
    assert (found.low, found.high) == least
    assert found.cost == told.bill
    stream = io.StringIO()
    write_advice(Paper(stream, width=200), advice_of(log), [log, "/elsewhere"])
    assert "at least $2.32 and at most $8.11 of $18.16" in stream.getvalue()
    assert f"Proof: agentsim compare {log}\n" in stream.getvalue()


def test_no_more_requests_are_simulated_than_agreed_the_dearest_losses_first() -> None:
    lines = [line("small", 1, 1), line("dear", MOST_REQUESTS, 9), line("next", 1, 5)]
    assert [one.session for one in affordable(lines)] == ["dear"]
    assert [one.session for one in affordable([line("huge", MOST_REQUESTS + 1, 9)])] == ["huge"]
    lines[1] = line("dear", MOST_REQUESTS - 1, 9)
    assert [one.session for one in affordable(lines)] == ["dear", "next"]


@pytest.mark.parametrize(("savings", "told"), [((1, 1, 1, 1), False), ((1, 1, 1, 1, 1), True)])
def test_an_interval_takes_five_sessions(savings: tuple[int, ...], told: bool) -> None:
    low, high = _interval(savings)
    assert (low is not None) is told
    if told:
        assert (low, high) == (5, 5)


def test_an_interval_is_the_same_whenever_it_is_asked_for() -> None:
    savings = (10, -20, 30, 5, 0, 90)
    assert _interval(savings) == _interval(savings)
    low, high = _interval(savings)
    assert low is not None
    assert high is not None
    assert low < sum(savings) < high
