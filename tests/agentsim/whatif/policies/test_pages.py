"""The page of policies is the one that the policies make."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentsim.whatif.policies import NAMES, kind_of, parameters
from agentsim.whatif.policies.parameter_meanings import meanings
from agentsim.whatif.policies.policy_pages import main, page

PAGE = Path(__file__).resolve().parents[4] / "docs" / "policies.md"


def test_the_page_in_the_repository_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "run: python -m agentsim.whatif.policies.policy_pages docs/policies.md"
    )


def test_every_policy_has_one_section() -> None:
    assert sorted(re.findall(r"^### `(.+)`$", page(), re.M)) == sorted(NAMES)


def test_it_is_written_where_it_is_wanted(tmp_path: Path) -> None:
    assert main([str(tmp_path / "p.md")]) == 0
    assert (tmp_path / "p.md").read_text(encoding="utf-8") == page()
    assert main([]) == 2


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_says_what_it_means(name: str) -> None:
    kind = kind_of(name)
    texts = meanings(kind)
    assert [parameter.name for parameter in parameters(kind) if not texts.get(parameter.name)] == []
    assert all(text.endswith(".") for text in texts.values())
    assert len(set(texts.values())) == len(texts)
