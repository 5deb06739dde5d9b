"""The pages for builders speak of files, modules and functions that exist."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "develop").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_paths_exist(page: Path) -> None:
    named = re.findall(r"`((?:agentsim|engine|kernels|traces|tui|tests|docs)/[\w./-]*)`", page.read_text("utf-8"))
    assert {name for name in named if "NAME" not in name and not (ROOT / name).exists()} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_modules_and_what_they_are_asked_for_exist(page: Path) -> None:
    for name in re.findall(r"`(?:python -m )?(agentsim(?:\.\w+)+)(?: [^`]*)?`", page.read_text("utf-8")):
        if name in ("agentsim.formats", "agentsim.policies", "agentsim.reporters"):
            continue  # groups of entry points
        parent, _, last = name.rpartition(".")
        spec = find_spec(parent)
        if find_spec(name) is None if spec is not None and spec.submodule_search_locations else True:
            assert spec is not None, name
            assert spec.origin is not None, name
            assert re.search(
                rf"^(?:class|def) {last}\b|^{last}\b|import .*\b{last}\b", Path(spec.origin).read_text(), re.M
            ), name
