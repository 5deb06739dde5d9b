"""Counters of any provider under any kind of log: what-ifs, or a plain sentence why not."""

from __future__ import annotations

import msgspec
import pytest

from agentsim.core.session import Session, Usage
from agentsim.rules.providers import rules_for
from agentsim.rules.providers.rules_library import load_rules, provider_names
from agentsim.whatif.comparison import CannotSimulate, compare, nothing_simulated
from tests.agentsim.whatif.policies.small import HEAD, MINUTE, block, request, session

INTERNAL = ("session_log", ".toml", "profile", "None", "Traceback")
"""What no person should be shown."""


def counted(provider: str, model: str, completeness: str, *, writes: bool = True) -> Session:
    """Three turns, of which no log keeps the prompts."""
    usages = [
        Usage(fresh=0, write_short=20_000, write_long=0, read=0, output=9),
        Usage(fresh=0, write_short=2_000, write_long=0, read=20_000, output=9),
        Usage(fresh=0, write_short=2_000, write_long=0, read=22_000, output=9),
    ]
    if not writes:
        usages = [
            Usage(fresh=usage.write, write_short=0, write_long=0, read=usage.read, output=usage.output)
            for usage in usages
        ]
    blocks = [*HEAD, block("task", 17_000)]
    rows = [
        msgspec.structs.replace(
            request(f"r{number}", number * MINUTE, blocks), provider=provider, model=model, prompt=None, usage=usage
        )
        for number, usage in enumerate(usages)
    ]
    return msgspec.structs.replace(session(*rows), completeness=completeness)


def models_of(provider: str) -> list[str]:
    """A model for each pattern in the provider's rules."""
    file = load_rules(provider)
    patterns = {
        pattern for options in file.figures.rules.values() for option in options for pattern in option.models or ()
    }
    return ["some-model", *sorted(pattern.replace("*", "x") for pattern in patterns)]


@pytest.mark.parametrize("provider", provider_names())
def test_every_provider_gives_what_ifs_or_a_plain_sentence(provider: str) -> None:
    for model in models_of(provider):
        for completeness in ("messages", "usage"):
            rules_for(provider, model, None, "session_log")
            try:
                comparison = compare(counted(provider, model, completeness))
            except CannotSimulate as error:
                comparison = nothing_simulated(error)
                assert comparison.left_out
            said = [comparison.withheld or "", *(left.reason for left in (*comparison.not_tried, *comparison.left_out))]
            assert comparison.outcomes or comparison.withheld
            assert not [(model, text, word) for text in said for word in INTERNAL if word in text]


def test_reads_that_nobody_wrote_are_no_world_to_live_in() -> None:
    with pytest.raises(CannotSimulate, match="never what was written"):
        compare(counted("anthropic", "claude-opus-4-8", "messages", writes=False))


def test_models_without_a_price_are_named() -> None:
    assert compare(counted("anthropic", "claude-nobody-9", "messages")).without_price == ("claude-nobody-9",)
    assert compare(counted("anthropic", "claude-opus-4-8", "messages")).without_price == ()
