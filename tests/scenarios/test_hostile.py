"""Scenario files that nobody meant to write: they are refused in words, or they run."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.core.file_problems import WrittenFileError
from agentsim.harness.plan_run import simulate
from agentsim.scenarios import bundled_scenarios
from agentsim.scenarios.scenario_loading import load, parse

TEXTS = [bundled_scenarios.text(name) for name in bundled_scenarios.names()]


def refused_or_parsed(text: str, *given: str) -> None:
    error = None
    try:
        parse(text, "test", "test.toml", given)
    except WrittenFileError as refused:
        error = refused.first
    if error is not None:
        assert error.reason
        assert error.line is None or 1 <= error.line <= text.count("\n") + 1


@given(st.sampled_from(TEXTS), st.integers(0, 10_000), st.integers(0, 40), st.text(max_size=12))
@settings(max_examples=150)
def test_a_damaged_file(text: str, at: int, gone: int, more: str):
    at %= len(text)
    refused_or_parsed(text[:at] + more + text[at + gone :])


VALUES = st.one_of(
    st.booleans().map(lambda b: str(b).lower()),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["nan", "inf", "-inf", "1e400", "1e-400", "''", "[]", "{}", "[[]]", "2026-01-01", "{ fixed = 1 }"]),
    st.text(max_size=8),
)
PATHS = st.sampled_from(
    [
        "seed",
        "start",
        "story",
        "model.name",
        "model.window",
        "model.settings.effort",
        "service.first_token",
        "service.output_rate",
        "prompt.tools",
        "prompt.marks",
        "prompt.ttl",
        "harness.keep_alive",
        "harness.compaction",
        "harness.compaction.keep",
        "task.turns",
        "task.result",
        "task.before_turn.3",
        "script.0",
        "script.0.tokens",
        "agents.count",
        "outcome.pass_rate",
        "sweep",
    ]
)


@given(st.sampled_from(["pi-day", "atlas-14"]), PATHS, VALUES)
@settings(max_examples=200)
def test_a_strange_value(name: str, path: str, value: str):
    refused_or_parsed(bundled_scenarios.text(name), f"{path}={value}")


@pytest.mark.parametrize("start", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)])
def test_the_ends_of_the_calendar(start: datetime):
    (cell,) = load("atlas-14", [f"start={start:%Y-%m-%dT%H:%M:%SZ}".replace("=1-", "=0001-")])
    assert simulate(cell.plan()).account.total.requests == 14


def test_the_widest_distribution_stays_within_bounds():
    wide = "{ lognormal = { median = 0.000001, p95 = 1000000000000 } }"
    (cell,) = load("pi-day", ["task.turns=2", f"task.result={wide}", "harness.compaction=off"])
    session = simulate(cell.plan()).session
    assert all(r.prompt is not None and r.prompt.tokens < 10**15 for r in session.requests)


def test_nothing_at_all():
    for text in ("", "\n", "x", "=", "[[script]]", "story = 1", "[model]\n" * 3, "\x00", "a = " + "[" * 3_000):
        with pytest.raises(WrittenFileError):
            parse(text, "test", "test.toml")
