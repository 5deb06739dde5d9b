"""The automatic cache: the longest prefix seen before, in whole multiples of a quantum."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.cache.longest_prefix_cache import LongestPrefixProvider
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request, Usage
from agentsim.rules.providers import rules_for

RULES = rules_for("openai", "gpt-5.1", None)


def prompt(*sizes: tuple[str, int]) -> Prompt:
    """Blocks by name and size."""
    return Prompt.of(
        Block(
            section="messages", kind="text", role="user", digest=name.encode().ljust(16, b"."), tokens=size, message=n
        )
        for n, (name, size) in enumerate(sizes)
    )


def request(number: int, asked: Prompt, **more: object) -> Request:
    fields: dict[str, object] = {"model": "gpt-5.1", "provider": "openai", "lane": "main", "start": None} | more
    return Request(id=f"r{number}", prompt=asked, **fields)  # type: ignore[arg-type]


def read(provider: LongestPrefixProvider, number: int, asked: Prompt, now: int, **more: object) -> int:
    served = provider.serve(request(number, asked, start=now, first_token=now, **more), now)
    assert served.usage.read is not None
    assert served.usage.fresh == asked.tokens - served.usage.read
    assert served.usage.write is None, "writing has no price and no counter"
    return served.usage.read


@pytest.mark.parametrize(("tokens", "found"), [(1023, 0), (1024, 1024), (1151, 1024), (1152, 1152), (11_100, 11_008)])
def test_reads_are_multiples_of_128_from_1024_on(tokens: int, found: int) -> None:
    provider = LongestPrefixProvider()
    head = ("head", tokens)
    assert read(provider, 1, prompt(head, ("a", 5)), 0) == 0
    assert read(provider, 2, prompt(head, ("b", 5)), SECOND) == found


def test_any_longer_prefix_is_found_and_a_change_in_front_loses_all() -> None:
    provider = LongestPrefixProvider()
    turns = [("head", 2000), ("one", 500), ("two", 500), ("three", 500)]
    assert [read(provider, n, prompt(*turns[: n + 1]), n * SECOND) for n in range(4)] == [
        0,
        2000 // 128 * 128,
        2500 // 128 * 128,
        3000 // 128 * 128,
    ]
    assert read(provider, 5, prompt(("other", 2000), *turns[1:]), 5 * SECOND) == 0


def test_a_prefix_lives_from_its_last_use() -> None:
    provider = LongestPrefixProvider()
    life = RULES.ttl_short * SECOND
    short, long = prompt(("head", 2000)), prompt(("head", 2000), ("more", 2000))
    read(provider, 1, short, 0)
    assert read(provider, 2, long, life) == 1920, "at the very end of its life"
    assert read(provider, 3, short, 2 * life) == 1920, "reading a longer one used it too"
    assert read(provider, 4, short, 3 * life + 1) == 0, "and now it is over"


def test_what_is_not_answered_yet_cannot_be_read() -> None:
    provider = LongestPrefixProvider()
    asked = prompt(("head", 2000))
    provider.serve(request(1, asked, start=0, first_token=2 * SECOND), 0)
    assert read(provider, 2, asked, SECOND) == 0
    assert read(provider, 3, asked, 2 * SECOND) == 1920


def test_models_and_settings_have_caches_of_their_own() -> None:
    provider = LongestPrefixProvider()
    asked = prompt(("head", 2000))
    read(provider, 1, asked, 0)
    assert read(provider, 2, asked, 1, model="gpt-5.2") == 0
    assert read(provider, 3, asked, 2, settings=(("effort", '"high"'),)) == 0
    assert read(provider, 4, asked, 3, settings=(("service_tier", '"flex"'),)) == 1920, "not in the key"


@pytest.mark.parametrize(
    ("retention", "gap", "found"),
    [(None, 601, 0), ("in_memory", 600, 1920), ("in_memory", 601, 0), ("24h", 86_400, 1920), ("24h", 86_401, 0)],
)
def test_a_request_may_choose_the_longer_retention_at_no_price(retention: str | None, gap: int, found: int) -> None:
    settings = () if retention is None else (("prompt_cache_retention", f'"{retention}"'),)
    provider, asked = LongestPrefixProvider(), prompt(("head", 2000))
    written = provider.serve(request(1, asked, start=0, first_token=0, settings=settings), 0).usage
    assert (written.fresh, written.write) == (2000, None)
    now = gap * 10**9
    assert provider.serve(request(2, asked, start=now, settings=settings), now).usage.read == found


@pytest.mark.parametrize(
    ("day", "retention", "gap", "found"),
    [
        ("2026-10-31", None, 601, 0),  # in memory, unless a request asks for more
        ("2026-11-02", None, 601, 1920),  # 24 hours, unless a request asks for less
        ("2026-11-02", None, 86_400, 1920),
        ("2026-11-02", None, 86_401, 0),
        ("2026-11-02", "in_memory", 601, 0),
    ],
)
def test_a_day_is_the_retention_of_those_who_ask_for_none_since_november(
    day: str, retention: str | None, gap: int, found: int
) -> None:
    settings = () if retention is None else (("prompt_cache_retention", f'"{retention}"'),)
    first = int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 10**9
    provider, asked = LongestPrefixProvider(), prompt(("head", 2000))
    provider.serve(request(1, asked, start=first, first_token=first, settings=settings), first)
    then = first + gap * 10**9
    assert provider.serve(request(2, asked, start=then, settings=settings), then).usage.read == found


def test_who_wrote_what_is_told() -> None:
    provider = LongestPrefixProvider()
    first = provider.serve(request(1, prompt(("head", 2000)), start=0, first_token=0), 0)
    second = provider.serve(request(2, prompt(("head", 2000), ("a", 9)), start=1, first_token=1), 1)
    assert (first.hit, first.hit_owner, first.written) == (0, None, (1,))
    assert (second.hit, second.hit_owner, second.written) == (1, "r1", (2,))


def test_other_rules_and_other_requests() -> None:
    with pytest.raises(ValueError, match="match by breakpoint"):
        LongestPrefixProvider().serve(request(1, prompt(("a", 1)), provider="anthropic"), 0)
    usage = Usage(fresh=3)
    bare = Request(id="r", model="gpt-5.1", provider="openai", lane="main", start=0, usage=usage)
    assert LongestPrefixProvider(RULES).serve(bare, 0).usage == usage
    provider = LongestPrefixProvider(RULES)
    provider.serve(request(1, prompt(("a", 1))), 5)
    with pytest.raises(ValueError, match="order"):
        provider.serve(request(2, prompt(("a", 1))), 4)


NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=6)


@given(st.lists(NAMES, min_size=1, max_size=12))
def test_it_reads_what_a_plain_comparison_with_all_earlier_prompts_finds(asked: list[list[str]]) -> None:
    provider = LongestPrefixProvider(RULES)
    seen: list[list[str]] = []
    for number, names in enumerate(asked):
        common = 0
        for before in seen:
            same = 0
            while same < min(len(before), len(names)) and before[same] == names[same]:
                same += 1
            common = max(common, same)
        seen.append(names)
        expected = common * 700 // 128 * 128 if common * 700 >= 1024 else 0
        assert read(provider, number, prompt(*((name, 700) for name in names)), number) == expected


def test_without_any_times_each_request_came_after_the_one_before_it():
    provider, asked = LongestPrefixProvider(), prompt(("head", 2000))
    timeless = [request(number, asked, start=None, first_token=None) for number in (1, 2)]
    assert [provider.serve(one, 0).usage.read for one in timeless] == [0, 1920]
