"""What a package of somebody else adds by entry points: a format of reports, a policy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = str(ROOT / "traces" / "samples" / "gate-before.jsonl")

POINTS = """[agentsim.reporters]
one-word = example_of_others:one_word
[agentsim.policies]
as-it-was = example_of_others:AsItWas
"""

MODULE = '''
from agentsim.whatif.policies.ttl import OneHour

def one_word(gate):
    return gate.outcome + "\\n"

class AsItWas(OneHour, frozen=True, kw_only=True):
    """One hour for every marker, by another name."""
    name = "as-it-was"
'''


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder on the path that holds a package as an installer lays it down."""
    info = tmp_path / "example_of_others-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example-of-others\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    (tmp_path / "example_of_others.py").write_text(MODULE)
    return tmp_path


def run(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(path)])}
    return subprocess.run(
        [sys.executable, "-m", "agentsim", *arguments], capture_output=True, text=True, env=environment, check=False
    )


def test_a_report_in_the_format_of_another_package(installed: Path) -> None:
    done = run(installed, "check", SAMPLE, "--max-misses", "99", "--format", "one-word")
    assert (done.returncode, done.stdout, done.stderr) == (0, "held\n", "")


def test_a_format_that_nobody_adds_is_told_with_those_there_are(installed: Path) -> None:
    done = run(installed, "check", SAMPLE, "--max-misses", "99", "--format", "two-words")
    assert done.returncode == 2
    assert "no format is called 'two-words'; did you mean one-word?" in done.stderr
    assert "one-word" in done.stderr


def test_a_policy_of_another_package(installed: Path) -> None:
    done = run(installed, "compare", SAMPLE, "--policy", "as-it-was", "--policy", "ttl-1h", "--json")
    assert done.returncode == 0, done.stderr
    assert '"as-it-was"' in done.stdout
