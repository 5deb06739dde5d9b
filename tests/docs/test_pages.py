"""The pages say what is so: their command lines exist, their links lead somewhere, their pictures are harmless."""

import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

from agentsim.cli import DEFAULTS, LEAVES, load_command

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))


def command_lines(text: str) -> list[list[str]]:
    """Command lines of agentsim in blocks of code and in code within a sentence, up to a pipe."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S) + re.findall(r"^    (.*)$", text, re.M)
    lines = [line for block in blocks for line in re.findall(r"(?:^|&& )(agentsim .*)$", block, re.M)]
    lines += re.findall(r"`(agentsim [^`]*)`", text)
    return [shlex.split(re.split("[|>]", line)[0], comments=True) for line in lines]


def leaf_of(words: list[str]) -> str:
    """The command that a line begins with; a group that is a command of its own counts as its default member."""
    found = [leaf for leaf in LEAVES if words[1 : 1 + len(leaf.split())] == leaf.split()]
    if not found and words[1] in DEFAULTS:
        found = [f"{words[1]} {DEFAULTS[words[1]]}"]
    (leaf,) = found
    return leaf


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_command_lines_exist(page: Path) -> None:
    for words in command_lines(page.read_text()):
        leaf = leaf_of(words)
        command = load_command(leaf)
        own = words[: words.index("--")] if "--" in words else words  # what follows is another program's
        known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        assert {word for word in own if word.startswith("--")} <= known, words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_readme_names_the_distribution_rightly() -> None:
    for page in PAGES:
        assert not re.search(r"install '?agentsim(?!-cache)", page.read_text()), "that name belongs to others"


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_pictures_load_nothing_and_run_nothing(picture: Path) -> None:
    text = picture.read_text()
    root = ElementTree.fromstring(text)
    names = {element.tag.rsplit("}", 1)[-1] for element in root.iter()}
    assert names <= {"svg", "title", "style", "rect", "circle", "text", "g", "defs", "clipPath"}
    assert text.count("url(") == text.count("url(#"), "only what is in the picture itself"
    shown = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    assert shown.count("http") == 1, "the namespace alone"
