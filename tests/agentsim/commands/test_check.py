"""``agentsim check`` as a CI runs it: exit codes, formats, configurations."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.report.exits import ExitCode
from tests.agentsim.budget.recorded import after, before, write
from tests.agentsim.hostile import claude_code_log

ROOT = Path(__file__).resolve().parents[3]
AFTER = str(ROOT / "traces" / "samples" / "gate-after.jsonl")
BEFORE = str(ROOT / "traces" / "samples" / "gate-before.jsonl")

CONFIG = """
[[budget]]
name = "shop"
traces = "rec/*.jsonl"
max-cost = 0.12
forbid = ["AS103"]
"""


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of one width, wherever the tests run."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a configuration and one recording that keeps to it."""
    (tmp_path / "agentsim.toml").write_text(CONFIG)
    write(before(), tmp_path / "rec" / "run.jsonl")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str) -> int:
    return main(["check", *arguments])


def test_held_is_0(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check() == 0
    assert "All budgets held: 0 broken, 0 not judged, 2 held" in capsys.readouterr().out


def test_broken_is_1(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(after(), project / "rec" / "other.jsonl")
    assert check() == 1
    out = capsys.readouterr().out
    assert "MISS AS103 The tools came in another order" in out
    assert "rec/other.jsonl:8" in out, "the line of the seventh request: a header stands before it"
    assert "Budget broken: 2 broken, 0 not judged, 2 held" in out


def test_a_wrong_configuration_is_2_and_names_file_line_and_key(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "agentsim.toml").write_text(CONFIG + "max_misses = 3\n")
    assert check() == 2
    error = capsys.readouterr().err
    assert error == ("agentsim: error: agentsim.toml:7: budget.0.max_misses: no such key; did you mean max-misses?\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--max-cost", "-1"],
        ["--max-cost", "ten"],
        ["--min-hit-rate", "85"],
        ["--forbid", "AS999"],
        ["--max-growth", "x%"],
        ["--format", "xml"],
        ["--also", "junit"],
        ["--also", "xml=file"],
        ["--config", "no.toml"],
        ["-o", "no/such/folder/file"],
    ],
)
def test_wrong_usage_is_2(arguments: list[str], project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("rec", *arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("agentsim: error: ")
    assert error.count("\n") == 1


def test_no_budget_at_all_is_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert check(AFTER) == 2
    (tmp_path / "agentsim.toml").write_text("")
    assert check(AFTER) == 2


def test_no_path_and_no_pattern_is_2(project: Path) -> None:
    (project / "agentsim.toml").write_text("[[budget]]\nmax-cost = 1\n")
    assert check() == 2
    assert check("--max-cost", "1") == 2


@pytest.mark.parametrize("text", ["", "not a log\n", '{"record":"session","format":"agentsim/9","id":"x"}\n'])
def test_an_input_that_cannot_be_read_is_3_though_all_others_hold(
    text: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "rec" / "bad.jsonl").write_text(text)
    assert check() == 3
    out = capsys.readouterr().out
    assert "cannot be read rec/bad.jsonl" in out
    assert "Could not be judged: 0 broken" in out


def test_a_missing_input_is_3(project: Path) -> None:
    assert check("rec/nothing.jsonl") == 3
    (project / "rec" / "run.jsonl").unlink()
    assert check() == 3


def test_a_damaged_line_is_3_unless_it_is_allowed(project: Path) -> None:
    with (project / "rec" / "run.jsonl").open("a") as file:
        file.write('{"record":"requ')
    assert check() == 3
    (project / "agentsim.toml").write_text(CONFIG + "allow-skipped = 1\n")
    assert check() == 0


def test_broken_counts_before_unreadable(project: Path) -> None:
    write(after(), project / "rec" / "other.jsonl")
    (project / "rec" / "bad.jsonl").write_text("not a log\n")
    assert check() == 1


def test_a_pattern_without_files_is_no_pass(project: Path) -> None:
    (project / "agentsim.toml").write_text(CONFIG + '[[budget]]\nname="b"\ntraces="other/*.jsonl"\nmax-cost=1\n')
    assert check() == 3


def test_of_files_that_are_named_each_budget_takes_its_own(project: Path) -> None:
    (project / "agentsim.toml").write_text(CONFIG + '[[budget]]\nname="b"\ntraces="other/*.jsonl"\nmax-cost=1\n')
    assert check("rec/run.jsonl") == 0
    write(before(), project / "elsewhere.jsonl")
    assert check("elsewhere.jsonl") == 3, "no budget applies to it: nothing was judged"


def test_options_count_instead_of_a_configuration_that_is_not_named(project: Path) -> None:
    assert check("rec", "--max-cost", "0.0001") == 1
    (project / "agentsim.toml").write_text("broken")
    assert check("rec", "--max-cost", "1") == 0
    assert check("rec", "--max-cost", "1", "--config", "agentsim.toml") == 2


@pytest.mark.parametrize(
    ("option", "held", "broken"),
    [
        ("--max-cost", "0.1428", "0.142799"),
        ("--max-input-equivalents", "40400", "40399"),
        ("--min-hit-rate", "79.12%", "79.13%"),
        ("--max-misses", "1", "0"),
        ("--max-lost-cost", "0.03243", "0.03242"),
        ("--forbid", "AS104", "tools-reordered"),
    ],
)
def test_each_option_limits(option: str, held: str, broken: str) -> None:
    assert check(AFTER, option, held) == 0
    assert check(AFTER, option, broken) == 1


def test_a_configuration_above_is_found_and_its_patterns_are_relative_to_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(project / "deep" / "er")
    assert check() == 0
    assert check("../../rec/run.jsonl") == 0


def test_a_project_file_will_do(project: Path) -> None:
    (project / "agentsim.toml").unlink()
    table = CONFIG.replace("[[budget]]", "[[tool.agentsim.budget]]")
    (project / "pyproject.toml").write_text('[project]\nname = "x"\n' + table)
    assert check() == 0
    write(after(), project / "rec" / "other.jsonl")
    assert check() == 1


def test_all_formats_agree_with_the_exit_code_in_one_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(after(), project / "rec" / "other.jsonl")
    formats = ("json", "junit", "sarif", "github", "markdown", "terminal")
    also = [word for name in formats for word in ("--also", f"{name}=out.{name}")]
    assert check("--format", "json", "-o", "first.json", *also) == 1
    assert capsys.readouterr().out == ""
    document = json.loads((project / "out.json").read_text())
    assert (document["outcome"], document["exit_code"]) == ("broken", 1)
    assert (project / "first.json").read_text() == (project / "out.json").read_text()
    assert '<testsuites name="agentsim check" tests="4" failures="2"' in (project / "out.junit").read_text()
    assert json.loads((project / "out.sarif").read_text())["runs"][0]["properties"]["outcome"] == "broken"
    for name in ("github", "markdown", "terminal"):
        assert "Budget broken" in (project / f"out.{name}").read_text(), name
    assert sorted(path.name for path in project.iterdir() if path.name.startswith(".")) == [], "no drafts are left"


@pytest.mark.parametrize("name", ["terminal", "json", "junit", "sarif", "github", "markdown"])
def test_a_hostile_log_is_inert_in_every_format(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    log = claude_code_log(tmp_path)
    assert check(log.name, "--max-misses", "0", "--max-cost", "1", "--format", name) == 1
    captured = capsys.readouterr()
    assert not set(captured.out + captured.err) & set("\x00\x07\x1b\x7f\x9b\x9d\r\u202e\u2028\u200b\ufeff")
    assert "\n::error::" not in captured.out


def test_the_baseline_is_the_one_of_the_configuration(project: Path) -> None:
    text = CONFIG + 'max-growth = "5%"\n'
    (project / "agentsim.toml").write_text('baseline = "kept/base.json"\n' + text)
    (project / "kept").mkdir()
    assert check() == 3
    assert main(["baseline", "write"]) == 0
    assert (project / "kept" / "base.json").exists()
    assert check() == 0
    (project / "kept" / "base.json").write_text("{}")
    assert check() == 3


def test_growth_is_measured_from_where_the_branch_began(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false")
        subprocess.run(("git", *who, *words), check=True, capture_output=True, cwd=project)

    (project / "agentsim.toml").write_text('[[budget]]\ntraces = "rec/*.jsonl"\nmax-growth = "10%"\n')
    git("init", "-q", "-b", "main")
    assert main(["baseline", "write"]) == 0
    git("add", ".")
    git("commit", "-qm", "cheap")
    git("checkout", "-qb", "work")
    write(after(id="gate-before"), project / "rec" / "run.jsonl")  # 29 % dearer, and accepted on the branch
    assert main(["baseline", "write"]) == 0
    git("commit", "-qam", "dear")
    assert check() == 0, "the branch's own baseline says that nothing grew"
    assert check("--against", "main") == 1
    git("checkout", "-q", "main")
    (project / "rec" / "run.jsonl").unlink()
    (project / "agentsim-baseline.json").unlink()
    git("commit", "-qam", "main went on without it")
    git("checkout", "-q", "work")
    assert check("--against", "main") == 1, "what main did meanwhile does not count"
    capsys.readouterr()
    assert check("--against", "no-such-branch") == 3
    assert "no-such-branch" in capsys.readouterr().err
    assert check("--against", "--output=x") == 3, "a name is no option of git's"
    assert check("--against", "main", "--baseline", "other.json") == 3, "never committed"


def test_the_same_input_makes_the_same_bytes_everywhere(project: Path) -> None:
    write(after(), project / "rec" / "other.jsonl")
    texts = set()
    for seed, zone in (("0", "UTC"), ("7", "Asia/Tokyo")):
        done = subprocess.run(
            [sys.executable, "-m", "agentsim", "check", "--format", "json", "--also", "sarif=/dev/stdout"],
            capture_output=True,
            cwd=project,
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "PYTHONPATH": str(ROOT)},
            check=False,
        )
        assert done.returncode == ExitCode.FINDINGS
        texts.add(done.stdout)
    assert len(texts) == 1


def test_the_bundled_pair_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(BEFORE, "--max-cost", "0.12", "--forbid", "AS103") == 0
    assert check(AFTER, "--max-cost", "0.12", "--forbid", "AS103") == 1
    assert "tools[0] fetch_page moved" in capsys.readouterr().out
