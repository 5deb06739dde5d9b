"""The lab's report: every experiment is in it, none differs from what was published, its pictures are harmless."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from agentsim.engine.lab.experiment_registry import EXPERIMENTS

DOCS = Path(__file__).resolve().parents[2] / "docs"
REPORT = (DOCS / "lab-report.md").read_text(encoding="utf-8")
PICTURES = sorted((DOCS / "lab-report").glob("*.svg"))


def test_every_experiment_is_in_it() -> None:
    titles = re.findall(r"^## (.+)$", REPORT, re.M)
    assert titles == list(EXPERIMENTS.values())


def test_nothing_differs() -> None:
    rows = re.findall(r"^\|.*\| (same|differs|depends on the machine) \|$", REPORT, re.M)
    assert len(rows) > 150
    assert "differs" not in rows


def test_every_picture_is_shown() -> None:
    shown = re.findall(r"\]\(lab-report/([^)]+)\)", REPORT)
    assert sorted(shown) == [path.name for path in PICTURES]


def test_every_experiment_is_named_on_the_page() -> None:
    page = (DOCS / "lab.md").read_text(encoding="utf-8")
    assert {name for name in EXPERIMENTS if f"`{name}`" not in page} == set()


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_pictures_load_nothing_and_run_nothing(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    names = {element.tag.rsplit("}", 1)[-1] for element in ElementTree.fromstring(text).iter()}
    assert names <= {"svg", "title", "style", "rect", "circle", "text", "path"}
    assert "url(" not in text
    assert text.count("http") == 1, "the namespace alone"
