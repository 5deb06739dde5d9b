"""Every command that takes a folder reads the same sessions from it, whatever lies beside whatever."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest
import zstandard

import agentsim.traces.samples
from agentsim.budget.recordings import read_recordings
from agentsim.core.session import Problem
from agentsim.fleet.summary import summarise
from agentsim.fleet.summary.grouped import summarise_groups
from agentsim.traces.format_registry import detect, read
from agentsim.traces.log_walk import find
from agentsim.tui.picker.gather_sessions import PickerLine, gather

SAMPLES = Path(agentsim.traces.samples.__file__).parent
LARGEST = 400_000
"""Bytes: of each kind of log the smallest file, as far as it is no larger."""


@pytest.fixture(scope="module")
def mixed(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of Claude Code, and beside and below it the smallest file of each format and each end that there is."""
    root = tmp_path_factory.mktemp("mixed")
    shutil.copy(SAMPLES / "claude-code.jsonl", root / "session.jsonl")
    smallest: dict[tuple[str, str], Path] = {}
    for path in sorted(shared_data.rglob("*"), key=lambda path: path.stat().st_size):
        if path.is_file() and path.name != "README.md" and path.stat().st_size < LARGEST:
            format = detect(str(path))
            if format is not None and format.name != "claude-code":
                smallest.setdefault((format.name, path.suffix), path)
    for number, ((name, end), path) in enumerate(sorted(smallest.items())):
        end = ".traj" if name == "swe-agent" else end
        place = root / ("below" if number % 2 else ".") / f"{name.replace('/', '-')}{end}"
        place.parent.mkdir(exist_ok=True)
        shutil.copy(path, place)
    codex = next(path for (name, _), path in sorted(smallest.items()) if name == "codex")
    pi = next(path for (name, _), path in sorted(smallest.items()) if name == "pi")
    (root / "below" / "packed.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(pi.read_bytes()))
    (root / "packed.jsonl.gz").write_bytes(gzip.compress(codex.read_bytes().replace(b"-", b"-", 1)))
    (root / "package.json").write_text('{"name": "no log"}')
    (root / "index.jsonl").write_text('{"file": "a.request.json"}\n')
    (root / "notes.yaml").write_text("no: log\n")
    return root


def sessions_of(folder: Path) -> set[str]:
    problems: list[Problem] = []
    found = {session.id for session in read([str(folder)], problems) if any(r.counted for r in session.requests)}
    assert len(found) > 10
    return found


def test_the_fixture_has_every_end_that_logs_have(mixed: Path) -> None:
    ends = {Path(file.path).suffix for file in find([str(mixed)], lambda _: None)}
    assert {".jsonl", ".json", ".traj", ".csv", ".har", ".yaml", ".zst", ".gz"} <= ends


def test_summary(mixed: Path) -> None:
    assert {line.session for line in summarise([str(mixed)], workers=1).by_loss} == sessions_of(mixed)


def test_summary_by_group(mixed: Path) -> None:
    problems: list[Problem] = []
    requests = sum(request.counted for session in read([str(mixed)], problems) for request in session.requests)
    assert summarise_groups([str(mixed)], by="harness").total.requests == requests


def test_check_and_its_quiet_files(mixed: Path) -> None:
    problems: list[Problem] = []
    assert {one.session.id for one in read_recordings([str(mixed)], problems)} >= sessions_of(mixed)
    assert not [one for one in problems if one.file.endswith(("package.json", "notes.yaml", "index.jsonl"))]


def test_the_app(mixed: Path) -> None:
    lines: dict[tuple[str, str], PickerLine] = {}

    def tell(new: object, done: int, total: int) -> bool:
        lines.update({line.key: line for line in new if line.requests})  # type: ignore[attr-defined]
        return True

    gather([str(mixed)], tell)
    assert {line.session for line in lines.values()} == sessions_of(mixed)


def test_a_file_that_was_named_and_is_no_log_is_told_by_all(mixed: Path) -> None:
    named = str(mixed / "package.json")
    for problems in (
        summarise([named], workers=1).problems,
        gather([named], lambda *_: True),
    ):
        assert [one.file for one in problems] == [named]
    told: list[Problem] = []
    assert list(read_recordings([named], told)) == []
    assert [one.file for one in told] == [named]
