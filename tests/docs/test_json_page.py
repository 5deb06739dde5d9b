"""The page on JSON tells of every command that writes it, and the page on exit codes of every command that may fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentsim.cli import LEAVES, load_command

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "json.md").read_text()
CODES = (ROOT / "docs" / "exit-codes.md").read_text()
NAMED_ELSEWHERE = {"scenario list", "trace formats", "scenario fit", "baseline"}
"""Documents of one list, or pages of their own."""


def told() -> set[str]:
    return {word for heading in re.findall(r"^## (.*)$", PAGE, re.M) for word in re.findall(r"`([a-z ]+)`", heading)}


@pytest.mark.parametrize("name", LEAVES)
def test_every_document_has_its_part(name: str) -> None:
    options = {option for parameter in load_command(name).params for option in parameter.opts}
    if "--json" in options and name not in NAMED_ELSEWHERE:
        assert name in told()


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_that_finds_something_says_when(name: str) -> None:
    source = (ROOT / "agentsim" / "commands" / f"{name.replace(' ', '_')}.py").read_text()
    if "ExitCode.FINDINGS" in source:
        first = next(line for line in CODES.splitlines() if line.startswith("| 1 |"))
        assert re.search(rf"`{name}\b", first)


def test_sections_are_those_of_commands() -> None:
    assert told() - set(LEAVES) == set()
