"""The steps of docs/develop/adding.md, followed by one who knows nothing else: for a provider, a format, a cause."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "develop" / "adding.md").read_text("utf-8")

pytestmark = pytest.mark.slow

READER = '''
"""One line a call: what a stranger's harness logs. ``sent`` includes cached tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from agentsim.bodies.input_conventions import input_includes_cached
from agentsim.core.session import Problem, Request, Session
from agentsim.traces.session_assembly import MAIN, Assembly
from agentsim.traces.hostile_records import Tally

NAME = "stranger"
DESCRIPTION = "log of a stranger's harness"
VERIFIED = False


def detect(head: bytes, path: str) -> bool:
    """Whether the file begins as such a log does."""
    return head.startswith(b'{"stranger":')


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """A session for each file."""
    for path in paths:
        tally = Tally(path)
        assembly = Assembly("walk", NAME, tally)
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                row = json.loads(line)
                tally.rows += 1
                usage = input_includes_cached(row["sent"], row["cached"], None, row["output"])
                request = Request(
                    id=f"r{number}", lane=MAIN, model=row["model"], provider="walkington", usage=usage, start=number
                )
                assembly.add(request)
        yield assembly.build("usage")
'''


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that git knows, as a clone has them."""
    folder = tmp_path_factory.mktemp("walk")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.decode().split("\0"):
        source, target = ROOT / name, folder / name
        if not name or not os.path.lexists(source):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(os.readlink(source))
        else:
            target.write_bytes(source.read_bytes())
    return folder


def run(tree: Path, *words: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "160"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def insert(path: Path, before: str, text: str) -> None:
    content = path.read_text("utf-8")
    assert content.count(before) == 1
    path.write_text(content.replace(before, text + before), "utf-8")


def test_the_page_names_the_files_that_are_there() -> None:
    for name in re.findall(r"`((?:agentsim|traces|tests|docs|kernels|tui)/[\w/.-]+\.(?:py|toml|md))`", PAGE):
        if "NAME" not in name:
            assert (ROOT / name).is_file(), name


def test_a_provider(tree: Path) -> None:
    """One file: commands know it at once."""
    file = tree / "agentsim" / "rules" / "providers" / "walkington.toml"
    text = (file.parent / "llamacpp.toml").read_text("utf-8")
    text = re.sub(r"^provider = .*$", 'provider = "walkington"', text, flags=re.M)
    text = re.sub(r"^aliases = .*$", "aliases = []", text, flags=re.M)
    file.write_text(re.sub(r"^title = .*$", 'title = "Walkington"', text, flags=re.M), "utf-8")
    assert "no mistake" in run(tree, "-m", "agentsim", "rules", "check", str(file))
    assert "Walkington" in run(tree, "-m", "agentsim", "rules", "show", "walkington")
    assert "Walkington" in run(tree, "-m", "agentsim", "rules", "show")


def test_a_format(tree: Path) -> None:
    """Two files: the reader and its line in the registry."""
    (tree / "traces" / "readers" / "stranger.py").write_text(READER, "utf-8")
    before = '    LogFormat("agentsim.traces.readers.pairs"),\n'
    insert(tree / "traces" / "format_registry.py", before, '    LogFormat("agentsim.traces.readers.stranger"),\n')
    log = tree / "log.jsonl"
    log.write_text(
        '{"stranger":1,"model":"m","sent":9000,"cached":0,"output":5}\n'
        '{"stranger":1,"model":"m","sent":9500,"cached":9000,"output":5}\n'
    )
    assert "stranger" in run(tree, "-m", "agentsim", "trace", "formats", str(log))
    assert "9,500" in run(tree, "-m", "agentsim", "replay", str(log))


def test_a_cause(tree: Path) -> None:
    """One table and a line in the list of promises; the page is made."""
    causes = tree / "agentsim" / "diagnose" / "causes.toml"
    table = """[AS199]
slug = "walked-in"
title = "Somebody walked in"
meaning = "A stranger followed the steps for a cause, and nothing else: what he brought was not there before."
confirm = "Compare the two requests: what the stranger brought is in the second one alone."
fix = "Close the door, and send what was sent before: the entry is still there for a while."

"""
    insert(causes, "[AS201]\n", table)
    known = tree / "tests" / "agentsim" / "diagnose" / "test_causes.py"
    insert(known, '    *("AS201",', '    "AS199",\n')
    run(tree, "-m", "agentsim.diagnose.cause_pages", "docs/causes")
    assert "Somebody walked in" in (tree / "docs" / "causes" / "AS199.md").read_text("utf-8")
    assert "Close the door" in run(tree, "-m", "agentsim", "explain", "AS199")
    run(tree, "-m", "pytest", "-n0", "-q", "-p", "no:cacheprovider", "tests/agentsim/diagnose/test_causes.py")
