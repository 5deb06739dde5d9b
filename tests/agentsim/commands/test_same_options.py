"""An option means the same in every command that has it, and what every command needs, every command has."""

from __future__ import annotations

import io
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import click
import pytest

from agentsim.cli import LEAVES, load_command, main
from agentsim.commands.options.piped_input import LogPath
from agentsim.report.exits import ExitCode

SAMPLES = Path(__file__).parents[3] / "traces" / "samples"
LOG = str(SAMPLES / "claude-code.jsonl")

SAME = {"--output", "--json", "--strict", "--rules", "--all", "--content", "--session", "--force", "--fingerprint"}
"""Options with one definition: the same help to the letter, but for what ``-o`` writes and ``--all`` leaves out."""

OWN = {
    "--against", "--backend", "--baseline", "--by", "--capacity", "--csv", "--lane", "--live", "--memory", "--model",
    "--new-tokens",
    "--policy", "--port", "--prefix", "--provider", "--rows", "--scenario", "--seed", "--set", "--since", "--team",
    "--threads", "--tokens", "--top", "--trace", "--until", "--weights", "--window", "--workers", "--harness", "--yes",
}  # fmt: skip
"""Options whose help says what they are for in their command, by the same word for the same thing. New ones are to be
defined once, or to be named here."""

CHANGING = {"--output": r"Write .* there( \('-': standard output\))?\.", "--all": r"Leave nothing out: .*\."}


def options(name: str) -> dict[str, click.Option]:
    found = [option for option in load_command(name).params if isinstance(option, click.Option)]
    return {next(word for word in option.opts if word.startswith("--")): option for option in found}


BY_OPTION: dict[str, dict[str, click.Option]] = defaultdict(dict)
for _name in LEAVES:
    for _word, _option in options(_name).items():
        BY_OPTION[_word][_name] = _option


def kind(option: click.Option) -> tuple[Any, ...]:
    return type(option.type).__name__, option.is_flag, option.multiple


@pytest.mark.parametrize("word", sorted(SAME))
def test_one_meaning(word: str) -> None:
    found = BY_OPTION[word]
    assert found
    assert len({kind(option) for option in found.values()}) == 1
    helps = {option.help or "" for option in found.values()}
    if word in CHANGING:
        assert all(re.fullmatch(CHANGING[word], text) for text in helps), helps
    else:
        assert len(helps) == 1, helps
    if word == "--output":
        assert all("-o" in option.opts for option in found.values())


def test_an_option_of_several_commands_has_one_help_or_is_named_here() -> None:
    differing = {
        word for word, found in BY_OPTION.items() if len({(kind(o), o.help) for o in found.values()}) > 1
    } - set(CHANGING)
    assert differing <= OWN
    assert not OWN & SAME


def reads_logs(name: str) -> bool:
    return any(isinstance(parameter.type, LogPath) for parameter in load_command(name).params)


READING = [name for name in LEAVES if reads_logs(name)]

WITHOUT: dict[str, dict[str, str]] = {
    "--strict": {
        "tui": "the app shows what was skipped",
        "check": "what cannot be judged is exit code 3 in any case",
        "baseline": "nothing is written where anything was skipped",
        "doctor": "it is about what would be skipped",
        "trace formats": "a file of no known format is exit code 3 in any case",
        "rules live": "what cannot be sent is an error in any case",
        "rules check": "every mistake is a finding",
    },
    "--json": {
        "tui": "an app",
        "baseline": "its file is JSON",
        "scenario fit": "its file is TOML",
        "trace convert": "its file is JSON lines",
        "rules live": "its rows are JSON lines, with -o",
        "rules check": "a line for each mistake",
    },
    "--rules": {
        "trace formats": "judges nothing",
        "trace convert": "judges nothing",
        "engine capacity": "knows no provider",
        "rules calibrate": "fits what the rules are",
        "rules check": "its argument",
        "fleet report": "a sweep has its own",
        "fleet watch": "a sweep has its own",
    },
}
"""Commands that read logs and lack an option, and why."""


@pytest.mark.parametrize("word", sorted(WITHOUT))
def test_every_command_that_reads_logs_has_it(word: str) -> None:
    assert {name for name in READING if word not in options(name)} == set(WITHOUT[word])


