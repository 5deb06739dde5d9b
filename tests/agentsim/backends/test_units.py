"""Providers that keep whole units: what is stored, what is found, for how long. Sizes are small multiples of 64."""

import pytest

from agentsim.backends.modeled import ModeledProvider
from agentsim.backends.units import UnitProvider
from agentsim.diagnose import diagnose
from agentsim.prompt import Block, Prompt
from agentsim.providers import rules_for
from agentsim.session import Lane, Request, Session, Usage

SECOND = 10**9
DAY = 86_400


def request(number: int, at: int, *parts: str, model: str = "deepseek-flash") -> Request:
    """A request of blocks of 640 tokens each, answered after 2 s."""
    blocks = [
        Block(section="messages", kind="text", digest=part.ljust(16).encode(), role="user", tokens=640)
        for part in parts
    ]
    return Request(
        id=f"r{number}",
        lane="main",
        model=model,
        provider="deepseek",
        start=at * SECOND,
        first_token=(at + 2) * SECOND,
        end=(at + 5) * SECOND,
        prompt=Prompt.of(blocks),
        usage=Usage(output=10),
    )


def reads(*requests: Request) -> list[int | None]:
    provider = UnitProvider()
    return [provider.serve(one, one.start or 0).usage.read for one in requests]


def test_the_third_request_is_the_first_to_read_what_all_share():
    assert reads(request(1, 0, "A", "B"), request(2, 10, "A", "C"), request(3, 20, "A", "D")) == [0, 0, 640]


def test_a_conversation_that_grows_reads_its_last_input():
    assert reads(request(1, 0, "A"), request(2, 10, "A", "b", "C"), request(3, 20, "A", "b", "C", "d", "E")) == [
        0,
        640,
        1_920,
    ]


def test_a_unit_is_found_only_as_a_whole():
    # A+B+C is kept as a whole; A+B was never an end, nor a place where two requests parted.
    assert reads(request(1, 0, "A", "B", "C"), request(2, 10, "A", "B")) == [0, 0]
    # Now it was: it ends there.
    assert reads(request(1, 0, "A", "B", "C"), request(2, 10, "A", "B"), request(3, 20, "A", "B", "X")) == [0, 0, 1_280]


def test_the_same_again_is_read_once_the_first_answer_began():
    assert reads(request(1, 0, "A"), request(2, 1, "A"), request(3, 2, "A")) == [0, 0, 640]


def test_units_live_a_day_from_their_last_use():
    assert reads(request(1, 0, "A"), request(2, DAY, "A"), request(3, 2 * DAY, "A")) == [0, 640, 640]
    assert reads(request(1, 0, "A"), request(2, DAY + 1, "A")) == [0, 0]


def test_each_model_has_its_own():
    assert reads(request(1, 0, "A"), request(2, 10, "A", model="deepseek-v4-pro")) == [0, 0]


def test_hits_are_whole_multiples_and_short_prompts_are_not_kept():
    rules = rules_for("deepseek", "deepseek-flash", None)
    large = UnitProvider(rules.with_(quantum=1_000))
    one, two = request(1, 0, "A", "B"), request(2, 10, "A", "B", "C")
    assert large.serve(one, 0).written == (2,)
    assert large.serve(two, 10 * SECOND).usage.read == 1_000
    small = UnitProvider(rules.with_(minimum=641))
    assert small.serve(request(1, 0, "A"), 0).written == ()


def test_all_of_the_prompt_is_read_or_fresh_and_nothing_is_written():
    provider = UnitProvider()
    for one in (request(1, 0, "A", "B"), request(2, 10, "A", "C"), request(3, 20, "A", "D")):
        assert one.prompt is not None
        foreseen = provider.would_read(one, one.start or 0)
        served = provider.serve(one, one.start or 0)
        assert served.usage.read == foreseen
        assert (served.usage.read or 0) + (served.usage.fresh or 0) == one.prompt.tokens
        assert served.usage.write is None


def test_time_goes_forward():
    provider = UnitProvider()
    provider.serve(request(1, 10, "A"), 10 * SECOND)
    with pytest.raises(ValueError, match="order"):
        provider.serve(request(2, 9, "A"), 9 * SECOND)


def test_the_breakpoint_model_does_not_judge_units():
    one = request(1, 0, "A")
    for _ in range(2):  # also when it is asked again
        with pytest.raises(ValueError, match="does not match at breakpoints"):
            ModeledProvider().serve(one, 0)
    session = Session(id="x", format="x", completeness="full", lanes=(Lane(id="main", title="main"),), requests=(one,))
    assert diagnose(session).verdicts[0].kind == "unreported"
