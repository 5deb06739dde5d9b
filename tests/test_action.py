"""The GitHub Action, its steps run as a runner runs them: with bash, an environment, and a stand-in for ``gh``."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.agentsim.budget.recorded import after, before, write

ROOT = Path(__file__).resolve().parent.parent
ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")
WORKFLOW = (ROOT / "docs" / "examples" / "agentsim-workflow.yml").read_text(encoding="utf-8")

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")


def step(name: str) -> str:
    """The script of a step."""
    part = ACTION.split(f"    - name: {name}\n", 1)[1].split("    - name: ", 1)[0]
    found = re.search(r"^      run: \|\n((?:        .*\n|\n)+)", part, re.M)
    if found:
        return textwrap.dedent(found[1])
    line = re.search(r"^      run: (.+)$", part, re.M)
    assert line is not None, name
    return line[1]


def run(name: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(name)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, **environment},
        check=False,
    )


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/usr/bin/env bash\n" + text)
    path.chmod(0o755)


def test_it_uses_no_action_of_others() -> None:
    assert "uses:" not in ACTION
    assert [line for line in WORKFLOW.splitlines() if "uses:" in line and "OWNER/agentsim@" not in line] == []


def test_no_input_is_pasted_into_a_script() -> None:
    names = re.findall(r"^    - name: (.+)$", ACTION, re.M)
    assert names == ["Install", "Check", "Comment", "Code scanning", "Outcome"]
    for name in names:
        assert "${{" not in step(name), "a name of a branch would be run as a command"
    assert "${{" not in WORKFLOW.split("run: |", 1)[1].split("- name:", 1)[0]


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """A runner's folders: a project, an installed agentsim, and a gh that writes down its calls."""
    python = f'PYTHONPATH={ROOT} exec {sys.executable} -m agentsim "$@"\n'
    executable(tmp_path / "temp" / "agentsim" / "bin" / "agentsim", python)
    noted = 'printf "%s\\n" "$*" >> "$GH_LOG"\n'
    listed = 'case "$*" in *--paginate*) printf "%s" "$GH_IDS" ;; esac\n'
    executable(tmp_path / "bin" / "gh", noted + listed + 'exit "${GH_CODE:-0}"\n')
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "agentsim.toml").write_text("[[budget]]\nmax-misses = 0\n")
    return tmp_path


def check(runner: Path, paths: str, config: str = "") -> dict[str, str]:
    """Run the step and return its outputs."""
    (runner / "output").write_text("")
    (runner / "summary").write_text("")
    done = run(
        "Check",
        runner / "project",
        RUNNER_TEMP=str(runner / "temp"),
        GITHUB_OUTPUT=str(runner / "output"),
        GITHUB_STEP_SUMMARY=str(runner / "summary"),
        PATHS=paths,
        CONFIG=config,
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in (runner / "output").read_text().splitlines())


@needs_bash
def test_the_check_writes_all_reports_and_its_exit_code(runner: Path) -> None:
    write(before(), runner / "project" / "a b.jsonl")
    write(after(), runner / "project" / "$(touch evil).jsonl")
    assert check(runner, "a b.jsonl\n")["exit-code"] == "0"
    outputs = check(runner, "a b.jsonl\n$(touch evil).jsonl\n")
    assert outputs["exit-code"] == "1"
    assert sorted(path.name for path in Path(outputs["reports"]).iterdir()) == [
        "check.json",
        "check.md",
        "check.sarif",
        "check.xml",
    ]
    assert "Budget broken" in (runner / "summary").read_text()
    assert not (runner / "project" / "evil").exists()
    assert check(runner, "no.jsonl")["exit-code"] == "3"
    assert check(runner, "a b.jsonl", "no.toml")["exit-code"] == "2"


def comment(runner: Path, ids: str, code: str = "0") -> tuple[list[str], str]:
    """Run the step that comments; its calls of gh and what it printed."""
    (runner / "log").write_text("")
    (runner / "check.md").write_text("<!-- agentsim -->\n")
    done = run(
        "Comment",
        runner,
        PATH=f"{runner / 'bin'}:{os.environ['PATH']}",
        GH_LOG=str(runner / "log"),
        GH_IDS=ids,
        GH_CODE=code,
        REPOSITORY="o/r",
        NUMBER="7",
        REPORT=str(runner / "check.md"),
        AUTHOR="github-actions[bot]",
    )
    assert done.returncode == 0, done.stderr
    return (runner / "log").read_text().splitlines(), done.stdout


@needs_bash
def test_a_comment_is_made_once_and_edited_from_then_on(runner: Path) -> None:
    report = f"body=@{runner / 'check.md'}"
    calls, _ = comment(runner, "")
    assert calls[1:] == [f"api --silent -X POST repos/o/r/issues/7/comments -F {report}"]
    assert 'startswith("<!-- agentsim -->")' in calls[0]
    assert ".user.login == env.AUTHOR" in calls[0], "a comment of somebody else is not edited"
    calls, _ = comment(runner, "11\n22\n")
    assert calls[1:] == [f"api --silent -X PATCH repos/o/r/issues/comments/11 -F {report}"]


@needs_bash
def test_a_comment_that_cannot_be_written_fails_nothing(runner: Path) -> None:
    calls, out = comment(runner, "", code="1")
    assert len(calls) == 1
    assert out.startswith("::warning title=agentsim::")


@needs_bash
@pytest.mark.parametrize(("code", "exit_code"), [("0", 0), ("1", 1), ("3", 3), ("", 3)])
def test_the_outcome_is_that_of_the_check_and_3_where_it_did_not_run(code: str, exit_code: int, tmp_path: Path) -> None:
    assert run("Outcome", tmp_path, CODE=code).returncode == exit_code