ARGUMENTS: dict[str, tuple[str, ...]] = {
    "check": ("--max-misses", "99"),
    "next": ("--after", "0"),
    "scenario fit": ("--strict",),
    "fleet sweep": ("--out", "fleet", "--policy", "ttl-1h", "--workers", "0"),
}
SECOND = {"diff": (LOG,), "trace convert": ("-",)}
NO_PIPE = {
    "tui": "its keys come from standard input",
    "baseline": "what a pipe brings has no name to be known by",
    "fleet sweep": "below",
    "fleet report": "below",
    "fleet watch": "below",
    "rules check": "reads rules",
    "tune propose": "chooses nothing from one session",
    "tune verify": "needs settings that were written",
    "rules live": "its sample has no bodies",
    "engine capacity": "reads serving traces",
}


@pytest.mark.parametrize("name", [name for name in READING if name not in NO_PIPE])
def test_a_dash_is_standard_input(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The same as by its path, but for the name of the file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")  # a long path is broken on a narrow page
    data = Path(LOG).read_bytes()
    named = tmp_path / "stdin"
    named.write_bytes(data)
    before, after = name.split(), (*SECOND.get(name, ()), *ARGUMENTS.get(name, ()))
    expected = main([*before, str(named), *after]), *map(plain, capsys.readouterr())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert (main([*before, "-", *after]), *map(plain, capsys.readouterr())) == expected
    assert expected[0] in (ExitCode.OK, ExitCode.FINDINGS)
    assert expected[1]


def plain(text: str) -> list[str]:
    """The words of a page without the name of its file, nor what is as wide as it."""
    return re.sub(r'[^\s"]*/stdin|(?<![^\s"])(-|stdin)(?![^\s":])|─+', "FILE", text).split()


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.glob("*.json*")))
def test_the_format_of_what_is_piped_is_found(
    sample: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = SAMPLES / sample
    assert main(["trace", "formats", str(path)]) == ExitCode.OK
    format = capsys.readouterr().out.split()[-1]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert main(["trace", "formats", "-"]) == ExitCode.OK
    assert capsys.readouterr().out.split()[-2:] == ["-", format]


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(LOG).read_bytes())))
    assert main(["diff", "-", "-"]) == ExitCode.USAGE
    assert "can be read once" in capsys.readouterr().err


def test_no_baseline_of_what_has_no_name(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(LOG).read_bytes())))
    assert main(["baseline", "write", "-", "-o", "-"]) == ExitCode.USAGE
    assert "write it to a file first" in capsys.readouterr().err


def test_a_pipe_of_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    """What ``<(COMMAND)`` stands for; and nothing of it is left behind."""
    import os
    import tempfile
    import threading

    read_end, write_end = os.pipe()
    data = Path(LOG).read_bytes()

    def pour() -> None:
        with os.fdopen(write_end, "wb") as pipe:
            pipe.write(data)

    thread = threading.Thread(target=pour)
    thread.start()
    before = set(os.listdir(tempfile.gettempdir()))
    try:
        assert main(["replay", f"/dev/fd/{read_end}", "--json"]) in (ExitCode.OK, ExitCode.FINDINGS)
    finally:
        thread.join()
        os.close(read_end)
    assert '"rows"' in capsys.readouterr().out
    left = {name for name in set(os.listdir(tempfile.gettempdir())) - before if name.startswith("agentsim-")}
    assert not {name for name in left if os.path.exists(os.path.join(tempfile.gettempdir(), name, "stdin"))}


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("summry", "summary"),
        ("rules shw", "show"),
        ("rules show antropic", "anthropic"),
        ("explain AS3O1", "AS301"),
        ("explain AS301 --harness codx", "codex"),
        ("check LOG --forbid AS3O1", "AS301"),
        ("policies ttl1h", "ttl-1h"),
        ("compare LOG --policy ttl_1h", "ttl-1h"),
        ("run clade-code-day", "claude-code-day"),
        ("scenario list --show clade-code-day", "claude-code-day"),
        ("check LOG --max-misses 9 --format jsn", "json"),
        ("engine lab scheme", "schemes"),
        ("conform --act resum", "resume"),
        ("conform codx", "codex"),
    ],
)
def test_did_you_mean(line: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands, providers, causes, harnesses, policies, scenarios, formats, experiments, acts: one function."""
    assert main([LOG if word == "LOG" else word for word in line.split()]) in (ExitCode.USAGE, ExitCode.UNREADABLE)
    assert re.search(rf"did you mean '?{meant}", capsys.readouterr().err)


def test_one_function_finds_the_nearest_word() -> None:
    root = Path(__file__).parents[3]
    folders = ("agentsim", "engine", "scenarios", "traces", "tui")
    sources = {path.resolve() for folder in folders for path in (root / folder).rglob("*.py")}
    assert [path.name for path in sources if "get_close_matches" in path.read_text("utf-8")] == ["near_words.py"]
