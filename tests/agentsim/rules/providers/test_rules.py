"""The rules file: what it says, that each figure tells its source, and that mistakes in it are named."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from importlib.resources import files

import pytest

from agentsim.core.file_problems import WrittenFileError
from agentsim.rules.providers import rules_for
from agentsim.rules.providers.rules_library import load_rules
from agentsim.rules.providers.rules_parsing import parse_rules


def at(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, 12, tzinfo=UTC).timestamp()) * 10**9


def test_a_time_that_counts_from_its_own_beginning_has_the_rules_of_now() -> None:
    now = rules_for("openai", "gpt-5.1", None)
    assert rules_for("openai", "gpt-5.1", 5 * 10**9) == now
    assert rules_for("openai", "gpt-5.1", at(2025, 12, 1)) != now  # what one gets unasked changed since


@pytest.mark.parametrize(
    ("model", "minimum"),
    [
        ("claude-opus-5", 512),
        ("claude-fable-5", 512),
        ("claude-opus-5-5", 512),
        ("claude-fable-5-1", 512),
        ("claude-opus-4-8", 1024),
        ("claude-sonnet-5", 1024),
        ("claude-sonnet-4-6", 1024),
        ("claude-sonnet-4-5-20250929", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-opus-4-6", 4096),
        ("claude-opus-4-5-20251101", 4096),
        ("claude-haiku-4-5-20251001", 4096),
        ("claude-3-5-haiku-20241022", 2048),
    ],
)
def test_rule_of_thumb_5_the_minimum_is_not_monotonic_in_the_version(model, minimum):
    assert rules_for("anthropic", model, None).minimum == minimum


@pytest.mark.parametrize(
    "name", ["anthropic/claude-opus-4.5", "us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5[1m]"]
)
def test_a_model_keeps_its_rules_behind_a_cloud_or_a_gateway(name):
    assert rules_for("openrouter", name, None).minimum == 4096


def test_the_figures_of_the_default_rules():
    rules = rules_for("anthropic", "claude-opus-4-8", None)
    assert rules.order == ("tools", "system", "messages")
    assert (rules.matching, rules.lookback, rules.lookback_counts) == ("breakpoint", 20, "block")
    assert (rules.breakpoints, rules.on_excess) == (4, "reject")
    assert (rules.ttl_short, rules.ttl_long, rules.ttl_clock, rules.ttl_grace) == (300, 3600, "request_start", 0)
    assert (rules.refresh, rules.readable, rules.readable_doubt) == ("ancestors", "first_token", 0)


def test_what_each_setting_makes_unreadable():
    keyed = {rule.name: rule.sections for rule in rules_for("anthropic", "claude-opus-4-8", None).settings}
    assert keyed["tool_choice"] == keyed["images_present"] == keyed["thinking"] == keyed["effort"] == ("messages",)
    assert keyed["citations"] == keyed["speed"] == ("system", "messages")
    later = {rule.name: rule.sections for rule in rules_for("anthropic", "claude-opus-5-5", None).settings}
    assert later["effort"] == ("tools", "system", "messages")
    assert later["tool_choice"] == ("messages",)


def test_c33_the_delay_after_a_write_is_dated():
    assert rules_for("anthropic", "claude-sonnet-4-5", at(2026, 4, 26)).readable_doubt == 2
    assert rules_for("anthropic", "claude-sonnet-4-5", at(2026, 8, 4)).readable_doubt == 2
    assert rules_for("anthropic", "claude-sonnet-4-5", at(2026, 8, 5)).readable_doubt == 0
    assert rules_for("anthropic", "claude-sonnet-4-5", None).readable_doubt == 0


def test_the_profile_of_session_logs_counts_from_the_end_and_leaves_an_edge():
    rules = rules_for("anthropic", "claude-sonnet-5", None, "session_log")
    assert (rules.ttl_clock, rules.ttl_grace, rules.ttl_grace_long) == ("response_end", 30, 50)


def test_every_figure_tells_its_source_and_how_sure_it_is():
    rules = rules_for("anthropic", "claude-fable-5-1", None)
    named = {figure.rule for figure in rules.figures}
    assert {"lookback", "minimum", "ttl_clock", "settings.effort", "shape_in_key"} <= named
    assert all(figure.source and figure.confidence in ("high", "medium", "low") for figure in rules.figures)
    clock = rules.figure("ttl_clock")
    assert clock is not None
    assert [value for value, _ in clock.alternatives] == ["response_end"]
    assert rules.figure("nothing") is None


def test_a_rule_can_be_replaced_and_a_wrong_name_or_value_cannot():
    rules = rules_for("anthropic", "claude-opus-4-8", None)
    changed = rules.with_(lookback=50, ttl_clock="response_end", settings={"tool_choice": ()})
    assert (changed.lookback, changed.ttl_clock, rules.lookback) == (50, "response_end", 20)
    assert {rule.name: rule.sections for rule in changed.settings}["tool_choice"] == ()
    with pytest.raises(TypeError, match="did you mean lookback"):
        rules.with_(look_back=3)
    with pytest.raises(TypeError, match="cannot have this value"):
        rules.with_(ttl_clock="noon")


def test_an_unknown_provider_or_profile_is_named():
    with pytest.raises(WrittenFileError, match="'acme'"):
        rules_for("acme", "model-1", None)
    with pytest.raises(WrittenFileError, match=r"'acme/\.\./\.\.'"):
        load_rules("acme/../..")
    with pytest.raises(WrittenFileError, match="'seance_log'"):
        rules_for("anthropic", "claude-opus-5", None, "seance_log")


SMALL = """provider = "acme"
read_until = 2026-11-20

