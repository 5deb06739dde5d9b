"""A project whose own folders are called as ours are must run us, and we must not import its modules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "traces" / "samples" / "gate-before.jsonl"
NAMES = ("engine", "kernels", "scenarios", "traces", "tui")
TRAP = "raise AssertionError('a module of the project was imported')\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in NAMES:
        if name in ("engine", "tui"):
            (tmp_path / f"{name}.py").write_text(TRAP)
        else:
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text(TRAP)
    return tmp_path


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # The project's own folder comes first on the path, as it does for a script and for "python -m".
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(project), str(ROOT)])}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=project, env=environment, check=False
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("-c", f"from agentsim.testing import assert_budget; assert_budget({str(SAMPLE)!r}, max_cost='1.00')"),
        ("-c", f"import agentsim; print(agentsim.compare({str(SAMPLE)!r}))"),
        ("-m", "agentsim", "replay", str(SAMPLE)),
        ("-m", "agentsim", "run", "atlas-14"),
        ("-m", "agentsim", "engine", "size", "--layers", "2", "--heads", "2", "--kv-heads", "1", "--head-dim", "8"),
        ("-c", "import agentsim.tui.tui_app, agentsim.traces.format_registry, agentsim.scenarios.bundled_scenarios"),
    ],
    ids=["assert_budget", "compare", "replay", "run", "size", "imports"],
)
def test_a_project_with_such_names_runs_us(project: Path, arguments: tuple[str, ...]) -> None:
    done = run(project, *arguments)
    assert done.returncode == 0, done.stderr
    assert "a module of the project was imported" not in done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_the_project_has_such_a_module(project: Path, name: str) -> None:
    assert "a module of the project was imported" in run(project, "-c", f"import {name}").stderr


def test_folders_at_the_top_are_links_inside_the_package() -> None:
    for name in NAMES:
        link = ROOT / "agentsim" / name
        assert link.is_symlink()
        assert os.readlink(link) == f"../{name}"
