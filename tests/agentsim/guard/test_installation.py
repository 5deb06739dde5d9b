"""Installing and undoing: everything else in the settings stays as it is, to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentsim.cli import main
from agentsim.guard.installation import EVENTS, apply, command_line, installed, plan_install, plan_undo
from agentsim.guard.settings_text import BadSettings, parse, plain_value
from agentsim.report.exits import ExitCode

COMMENTED = """\
// my settings
{
\t"model": "opus", /* why not */
\t"hooks": {
\t\t"Stop": [
\t\t\t{"hooks": [{"type": "command", "command": "say done"}]} // keep
\t\t],
\t\t"UserPromptSubmit": [{"matcher": "", "hooks": [{"type": "command", "command": "log-prompt"}]}],
\t},
\t// the old line
\t"statusLine": {"type": "command", "command": "my-line --short 'a b'", "padding": 0},
\t"env": {"A": "1"},
}
"""


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSIM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("AGENTSIM_GUARD", str(tmp_path / "guard.toml"))


def value(text: str) -> Any:
    return plain_value(text, parse(text))


def install(file: Path, **how: bool) -> str:
    apply(plan_install(str(file), **how))
    return file.read_text()


def test_comments_other_hooks_and_other_settings_stay(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(COMMENTED)
    text = install(file)
    for line in COMMENTED.splitlines():
        if "statusLine" not in line and "UserPromptSubmit" not in line:
            assert line in text
    found, before = value(text), value(COMMENTED)
    assert found["model"] == "opus"
    assert found["env"] == {"A": "1"}
    assert found["hooks"]["Stop"] == before["hooks"]["Stop"]
    assert found["hooks"]["UserPromptSubmit"][0] == before["hooks"]["UserPromptSubmit"][0]
    assert found["statusLine"]["padding"] == 0
    assert found["statusLine"]["command"] == command_line("statusline") + """ --wrap 'my-line --short '"'"'a b'"'"''"""
    assert installed(str(file)) == (True, ("UserPromptSubmit", *EVENTS[1:]))


def test_twice_is_once_and_undo_is_to_the_byte(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(COMMENTED)
    once = install(file)
    assert not plan_install(str(file)).changes
    assert install(file) == once
    apply(plan_undo(str(file)), undo=True)
    assert file.read_text() == COMMENTED


def test_an_undo_after_other_edits_takes_out_ours_alone(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(COMMENTED)
    text = install(file).replace('"opus"', '"sonnet"')
    file.write_text(text)
    apply(plan_undo(str(file)), undo=True)
    assert value(file.read_text()) == {**value(COMMENTED), "model": "sonnet"}
    assert "// the old line" in file.read_text()
    assert installed(str(file)) == (False, ())


def test_a_file_that_was_not_there_is_gone_again(tmp_path: Path) -> None:
    file = tmp_path / ".claude" / "settings.json"
    text = install(file)
    assert set(value(text)["hooks"]) == set(EVENTS)
    apply(plan_undo(str(file)), undo=True)
    assert not file.exists()


def test_a_budget_hooks_tools_too(tmp_path: Path) -> None:
    text = install(tmp_path / "settings.json", budget=True)
    assert set(value(text)["hooks"]) == {*EVENTS, "PostToolUse"}


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    (tmp_path / "settings.json").symlink_to(real)
    install(tmp_path / "settings.json")
    assert (tmp_path / "settings.json").is_symlink()
    assert "statusLine" in real.read_text()


@pytest.mark.parametrize(
    "text", ["[]", '{"a": }', '{"a": 1', "{} x", '{"hooks": []}', '{"hooks": {"PreCompact": 3}}', "/*"]
)
def test_what_is_no_settings_file_is_left_alone(text: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(text)
    with pytest.raises(BadSettings):
        plan_install(str(file))
    assert file.read_text() == text


PLAIN = st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=6)
VALUES = st.lists(PLAIN, max_size=3) | st.dictionaries(st.text(max_size=5), st.lists(PLAIN, max_size=2), max_size=3)
COMMANDS = st.sampled_from(["x", "agentsim-like hook", "a 'b"])
ENTRIES = st.fixed_dictionaries({"type": st.just("command"), "command": COMMANDS})
GROUPS = st.lists(st.fixed_dictionaries({"hooks": st.lists(ENTRIES, max_size=2)}), max_size=2)
HOOKS = st.dictionaries(st.sampled_from([*EVENTS, "Stop"]), GROUPS, max_size=3)
SETTINGS = st.fixed_dictionaries(
    {}, optional={"hooks": HOOKS, "statusLine": ENTRIES, "model": PLAIN, "permissions": VALUES, "zz": VALUES}
)


def pruned(found: dict[str, Any]) -> dict[str, Any]:
    """Without events that hold nothing, and without hooks where no event does: they mean the same."""
    hooks = {event: groups for event, groups in found.get("hooks", {}).items() if groups}
    return {**{key: part for key, part in found.items() if key != "hooks"}, **({"hooks": hooks} if hooks else {})}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=SETTINGS, indent=st.sampled_from([None, 2, "\t"]), touched=st.booleans())
def test_any_settings_survive(found: dict[str, Any], indent: Any, touched: bool, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    text = json.dumps(found, indent=indent, ensure_ascii=False)
    file.write_text(text, "utf-8")
    after = value(install(file))
    assert {k: v for k, v in after.items() if k not in ("hooks", "statusLine")} == {
        k: v for k, v in found.items() if k not in ("hooks", "statusLine")
    }
    for event, groups in found.get("hooks", {}).items():
        assert after["hooks"][event][: len(groups)] == groups
    assert installed(str(file))[0]
    assert not plan_install(str(file)).changes
    if touched:
        file.write_text(file.read_text("utf-8") + "\n", "utf-8")
    apply(plan_undo(str(file)), undo=True)
    if touched:
        assert pruned(value(file.read_text("utf-8"))) == pruned(found)
    else:
        assert file.read_text("utf-8") == text


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"model": "opus"}\n')
    assert main(["guard", "install"]) == ExitCode.USAGE, "nobody is there to be asked"
    shown = capsys.readouterr()
    assert '+  "statusLine": {' in shown.out
    assert "give --yes" in shown.err
    assert file.read_text() == '{"model": "opus"}\n'
    assert main(["guard", "install", "--yes"]) == ExitCode.OK
    assert main(["guard", "install", "--yes"]) == ExitCode.OK
    assert "installed already" in capsys.readouterr().out
    assert main(["guard", "status"]) == ExitCode.OK
    page = capsys.readouterr().out
    assert f"user    {file}: status line and hooks before UserPromptSubmit" in " ".join(page.split(" "))
    assert "warn: from $0.50 on" in page
    assert main(["guard", "undo", "--yes"]) == ExitCode.OK
    assert file.read_text() == '{"model": "opus"}\n'
    assert main(["guard", "undo", "--yes"]) == ExitCode.OK
    assert "nothing of agentsim is in it" in " ".join(capsys.readouterr().out.split())
    assert main(["guard", "install", "--scope", "local", "--yes"]) == ExitCode.OK
    assert (tmp_path / ".claude" / "settings.local.json").exists()


def test_settings_that_cannot_be_read_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{\n"a": 1\n"b": 2}')
    assert main(["guard", "install", "--scope", "project", "--yes"]) == ExitCode.UNREADABLE
    assert "line 3: neither a comma nor a }" in capsys.readouterr().err
