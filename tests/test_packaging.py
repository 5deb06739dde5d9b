"""What is promised to people who install this: few dependencies, all pinned for tests, and a command that works."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import agentsim

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found.group()).lower()


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def test_the_base_install_is_small():
    names = sorted(map(name_of, PROJECT["dependencies"]))
    assert names == [
        "bpe-openai",
        "click",
        "genai-prices",
        "msgspec",
        "simpy",
        "textual",
        "tiktoken",
        "zstandard",
    ]


def test_every_dependency_is_pinned_for_tests():
    extras = [line for extra in PROJECT["optional-dependencies"].values() for line in extra]
    wanted = {name_of(line) for line in (*PROJECT["dependencies"], *extras)} - {name_of(PROJECT["name"])}
    assert wanted <= pins().keys()


def test_torch_stays_at_the_release_that_has_a_small_build():
    assert pins()["torch"] == "2.13.0"


def test_the_version_is_told_once():
    """The build reads it from the package; the changelog has a part for it."""
    assert "version" not in PROJECT
    assert PROJECT["dynamic"] == ["version"]
    text = (ROOT / "agentsim" / "__init__.py").read_text(encoding="utf-8")
    assert text.count(f'__version__ = "{agentsim.__version__}"') == 1
    assert f"\n## [{agentsim.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_ci_runs_the_command_that_the_readme_tells():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (command,) = (line.strip() for line in script.splitlines() if line.strip().startswith("python3 -m venv"))
    assert command.endswith("&& pytest")
    assert command in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_packages_are_typed():
    for package in ("agentsim", "engine", "kernels", "scenarios", "traces", "tui"):
        assert (ROOT / package / "py.typed").exists()
