"""Providers that keep whole units: what is stored, what is found, for how long. Sizes are small multiples of 128."""

import msgspec
import pytest

from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.unit_cache import UnitProvider
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Lane, Request, Session, Usage
from agentsim.diagnose import diagnose
from agentsim.rules.providers import rules_for
from agentsim.traces.format_registry import read

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


def talk(number: int, at: int, *sizes: int, names: str = "") -> Request:
    """A request whose blocks are the user's and the assistant's in turn, of so many tokens."""
    blocks = [
        Block(
            section="messages",
            kind="text",
            digest=f"{place} {size} {names[place : place + 1]}".ljust(16).encode(),
            role="assistant" if place % 2 else "user",
            tokens=size,
        )
        for place, size in enumerate(sizes)
    ]
    return msgspec.structs.replace(request(number, at), prompt=Prompt.of(blocks))


def test_a_conversation_reads_the_reply_too_once_it_came_to_its_end():
    first = talk(1, 0, 6_102)
    # 6,102 + 110 are 48 units of 128 and a rest; 6,102 alone are 47.
    assert reads(first, talk(2, 5, 6_102, 110, 83)) == [0, 6_144]
    assert reads(first, talk(2, 4, 6_102, 110, 83)) == [0, 6_016]
    # Another reply than the first one that came back was never made: only the input is found.
    assert reads(first, talk(2, 5, 6_102, 110, 83), talk(3, 10, 6_102, 250, 83)) == [0, 6_144, 6_016]
    # Asked twice, there are two replies.
    again = talk(2, 10, 6_102)
    assert reads(first, again, talk(3, 20, 6_102, 110, 83), talk(4, 30, 6_102, 250, 83)) == [0, 6_016, 6_144, 6_272]


def test_a_conversation_as_deepseek_counted_it(shared_data):
    for session in read([str(shared_data / "deepseek-harness")]):
        sizes: list[int] = []
        requests, counted = [], []
        for number, one in enumerate(session.requests):
            assert one.usage is not None
            sizes.append((one.usage.total_input or 0) - sum(sizes))  # what came since the reply
            requests.append(talk(number, 100 * number, *sizes))
            sizes.append(one.usage.output or 0)
            counted.append(one.usage.read)
        found = reads(*requests)
        assert found[0] == counted[0] == 0
        differ = [(ours, theirs) for ours, theirs in zip(found, counted, strict=True) if ours != theirs]
        # In one of 15 requests the provider read the input only, not the reply to it.
        assert differ in ([], [(9_472, 9_216)])
        assert len(requests) in (5, 12)


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
        foreseen = provider.look_up(one, one.start or 0).read
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
