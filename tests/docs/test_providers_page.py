"""The page on providers: every rule is explained, and its files are as they should be."""

from __future__ import annotations

import re
from pathlib import Path

from agentsim.rules.providers.rules_document import RULES
from agentsim.rules.providers.rules_file_check import check_rules

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "providers.md").read_text()


def test_every_rule_is_explained() -> None:
    explained = set(re.findall(r"`([a-z_]+)`", PAGE))
    assert set(RULES) | {"settings"} <= explained


def test_the_files_on_the_page_have_no_mistake(tmp_path: Path) -> None:
    found = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.M | re.S)
    assert len(found) == 3
    for number, text in enumerate(found):
        path = tmp_path / f"{number}.toml"
        path.write_text(text)
        assert check_rules(str(path))[1] == ()