[[matching]]
value = "breakpoint"
source = "a page of the provider's documentation"
confidence = "high"

[[lookback]]
value = 20
source = "a page of the provider's documentation"
confidence = "high"
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("value = 20", "value = '20'", "rules.toml:10: lookback.0.value: expected `int`, got `str`"),
        ("value = 20", "value = true", "rules.toml:10: lookback.0.value: expected `int`, got `bool`"),
        ("value = 20", "value = -20", "rules.toml:10: lookback.0.value: expected `int` >= 0"),
        ("[[lookback]]", "[[look_back]]", "rules.toml:9: look_back: no rule is called so"),
        ("[[lookback]]", "[lookback]", "rules.toml:9: lookback: not a list of tables"),
        (
            'confidence = "high"',
            'confidence = "sure"',
            "rules.toml:7: matching.0.confidence: must be one of high, ",
        ),
        ('confidence = "high"', 'certainty = "high"', "rules.toml:7: matching.0.certainty: no such key"),
        ('confidence = "high"', "", "rules.toml:4: matching.0.confidence: this key is missing"),
        ("[[lookback]]", "[[lookback]", "rules.toml:9: not TOML: "),
        ("read_until = 2026-11-20", "", "rules.toml: read_until: not a day"),
        (
            "value = 20",
            "value = 20\nuntil = 2026-01-01\nfrom = 2026-01-01",
            "rules.toml:11: lookback.0.until: not after",
        ),
        ("a page of the provider's documentation", "me", "rules.toml:6: matching.0.source: says nothing"),
        ('provider = "acme"', 'provider = "../acme"', "rules.toml:1: provider: not a name"),
    ],
)
def test_a_mistake_in_a_rules_file_is_named_with_its_line_and_key(old, new, message):
    with pytest.raises(WrittenFileError) as caught:
        parse_rules(SMALL.replace(old, new, 1), "rules.toml")
    assert any(str(problem).startswith(message) for problem in caught.value.problems)
    assert str(caught.value) == str(caught.value.problems[0])
    assert all(problem.remedy for problem in caught.value.problems)


def test_a_wrong_name_of_a_rule_gets_a_near_one_as_remedy():
    with pytest.raises(WrittenFileError) as caught:
        parse_rules(SMALL.replace("[[lookback]]", "[[look_back]]"), "rules.toml")
    assert caught.value.problems[0].remedy == "did you mean lookback?"


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file():
    text = files("agentsim.rules.providers").joinpath("anthropic.toml").read_text("utf-8")
    text = text.replace("value = 20", "value = 20.5", 1).replace('value = "block"', 'value = "blok"', 1)
    with pytest.raises(WrittenFileError) as caught:
        parse_rules(text + '[[minimum]]\nvalue = 1\nsource = "me"\nconfidence = "low"\n', "rules.toml")
    assert [problem.key for problem in caught.value.problems] == [
        "lookback.0.value",
        "lookback_counts.0.value",
        "minimum.10.source",
    ]


def test_reading_rules_needs_no_pydantic():
    code = (
        "import sys; import agentsim.cache.modeled_provider, agentsim.rules.providers as p;"
        "p.rules_for('anthropic', 'claude-opus-5', None); assert 'pydantic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
