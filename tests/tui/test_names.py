"""What a session is called, which files could not be read, and a file that vanishes while it is followed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.commands.tui import _newest
from agentsim.core.session import Lane, Problem, Request, Session
from agentsim.report.exits import ExitCode
from agentsim.tui.problems_screen import MOST_LISTED, ProblemsScreen
from agentsim.tui.session_name import called, heading_of
from tests.tui.conftest import CLAUDE_CODE


def session(tmp_path: Path, *, title: str | None = None, **facts: str) -> Session:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(facts) + "\n")
    return Session(
        id="0123456789",
        format="codex",
        completeness="usage",
        lanes=(Lane(id="main", title=""),),
        requests=(Request(id="r", lane="main", model="m", start=0),),
        files=(str(path),),
        title=title,
    )


def text(one: Session) -> str:
    return "".join(piece if isinstance(piece, str) else piece[0] for piece in heading_of(one))


@pytest.mark.parametrize(
    ("title", "facts", "name", "heading"),
    [
        (None, {}, "0123456789", "0123456789"),
        (None, {"cwd": "/a/shop", "gitBranch": "main"}, "shop (main)", "shop (main) · 01234567"),
        ("Mend it", {"cwd": "/a/shop"}, "Mend it", "Mend it · shop · 01234567"),
    ],
)
def test_title_then_project_then_id(
    tmp_path: Path, title: str | None, facts: dict[str, str], name: str, heading: str
) -> None:
    one = session(tmp_path, title=title, **facts)
    assert called(one) == name
    assert text(one) == heading


def test_problems_are_listed_with_their_reasons() -> None:
    def page(count: int) -> str:
        problems = [Problem(file=f"f{n}", line=n, reason="broken", remedy="mend it") for n in range(count)]
        rows = ProblemsScreen(problems)._rows()
        return "\n".join("".join(p if isinstance(p, str) else p[0] for p in row) for row in rows)

    assert "f1:1\n    broken; mend it" in page(2)
    assert "f0\n" in page(1)
    assert "other" not in page(MOST_LISTED)
    assert "and 1 other" in page(MOST_LISTED + 1)


def test_the_newest_log_is_followed_without_a_path(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tui", "--follow"]) == ExitCode.UNREADABLE
    assert "name the log to follow" in capsys.readouterr().err
    folder = own_home / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    shutil.copy(CLAUDE_CODE, folder / "a.jsonl")
    assert _newest() == str(folder / "a.jsonl")
