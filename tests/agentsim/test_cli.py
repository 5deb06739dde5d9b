"""The command line as a whole: help, errors, exit codes, pipes, start-up."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from agentsim import __version__
from agentsim.cli import COMMANDS, DEFAULTS, EXAMPLES, GROUPS, LEAVES, SHORT, load_command, main, program
from agentsim.report.clean import display_width
from agentsim.report.exits import ExitCode

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "agentsim", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100", **environment},
        check=False,
    )


def test_help_begins_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == ExitCode.OK
    text = capsys.readouterr().out
    assert text.index("Examples:") < text.index("Options:") < text.index("What happened")
    for line, _ in EXAMPLES:
        assert line in text


def examples(words: str) -> tuple[tuple[str, str], ...]:
    return load_command(words).examples if words else EXAMPLES  # type: ignore[attr-defined]


def short_help(words: str) -> str:
    group, _, member = words.partition(" ")
    return GROUPS[group][member] if member else COMMANDS[group]


@pytest.mark.parametrize("words", LEAVES)
def test_each_command_has_examples_and_the_help_that_the_list_shows(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert load_command(words).get_short_help_str(100) == short_help(words)
    assert main([*words.split(), "--help"]) == ExitCode.OK
    text = capsys.readouterr().out.split("Options:")[0]
    assert f"  agentsim {words}" in text or f"agentsim {words} " in text


@pytest.mark.parametrize("words", ["", *GROUPS, *LEAVES])
def test_no_line_of_help_is_wider_than_eighty_columns(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*words.split(), "--help"]) == ExitCode.OK
    text = capsys.readouterr().out
    assert [line for line in text.splitlines() if display_width(line) > 80] == []
    # What is parted for the screen is one command for a shell.
    joined = re.sub(r" +\\\n +", " ", text)
    for line, _ in () if words in GROUPS else examples(words):
        assert f"  {line}\n" in joined


def test_every_command_of_the_examples_exists() -> None:
    for leaf in LEAVES:
        for line, _ in examples(leaf):
            words = line.replace("$(", " ").split()
            named = words[words.index("agentsim") + 1 :]
            assert named[0] in (*LEAVES, *DEFAULTS) or " ".join(named[:2]) in LEAVES


def test_there_are_at_most_twenty_seven_commands() -> None:
    # What happened, what carrying it cost (context), what would have been, (next) what will be, (guard) told in time;
    # (mcp) the same for agents; (tune) a setting with its proof.
    assert len(COMMANDS) <= 27


@pytest.mark.parametrize(("word", "words"), SHORT.items())
def test_a_command_of_a_group_answers_to_one_word_too(
    word: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word, "--help"]) == main([*words.split(), "--help"]) == ExitCode.OK
    one, other = capsys.readouterr().out.split("Usage:")[1:]
    assert one.splitlines()[1:] == other.splitlines()[1:]


@pytest.mark.parametrize(
    ("typed", "near"),
    [("sumary", "summary"), ("rules shwo", "show"), ("engine sise", "size"), ("provider", "providers")],
)
def test_a_command_that_is_misspelt_is_told_with_the_nearest(
    typed: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed.split()) == ExitCode.USAGE
    assert f"did you mean '{near}'?" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == ExitCode.OK
    assert capsys.readouterr().out == f"agentsim {__version__}\n"


def test_no_command_shows_the_help_and_says_that_something_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == ExitCode.USAGE
    assert "What happened" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["compare"],
        ["replay", "--nothing", "x"],
        ["replay", "--rows", "some", "x"],
        ["summary", "--top", "x"],
    ],
)
def test_a_wrong_command_line_is_one_line_and_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == ExitCode.USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("agentsim: error: ")
    assert captured.err.count("\n") == 1
    assert "--help" in captured.err


@pytest.mark.parametrize("command", ["replay", "summary", "agree", "formats"])
def test_a_missing_file_is_named_with_a_remedy_and_code_3(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "nothing.jsonl")
    assert main([command, missing]) == ExitCode.UNREADABLE
    captured = capsys.readouterr()
    assert captured.err == f"agentsim: error: {missing}: no such file or folder; check the spelling\n"
    assert captured.out == ""


def test_exit_codes_are_documented() -> None:
    page = (ROOT / "docs" / "exit-codes.md").read_text()
    for code in ExitCode:
        assert f"| {int(code)} |" in page


@pytest.mark.parametrize(
    ("arguments", "forbidden"),
    [
        (["--help"], {"rich", "pydantic", "simpy", "msgspec", "tiktoken", "genai_prices", "json", "agentsim.diagnose"}),
        (["replay", "--help"], {"rich", "pydantic", "simpy", "msgspec", "agentsim.diagnose"}),
        (["explain", "AS301"], {"rich", "pydantic", "simpy", "tiktoken", "genai_prices"}),
    ],
)
def test_start_up_imports_only_what_it_needs(arguments: list[str], forbidden: set[str]) -> None:
    script = (
        "import sys\nfrom agentsim.cli import main\n"
        f"code = main({arguments!r})\n"
        "print(code, *sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    code, *modules = done.stderr.split()
    assert code == "0"
    assert not forbidden & set(modules)


def test_a_closed_pipe_is_no_error() -> None:
    # More than a pipe holds (64 KiB), and a reader that leaves at once.
    script = "import sys\nfrom agentsim.cli import main\nfor _ in range(200): code = main(['explain'])\nsys.exit(code)"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_an_interrupt_is_code_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "invoke", interrupted)
    assert main(["explain"]) == ExitCode.INTERRUPTED
    assert "Traceback" not in capsys.readouterr().err


def test_a_defect_is_one_harmless_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object, **__: object) -> None:
        raise TypeError("\x1b[2J")

    monkeypatch.setattr(program, "invoke", broken)
    assert main(["explain"]) == ExitCode.DEFECT
    err = capsys.readouterr().err
    assert err.startswith("agentsim: error: this is a defect of agentsim: TypeError: ␛[2J; please report it")
    assert err.count("\n") == 1
    monkeypatch.setenv("AGENTSIM_TRACEBACK", "1")
    with pytest.raises(TypeError):
        main(["explain"])


def test_colour_follows_the_environment() -> None:
    assert "\x1b[" not in run("explain", "AS301").stdout
    assert "\x1b[1m" in run("explain", "AS301", FORCE_COLOR="1").stdout
    assert "\x1b[" not in run("explain", "AS301", FORCE_COLOR="1", NO_COLOR="1").stdout


def test_output_survives_an_encoding_that_lacks_its_characters() -> None:
    done = run("explain", "AS301", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == ExitCode.OK
    text = capsys.readouterr().out
    assert "_AGENTSIM_COMPLETE" in text
    assert f"{shell}_complete" in text


def test_completion_offers_commands() -> None:
    done = run(_AGENTSIM_COMPLETE="bash_complete", COMP_WORDS="agentsim sum", COMP_CWORD="1")
    assert done.stdout.split() == ["plain,summary"]


def test_completion_offers_files_and_codes() -> None:
    done = run(_AGENTSIM_COMPLETE="bash_complete", COMP_WORDS="agentsim replay tra", COMP_CWORD="2")
    assert done.stdout.split() == ["file,tra"]
    done = run(_AGENTSIM_COMPLETE="bash_complete", COMP_WORDS="agentsim explain as50", COMP_CWORD="2")
    assert done.stdout.split() == ["plain,AS501", "plain,AS502", "plain,AS503", "plain,AS504"]


@pytest.mark.parametrize("command", [["summary"], ["replay", "--json"], ["trace", "convert", "-"]], ids=" ".join)
def test_a_closed_standard_output_is_said_and_no_defect(command: list[str]) -> None:
    sample = "traces/samples/claude-code.jsonl"
    words = [*command[:2], sample, *command[2:]]
    line = f"{shlex.join([sys.executable, '-m', 'agentsim', *words])} >&-"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.splitlines() == ["agentsim: error: standard output is closed; open it, or name a file"]
    silent = subprocess.run(["sh", "-c", f"{line} 2>&-"], capture_output=True, cwd=ROOT, check=False)
    assert silent.returncode == ExitCode.USAGE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_no_defect() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "agentsim", "explain", "AS301"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == ExitCode.USAGE
    assert done.stderr == b"agentsim: error: No space left on device; make room\n"


@pytest.mark.loopback
def test_the_reader_of_a_probe_may_leave() -> None:
    """Its own file is written, or nobody asked for one: a pipe that closes is no file that cannot be written."""
    pytest.importorskip("anthropic", reason="the extra 'probe' is not installed")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "agentsim", "probe"], stdout=writing, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (ExitCode.OK, b"")


@pytest.mark.parametrize("option", ["-o", "--perfetto"])
def test_standard_output_holds_one_thing(option: str, tmp_path: Path) -> None:
    """A trace on standard output can be piped on: no page stands in it, and no file is called '-'."""
    done = subprocess.run(
        [sys.executable, "-m", "agentsim", "run", "atlas-14", option, "-"],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == ExitCode.OK
    rows = done.stdout.splitlines()
    assert json.loads(rows[0] if option == "-o" else done.stdout)
    assert list(tmp_path.iterdir()) == []
