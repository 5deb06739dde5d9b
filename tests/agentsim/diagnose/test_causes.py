"""The registry of causes and its pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentsim.diagnose.cause_pages import main, pages
from agentsim.diagnose.cause_registry import CAUSES, cause

DOCS = Path(__file__).parents[3] / "docs" / "causes"

CODES = [
    *("AS101", "AS102", "AS103", "AS104", "AS105"),
    *("AS110", "AS111", "AS112"),
    *("AS120", "AS121", "AS122", "AS123", "AS124", "AS125", "AS126", "AS127", "AS128", "AS129", "AS130", "AS131"),
    *("AS140", "AS190"),
    *("AS201", "AS202", "AS203", "AS204", "AS205", "AS206"),
    *("AS301", "AS302", "AS303", "AS304", "AS305", "AS306", "AS307", "AS308"),
    *("AS401", "AS402", "AS403", "AS404", "AS405", "AS406", "AS407", "AS408"),
    *("AS501", "AS502", "AS503", "AS504"),
    *("AS901", "AS902", "AS910"),
]
"""Codes are a promise: scripts and reports name them. One may be added here, none may go or change its meaning."""


def test_every_code_is_there_and_in_order():
    assert list(CAUSES) == CODES == sorted(CODES)


def test_slugs_are_unique_and_every_text_says_something():
    assert len({item.slug for item in CAUSES.values()}) == len(CODES)
    for item in CAUSES.values():
        assert 5 < len(item.title) < 70
        assert min(len(item.meaning), len(item.how_to_confirm), len(item.fix)) > 30, item.code
        assert item.slug == item.slug.lower().replace(" ", "-")


def test_a_cause_is_found_by_code_or_slug_in_any_case():
    assert cause("as301") is cause("AS301") is cause("Lookback-Exceeded")
    with pytest.raises(KeyError):
        cause("AS999")


def test_the_pages_in_docs_are_those_of_the_registry():
    """After an edit of causes.toml: python -m agentsim.diagnose.cause_pages docs/causes"""
    assert {path.name: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")} == pages()


def test_the_pages_are_written_where_asked(tmp_path, capsys):
    assert main([str(tmp_path / "new")]) == 0
    assert sorted(path.stem for path in (tmp_path / "new").glob("AS*.md")) == CODES
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err
