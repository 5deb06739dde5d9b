"""Where commands write: "-" is standard output or refused, a missing folder is an error, and no file is called "-"."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from agentsim.cli import LEAVES, load_command, main
from agentsim.report.exits import ExitCode

SAMPLES = Path(__file__).resolve().parents[3] / "traces" / "samples"
TRACE = str(SAMPLES / "gate-before.jsonl")

READ = {
    "path", "paths", "files", "model", "source", "old", "new",
    "--config", "--baseline", "--budget", "--rules", "--script", "--replay", "--weights",
}  # fmt: skip
"""What takes a file and reads it."""

STREAMED = {
    ("rules calibrate", "--output"): None,  # below: a trace of the bundled ones has nothing to say
    ("check", "--output"): ("check", TRACE, "--max-misses", "99"),
    ("baseline", "--output"): ("baseline", "write", TRACE),
    ("conform", "--output"): None,  # runs a harness: see its own tests
    ("conform", "--keep"): None,
    ("conform", "--markdown"): None,
    ("trace convert", "target"): None,  # an argument: see below
    ("scenario fit", "--output"): ("fit", TRACE),
    ("rules live", "--output"): None,  # tests of live send to a stub
    ("rules probe", "--output"): None,  # below: it needs a connection to this machine
    ("fleet report", "--csv"): None,  # needs a sweep: see the tests of what has no price
    ("fleet report", "--html"): None,
    ("run", "--output"): ("run", "atlas-14"),
    ("run", "--perfetto"): ("run", "atlas-14"),
    ("fleet watch", "--prometheus"): None,
}
"""Options that write to standard output when they are given "-", and a command that does."""

REFUSED = {
    ("exec", "--trace"): ("exec", "--", "true"),
    ("engine lab", "--md"): ("lab", "schemes"),
    ("record", "--trace"): ("record", "--upstream", "https://example.org"),
    ("serve", "--trace"): ("serve",),
    ("fleet sweep", "--output"): ("sweep", TRACE),
}
"""Options that need a file or a folder, and say so."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_option_that_takes_a_file_is_known_to_these_tests() -> None:
    found = set()
    for name in LEAVES:
        for parameter in load_command(name).params:
            option = max(parameter.opts, key=len)
            if isinstance(parameter.type, click.Path) and option not in READ:
                found.add((name, option))
    assert found == {*STREAMED, *REFUSED}


@pytest.mark.parametrize(("place", "words"), [(key, words) for key, words in STREAMED.items() if words], ids=str)
def test_a_dash_is_standard_output(
    here: Path, capsys: pytest.CaptureFixture[str], place: tuple[str, str], words: tuple[str, ...]
) -> None:
    named = here / "named"
    assert main([*words, place[1], str(named)]) == ExitCode.OK
    capsys.readouterr()
    assert main([*words, place[1], "-"]) == ExitCode.OK
    out, err = capsys.readouterr()
    assert out == named.read_text(encoding="utf-8")
    assert err == ""
    assert [path.name for path in here.iterdir()] == ["named"]


@pytest.mark.parametrize(("place", "words"), REFUSED.items(), ids=str)
def test_a_dash_is_refused_where_a_file_is_needed(
    here: Path, capsys: pytest.CaptureFixture[str], place: tuple[str, str], words: tuple[str, ...]
) -> None:
    rest = words[1:]
    assert main([*place[0].split(), place[1], "-", *rest]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"agentsim: error: {place[1]} -: ")
    assert err.endswith("; name a place on the disk\n")
    assert not list(here.iterdir())


@pytest.mark.parametrize(
    ("place", "words"),
    [(key, words) for key, words in (STREAMED | REFUSED).items() if words and key[0] != "fleet sweep"],
    ids=str,
)
def test_a_folder_that_is_missing_is_not_made(
    here: Path, capsys: pytest.CaptureFixture[str], place: tuple[str, str], words: tuple[str, ...]
) -> None:
    rest = words[1:]
    assert main([*place[0].split(), place[1], "gone/report.md", *rest]) == ExitCode.USAGE
    assert capsys.readouterr().err == "agentsim: error: gone: no such folder; make it first\n"
    assert not list(here.iterdir())


def test_a_trace_to_standard_output(here: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["convert", TRACE, "-"]) == ExitCode.OK
    assert json.loads(capsysbinary.readouterr().out.splitlines()[0])["record"] == "session"
    assert main(["convert", TRACE, "gone/trace.jsonl"]) == ExitCode.USAGE
    assert not list(here.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ("run", "atlas-14", "-o", "-", "--perfetto", "-"),
        ("run", "atlas-14", "-o", "-", "--json"),
        ("check", TRACE, "--max-misses", "9", "--also", "json=-"),
        ("calibrate", TRACE, "-o", "-", "--json"),
        ("report", TRACE, "--csv", "-", "--html", "-"),
        ("watch", TRACE, "--prometheus", "-", "--json"),
    ],
    ids=" ".join,
)
def test_two_documents_do_not_share_standard_output(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert main(words) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert "would both go to standard output; give one of them a file" in err


def test_a_baseline_is_compared_with_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", "diff", TRACE, "-o", "-"]) == ExitCode.USAGE
    assert "'diff' compares with a file" in capsys.readouterr().err


@pytest.mark.loopback
def test_rows_of_a_probe_take_standard_output_and_its_page_the_other(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("anthropic", reason="the extra 'probe' is not installed")
    pytest.importorskip("uvicorn", reason="the extra 'gateway' is not installed")
    assert main(["probe", "--out", "-", "--run", "r1"]) == ExitCode.OK
    out, err = capfd.readouterr()
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["record"] for row in rows] == ["run", *["request"] * 4, "finding"]
    assert "run r1" in err
    assert not list(here.iterdir())
