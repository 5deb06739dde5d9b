"""What a user of a harness can set: one table, and who it is for."""

from __future__ import annotations

import json
import tomllib

import msgspec
import pytest

from agentsim.core.session import Event, Lane, Request, Session
from agentsim.core.verdict import Divergence, Verdict
from agentsim.diagnose.cause_registry import CAUSES
from agentsim.diagnose.harness_settings import (
    WITHOUT_PLACE,
    HarnessSetting,
    known_harness,
    known_harnesses,
    recipe_for,
    settings_for,
    settings_of,
    suspects_of,
)
from agentsim.diagnose.setting_diff import diff_of
from agentsim.whatif.policies import NAMES

ALL = [setting for harness in known_harnesses() for setting in settings_for(harness.name)]


@pytest.mark.parametrize("setting", ALL, ids=lambda one: f"{one.harness} {one.set or 'nothing'}")
def test_every_setting_bears_on_something_and_says_where_it_is_known_from(setting: HarnessSetting) -> None:
    assert setting.causes or setting.policies
    assert set(setting.causes) <= set(CAUSES)
    assert set(setting.policies) <= set(NAMES)
    assert setting.source
    assert bool(setting.set) == bool(setting.where)
    assert setting.effect.endswith(".")


def test_a_harness_is_known_by_the_names_that_logs_and_people_use() -> None:
    for name in ("claude-code", "Claude Code", "claude", "claude-code/2.1.9"):
        assert known_harness(name) is known_harness("claude-code") is not None
    assert known_harness("gemini") is known_harness("gemini-cli") is not None
    for unknown in (None, "", "something-else"):
        assert known_harness(unknown) is None
        assert settings_for(unknown) == ()


@pytest.mark.parametrize(
    ("version", "first"),
    [
        ("2.1.242", "ENABLE_PROMPT_CACHING_1H=1"),
        ("2.1.243", 'promptCacheTtl = "1h"'),
        ("2.1.332", 'promptCacheTtl = "1h"'),
        (None, 'promptCacheTtl = "1h"'),
    ],
)
def test_a_setting_that_a_version_does_not_have_yet_is_not_named(version: str | None, first: str) -> None:
    found = settings_for("claude-code", cause="AS201", version=version, provider="anthropic", purpose="main")
    assert found[0].set == first


def test_a_subagent_and_another_provider_get_their_own() -> None:
    subagent = settings_for("claude-code", cause="AS201", provider="anthropic", purpose="subagent")
    assert subagent[0].set == 'subagentPromptCacheTtl = "1h"'
    assert settings_for("claude-code", cause="AS201", provider="deepseek", purpose="main") == ()


def test_only_a_loss_gets_settings() -> None:
    request = Request(id="r", lane="main", model="claude-opus-4-6", start=0)
    lost = Verdict(request="r", kind="miss", cause="AS201")
    assert settings_of(lost, request, "claude-code")
    assert settings_of(msgspec.structs.replace(lost, kind="hit"), request, "claude-code") == ()
    assert settings_of(msgspec.structs.replace(lost, cause=None), request, "claude-code") == ()


def _session(*events: Event) -> Session:
    request = Request(id="r", lane="main", model="m", start=0)
    lane = Lane(id="main", title="")
    return Session(
        id="s", format="codex", completeness="usage", lanes=(lane,), requests=(request,), events=events, harness="codex"
    )


def test_a_loss_without_a_place_names_what_the_log_points_to() -> None:
    before = Event(kind="version_change", time=0, lane="main", before="r")
    earlier = Event(kind="resume", time=0, lane="main", before="other")
    verdict = Verdict(request="r", kind="miss", cause="AS902")
    (told,) = suspects_of(verdict, _session(before, earlier))
    assert "upgraded" in told
    assert suspects_of(verdict, _session(earlier)) == ()
    known = msgspec.structs.replace(verdict, place=Divergence(section="system"))
    assert suspects_of(known, _session(before)) == ()
    assert suspects_of(msgspec.structs.replace(verdict, cause="AS201"), _session(before)) == ()


@pytest.mark.parametrize("cause", sorted(WITHOUT_PLACE))
def test_every_known_harness_has_a_recipe_to_record_what_it_sends(cause: str) -> None:
    verdict = Verdict(request="r", kind="miss", cause=cause)
    for harness in known_harnesses():
        assert "agentsim replay" in (recipe_for(verdict, harness.name) or "")
    assert recipe_for(verdict, "something-else") is None
    assert recipe_for(msgspec.structs.replace(verdict, cause="AS201"), "codex") is None


@pytest.mark.parametrize("setting", ALL, ids=lambda one: f"{one.harness} {one.set or 'nothing'}")
def test_a_setting_is_a_change_that_its_file_takes(setting: HarnessSetting) -> None:
    """Lines of JSON and TOML can be read where they hold a value, and say what the words say."""
    lines = diff_of(setting)
    assert bool(lines) == bool(setting.set)
    if not lines:
        return
    place, added = lines
    assert place in setting.where or place in ("environment", "command line")
    text = added.removeprefix("+ ").replace("…", "0")
    if place.endswith(".json"):
        assert json.loads("{" + text + "}")
    elif place.endswith(".toml"):
        assert tomllib.loads(text)
    for word in setting.set.replace("=", " ").replace(".", " ").split():
        assert word.strip('"') in added


def test_the_line_to_add() -> None:
    hour, *_ = settings_for("claude-code", policy="ttl-1h")
    assert diff_of(hour) == ("~/.claude/settings.json", '+ "env": {"ENABLE_PROMPT_CACHING_1H": "1"}')
    (main, *_) = settings_for("claude-code", cause="AS201")
    assert diff_of(main) == ("~/.claude/settings.json", '+ "promptCacheTtl": "1h"')
    (qwen, *_) = settings_for("qwen-code", policy="ttl-1h")
    assert diff_of(qwen)[1] == '+ "model": {"generationConfig": {"cacheRetention": "1h"}}'
    (codex, *_) = settings_for("codex", policy="compact-earlier")
    assert diff_of(codex) == ("~/.codex/config.toml", "+ model_auto_compact_token_limit = …")
    (pi, *_) = settings_for("pi", policy="ttl-1h")
    assert diff_of(pi) == ("environment", "+ export PI_CACHE_RETENTION=long")
