"""What holds when: figures of rules and prices have one answer, and no unknown time reaches it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.cli import main
from agentsim.core.dates import DAY, start_of
from agentsim.rules.dated import Dated, matches, within
from agentsim.rules.prices.own_prices import OwnPrice, own_card
from agentsim.rules.prices.price_table import When
from agentsim.rules.prices.rate_card import RateCard
from agentsim.rules.providers import rules_for
from agentsim.rules.providers.rules_file_check import idle_patterns
from agentsim.rules.providers.rules_library import with_rules
from agentsim.rules.providers.rules_parsing import parse_rules

DAYS = st.dates(date(2020, 1, 1), date(2040, 1, 1))
ENDS = st.none() | DAYS
HEAD = """provider = "anthropic"
read_until = {read}

[[like]]
value = "anthropic"
source = "the bundled rules"
confidence = "high"
"""
LOOKBACK = """
[[lookback]]
value = {value}
{dates}
source = "a release note of some day"
confidence = "high"
"""


@given(DAYS, st.integers(0, DAY - 1), ENDS, ENDS)
def test_the_first_day_is_part_of_it_and_the_end_is_not(day: date, clock: int, since: date | None, until: date | None):
    expected = (since is None or since <= day) and (until is None or day < until)
    moment = start_of(day) + clock
    assert Dated(from_=since, until=until).holds("m", moment) == expected
    starts = [None if one is None else start_of(one) for one in (since, until)]
    assert within(moment, *starts) == expected
    assert When(since=starts[0], until=starts[1]).active(moment, timed=False) == expected


@given(DAYS, st.lists(st.tuples(ENDS, ENDS), max_size=4))
def test_rules_and_prices_agree_at_every_time_and_at_none(read: date, spans: list[tuple[date | None, date | None]]):
    spans = [(since, until) for since, until in spans if not (since and until and until <= since)]
    text, prices = HEAD.format(read=read), []
    for number, (since, until) in enumerate(spans):
        dates = "\n".join(f"{name} = {day}" for name, day in (("from", since), ("until", until)) if day)
        text += LOOKBACK.format(value=100 + number, dates=dates)
        card = RateCard(fresh=100 + number, output=0)
        prices.append(OwnPrice(card=card, from_=since, until=until, read_until=start_of(read)))
    moments = (None, *(start_of(day) for span in spans for day in span if day is not None))
    bundled = {when: rules_for("anthropic", "claude-opus-4-8", when).lookback for when in moments}
    with with_rules(parse_rules(text, "own.toml")):
        for when in moments:
            card_then = own_card(tuple(prices), "claude-opus-4-8", when)
            lookback = rules_for("anthropic", "claude-opus-4-8", when).lookback
            assert lookback == (bundled[when] if card_then is None else card_then.fresh)
        card_then = own_card(tuple(prices), "claude-opus-4-8", start_of(read))
        lookback = rules_for("anthropic", "claude-opus-4-8", None).lookback
        assert lookback == (bundled[None] if card_then is None else card_then.fresh)


def test_what_is_announced_for_tomorrow_is_shown_with_its_day_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tomorrow = datetime.now(UTC).date() + timedelta(1)
    own = tmp_path / "own.toml"
    own.write_text(HEAD.format(read="2026-11-20") + LOOKBACK.format(value=60, dates=f"from = {tomorrow}"))

    def shown(*at: str) -> list[str]:
        assert main(["rules", "show", "anthropic", "--rules", str(own), *at]) == 0
        line = next(one for one in capsys.readouterr().out.splitlines() if one.startswith("lookback "))
        return line.split()

    assert shown()[1] == "20"
    assert shown("--at", tomorrow.isoformat())[1] == "60"


@pytest.mark.parametrize(
    ("pattern", "model", "expected"),
    [
        ("Qwen3*", "Qwen3-Coder", True),
        ("qwen3*", "Qwen/Qwen3-Coder-480B", True),
        ("Qwen/Qwen3*", "Qwen/Qwen3-Coder-480B", True),
        ("claude-opus-4.5*", "anthropic/claude-opus-4.5", True),
        ("claude-opus-4-5*", "us.anthropic.claude-opus-4-5-20251101-v1:0", True),
        ("gpt-6*", "us.openai.gpt-6-astra", True),
        ("Qwen3", "Qwen3-Coder", False),
        ("gpt-[6-9]*", "gpt-5.4", False),
    ],
)
def test_patterns_match_as_they_are_written(pattern: str, model: str, expected: bool):
    assert matches(pattern, model) is expected


def test_a_pattern_that_names_no_known_model_is_told():
    models = 'models = ["GPT-6*", "gtp-6*"]'
    file = parse_rules(HEAD.format(read="2026-11-20") + LOOKBACK.format(value=60, dates=models), "own.toml")
    (problem,) = idle_patterns(file)
    assert "'gtp-6*'" in problem.reason
    assert problem.line == 9
