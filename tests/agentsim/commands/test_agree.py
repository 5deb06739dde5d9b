"""``agentsim agree``."""

import json
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.report.exits import ExitCode
from agentsim.trust.agreement import AgreedRow, LabelAgreement
from tests.agentsim.hostile import claude_code_log

WRONG = AgreedRow(
    session="s", request="r", reason="tools_changed", kind="miss", cause="AS201", grade="contradicted", lost=1
)


@pytest.fixture
def log(tmp_path: Path) -> str:
    claude_code_log(tmp_path, "one.jsonl", "one")
    (tmp_path / "other.jsonl").write_text("hello\n")
    return str(tmp_path)


def test_json_holds_the_matrix_and_the_problems(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agree", log, "--json"]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert sum(entry["count"] for entry in document["matrix"]) == document["labelled"] == len(document["rows"])
    assert {Path(problem["file"]).name for problem in document["problems"]} == {"one.jsonl", "other.jsonl"}


def test_a_contradiction_is_a_finding(
    log: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = LabelAgreement(
        labelled=1,
        matrix=((WRONG.reason, "AS201", WRONG.grade, 1),),
        rows=(WRONG,),
        exact=0,
        compatible=0,
        contradicted=1,
    )
    monkeypatch.setattr("agentsim.trust.agreement.agree", lambda _: found)
    assert main(["agree", log]) == ExitCode.FINDINGS
    assert "Contradicted" in capsys.readouterr().out


def test_real_logs_contradict_nothing(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agree", str(shared_data / "claude-code")]) == ExitCode.OK
