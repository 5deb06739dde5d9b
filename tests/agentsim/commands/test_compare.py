"""``agentsim compare`` and ``agentsim policies`` as a user meets them."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import msgspec
import pytest

from agentsim.cli import main
from agentsim.core.session import Usage
from agentsim.report.clean import display_width
from agentsim.report.exits import ExitCode
from agentsim.traces.readers.agentsim1 import write
from agentsim.traces.samples.make_atlas import atlas_session
from agentsim.whatif.policies import NAMES
from tests.agentsim.hostile import claude_code_log

SAMPLE = str(Path(__file__).resolve().parents[3] / "traces" / "samples" / "atlas-14.jsonl")


def test_the_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "130")
    assert main(["compare", SAMPLE, "--policy", "stagger-fan-out", "--policy", "ttl-1h"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert "14 of 14 rows; 100.00 % of 592,180 tokens" in out
    lines: dict[str, list[str]] = {}
    for line in out.splitlines():
        lines.setdefault(line.split("  ")[0].strip(), line.split())
    # 381,701 tokens of ordinary input at $5 a million and 4,320 of output at $25 are $2.02.
    assert lines["as recorded"][2:] == ["14", "280,420", "311,760", "52.65", "$2.02", "–", "–", "–"]
    sums, interval = lines["stagger-fan-out"][1:7], lines["stagger-fan-out"][7:10]
    assert sums == ["14", "219,820", "372,360", "62.88", "$1.67", "$0.35"]
    assert interval[0] <= "$0.35" <= interval[2]
    assert lines["stagger-fan-out"][10] == "69,690"
    assert "-$0.71" in lines["ttl-1h"]
    # Only what saves is explained.
    assert "The others can wait" in out
    assert "Entries survive the whole hour" not in out


def test_without_all_the_input_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", SAMPLE]) == ExitCode.OK
    narrow = capsys.readouterr().out
    assert main(["compare", SAMPLE, "--all"]) == ExitCode.OK
    wide = capsys.readouterr().out
    assert "deferred-tools *" in wide
    assert "* the model would have been shown something else" in wide
    assert "deferred-tools" not in narrow
    assert "*" not in narrow


def test_the_best_together(capsys: pytest.CaptureFixture[str]) -> None:
    five = ["deferred-tools", "keep-alive", "free-tool-choice", "combine-blocks", "stagger-fan-out"]
    options = [word for name in five for word in ("--policy", name)]
    assert main(["compare", SAMPLE, "--combine", *options]) == ExitCode.OK
    out = capsys.readouterr().out
    assert "Their savings alone add up to $1.11; together they save $1.12." in out
    assert re.search(r"the best together .* 86\.83", out)


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", SAMPLE, "--json", "--combine", "--policy", "keep-alive:most=1"]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert document["report"] == "compare"
    assert document["calibration"]["rows_exact"] == 14
    assert [p["policy"] for p in document["policies"]][1] == "keep-alive:most=1"
    assert document["policies"][1]["saving_input_equivalents"] == "37957.5"
    assert document["together"]["steps"][0]["together_input_equivalents"] == "37957.5"


def test_csv(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", SAMPLE, "--csv", "--policy", "keep-alive"]) == ExitCode.OK
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["read"] for row in rows] == ["311760", "384060"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--policy", "keepalive"], "did you mean keep-alive?"),
        (["--policy", "keep-alive:most=x"], "most must be whole number"),
        (["--json", "--csv"], "exclude each other"),
        (["--session", "zzz"], "no session begins with zzz"),
    ],
)
def test_a_wrong_command_line(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", SAMPLE, *arguments]) == ExitCode.USAGE
    err = capsys.readouterr().err
    assert says in err.splitlines()[-1]
    assert err.count("agentsim: error:") == 1


def test_money_is_withheld_and_the_exit_code_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = atlas_session()
    # As if every request had read nothing: the simulation explains the half of the tokens.
    wrong = tuple(
        msgspec.structs.replace(r, usage=Usage(fresh=0, write_short=r.prompt.tokens, write_long=0, read=0, output=1))
        for r in given.requests
        if r.prompt is not None
    )
    path = tmp_path / "wrong.jsonl"
    write([msgspec.structs.replace(given, requests=wrong)], path)
    assert main(["compare", str(path)]) == ExitCode.FINDINGS
    out = capsys.readouterr().out
    reason = "No money is named: the rules foretell 64.8 % of the reported tokens, less than 90 %."
    assert reason in " ".join(out.split())
    assert "$" not in out
    assert main(["compare", str(path), "--json"]) == ExitCode.FINDINGS
    assert {p["saving"] for p in json.loads(capsys.readouterr().out)["policies"]} == {None}


def test_a_hostile_log(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    path = claude_code_log(tmp_path, "s\x1b[2J.jsonl", "claude-opus-4-5")
    # A third of its tokens was lost for no reason that shows: no money is named.
    assert main(["compare", str(path), "--all", "--combine"]) == ExitCode.FINDINGS
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "came without a body" in out
    assert all(display_width(line) <= 60 for line in out.splitlines())


@pytest.mark.parametrize("content", ["", "{}\n", "hello\n"])
def test_no_log(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(content)
    assert main(["compare", str(path)]) == ExitCode.UNREADABLE
    assert capsys.readouterr().err.count("\n") == 1


def test_policies_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines() if line and line[0] != " "][:-1] == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_policy_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", name]) == ExitCode.OK
    out = capsys.readouterr().out
    assert out.startswith(name + "\n")
    for title in ("Condition", "What the model is shown", "How: Claude Code", "How: Pi", "How: Own code"):
        assert title in out


def test_policies_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "--json"]) == ExitCode.OK
    assert [p["name"] for p in json.loads(capsys.readouterr().out)["policies"]] == list(NAMES)
    assert main(["policies", "nothing"]) == ExitCode.USAGE


def test_savings_beside_the_fixes_of_a_replay(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", SAMPLE, "--json", "--savings", "--rows", "misses"]) == ExitCode.OK
    fixes = {row["id"]: row["verdict"]["fix"] for row in json.loads(capsys.readouterr().out)["rows"]}
    # 37,957.5 tokens at $5 a million, without the one token of output of the refresh: $0.1897625.
    assert fixes["r07"].endswith("Policy keep-alive, for this row alone, would have saved $0.1898 over the session.")
    assert main(["replay", SAMPLE, "--json", "--rows", "misses"]) == ExitCode.OK
    assert "would have saved" not in capsys.readouterr().out


def test_logs_that_were_read_and_cannot_be_simulated_say_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = atlas_session()
    bare = tuple(msgspec.structs.replace(r, prompt=None, usage=Usage(output=1)) for r in given.requests)
    path = tmp_path / "bare.jsonl"
    write([msgspec.structs.replace(given, requests=bare, completeness="usage")], path)
    assert main(["compare", str(path)]) == ExitCode.FINDINGS
    out = capsys.readouterr().out
    assert "No money is named: no session can be simulated" in out
    assert "Sessions left out" in out
    assert main(["compare", str(path), "--json"]) == ExitCode.FINDINGS
    assert json.loads(capsys.readouterr().out)["left_out"]
    assert main(["compare", str(path), "--csv"]) == ExitCode.FINDINGS
    assert "no money is named" in capsys.readouterr().err
