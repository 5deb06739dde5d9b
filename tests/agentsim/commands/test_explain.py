"""``agentsim explain``."""

import pytest

from agentsim.cli import main
from agentsim.diagnose.cause_registry import CAUSES
from agentsim.report.exits import ExitCode


def test_all_causes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == ExitCode.OK
    text = capsys.readouterr().out
    for code in CAUSES:
        assert f"  {code}  " in text


@pytest.mark.parametrize("code", ["AS301", "as301", "lookback-exceeded"])
def test_one_cause_by_its_code_or_name(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", code]) == ExitCode.OK
    text = capsys.readouterr().out
    assert text.startswith("AS301 ")
    assert " ".join(CAUSES["AS301"].fix.split()[:4]) in text


def test_an_unknown_code_gets_the_nearest_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "AS302x"]) == ExitCode.USAGE
    assert "did you mean AS302" in capsys.readouterr().err


def test_a_harness_gets_its_own_settings_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "AS201", "--harness", "pi"]) == ExitCode.OK
    text = capsys.readouterr().out
    assert "PI_CACHE_RETENTION=long" in text
    assert "promptCacheTtl" not in text


def test_a_harness_without_a_setting_against_a_cause_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "AS103", "--harness", "qwen-code"]) == ExitCode.OK
    assert "no setting against this is known" in " ".join(capsys.readouterr().out.split())


def test_an_unknown_harness_is_told_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "AS201", "--harness", "nothing"]) == ExitCode.USAGE
    assert "known are claude-code, codex" in capsys.readouterr().err
