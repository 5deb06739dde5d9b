"""A read after a pause proves for how long was written."""

from __future__ import annotations

import json

import pytest

from agentsim.core.dates import SECOND
from agentsim.core.session import Request, Usage
from agentsim.traces.readers.swe_agent import read_sessions
from agentsim.traces.write_lifetimes import GRACE, SHORT, with_proved_lifetimes


def request(id: str, at: int, read: int, written: int, parent: str | None, model: str = "claude-opus-5") -> Request:
    usage = Usage(fresh=1, read=read, write_other=written, output=1)
    provider = "anthropic" if model.startswith("claude") else "openai"
    return Request(
        id=id,
        lane="main",
        model=model,
        provider=provider,
        start=at * SECOND,
        end=(at + 1) * SECOND,
        parent=parent,
        usage=usage,
    )


@pytest.mark.parametrize(("pause", "proved"), [(SHORT + GRACE, False), (SHORT + GRACE + 1, True), (720, True)])
def test_a_read_after_more_than_the_shorter_lifetime_proves_the_longer(pause: int, proved: bool) -> None:
    rows = (request("a", 0, 0, 900, None), request("b", 1 + pause, 900, 50, "a"))
    found, said = with_proved_lifetimes(rows)
    written = [(row.usage.write_long, row.usage.write_other) for row in found if row.usage is not None]
    assert written == ([(900, None), (50, None)] if proved else [(None, 900), (None, 50)])
    assert bool(said) is proved


def test_what_was_lost_or_kept_warm_proves_nothing() -> None:
    lost = (request("a", 0, 0, 900, None), request("b", 720, 0, 950, "a"))
    warm = (request("a", 0, 0, 900, None), request("w", 300, 900, 0, "a"), request("b", 600, 900, 50, "a"))
    other = (request("a", 0, 0, 900, None, "gpt-5.5"), request("b", 720, 900, 50, "a", "gpt-5.5"))
    assert [with_proved_lifetimes(rows) for rows in (lost, warm, other)] == [(lost, []), (warm, []), (other, [])]


def test_answers_of_a_run_are_held_against_its_own_sums(tmp_path) -> None:
    """An answer that could not be used is kept with the message that says so, and was billed."""
    used = {"prompt_tokens": 100, "completion_tokens": 5, "cost": 0.25}
    answers = [{"response": {"id": f"r{n}", "model": "google/gemini-3-pro", "usage": used}} for n in range(2)]
    document = {
        "trajectory_format": "mini-swe-agent-1",
        "info": {"model_stats": {"api_calls": 3, "instance_cost": 0.5}},
        "messages": [
            {"role": "user", "content": "do it"},
            {"role": "assistant", "content": "a", "extra": answers[0]},
            {"role": "user", "content": "no action found", "extra": answers[1]},
        ],
    }
    path = tmp_path / "a.traj.json"
    path.write_text(json.dumps(document))
    (session,) = read_sessions([str(path)])
    assert [row.logged_cost for row in session.requests] == [250_000_000_000] * 2
    assert session.accounting.adds_up
    (problem,) = session.problems
    assert "3 calls were counted, and answers to 2 are in it" in problem.reason
    document["info"] = {"model_stats": {"api_calls": 2, "instance_cost": 0.75}}
    path.write_text(json.dumps(document))
    (session,) = read_sessions([str(path)])
    (problem,) = session.problems
    assert "$0.7500" in problem.reason
