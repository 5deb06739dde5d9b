"""Small pieces of the hot paths, timed by pytest-benchmark: ``pytest benchmarks -n0``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.simulate import scan
from agentsim.core.session import Usage
from agentsim.diagnose import diagnose
from agentsim.report.clean import clean
from agentsim.rules.prices import cost, default_book
from agentsim.traces.format_registry import read
from benchmarks.scaling import session_of

pytest.importorskip("pytest_benchmark", reason="pytest-benchmark is not installed")

SAMPLES = Path(__file__).resolve().parents[1] / "traces" / "samples"
SESSION = session_of(1_000, 4, 1)


def test_serve_a_thousand_requests(benchmark: Any) -> None:
    rows = benchmark(lambda: scan(SESSION, ModeledProvider(), price=False).rows)
    assert len(rows) == 1_000


def test_diagnose_a_thousand_requests(benchmark: Any) -> None:
    assert benchmark(lambda: diagnose(SESSION)).totals.requests == 1_000


def test_read_and_diagnose_the_sample(benchmark: Any) -> None:
    path = str(SAMPLES / "atlas-14.jsonl")
    assert benchmark(lambda: [diagnose(session) for session in read([path])])[0].totals.requests == 14


def test_price_a_request(benchmark: Any) -> None:
    card = default_book().card("anthropic", "claude-opus-4-8", 1_790_000_000 * 10**9, 50_000)
    assert card is not None
    usage = Usage(fresh=10, write_short=1_000, read=40_000, output=300)
    assert benchmark(cost, card, usage) == cost(card, usage)


def test_clean_a_name(benchmark: Any) -> None:
    assert benchmark(clean, "claude-opus-4-8") == "claude-opus-4-8"
