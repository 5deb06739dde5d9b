"""OpenAI's contract from gpt-5.6 on: breakpoints set unasked, explicit ones, and what is found by them."""

from __future__ import annotations

import msgspec
import pytest

from agentsim.cache import CacheBackend, Served
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.routed_backend import RoutedProvider
from agentsim.core.prompt import Block, Breakpoint, Prompt
from agentsim.core.session import Request, Usage
from agentsim.rules.prices import cost, rate_card
from agentsim.rules.providers import rules_for
from tests.agentsim.prompts import block, request

MODEL = "gpt-5.6-sol"
KEY = {"prompt_cache_key": '"chat"'}
EXPLICIT = {**KEY, "prompt_cache_mode": '"explicit"'}
HALF_HOUR, HALF_DAY = 30 * 60, 12 * 3600


def sent(name: str, at: int, body: Prompt, *, model: str = MODEL, **settings: str) -> Request:
    """A request to OpenAI, with a cache key."""
    made = request(name, at, body, model=model, settings={**KEY, **settings})
    return msgspec.structs.replace(made, provider="openai")


def body(*blocks: Block, marks: tuple[int | tuple[int, int], ...] = ()) -> Prompt:
    """Blocks, each a message of its own, with explicit breakpoints (30 minutes unless told)."""
    numbered = [msgspec.structs.replace(one, message=number) for number, one in enumerate(blocks)]
    return Prompt.of(
        numbered, [Breakpoint(*mark) if isinstance(mark, tuple) else Breakpoint(mark, HALF_HOUR) for mark in marks]
    )


def serve(backend: CacheBackend, *requests: Request) -> list[tuple[int | None, int | None, int | None]]:
    """Fresh, read and written of each request."""
    found = []
    for one in requests:
        assert one.start is not None
        usage = backend.serve(one, one.start).usage
        found.append((usage.fresh, usage.read, usage.write))
    return found


def said(name: str, tokens: int) -> Block:
    return block(name, tokens, role="assistant")


SYSTEM = block("be brief", 3_000, "system", role="developer")


def test_i14_each_turn_reads_up_to_the_last_one_and_writes_what_came_since() -> None:
    # Four turns of a public test of gpt-5.6-sol (2026-09-05): input 2, 2, 2, 2; read 0, 3679, 3700, 3722; written 3679,
    # 21, 22, 22; output 5, 6, 6, 6. The write of a turn is the reply before it and the new message:
    # 21 = 5 + 16, 22 = 6 + 16. 2 tokens of each prompt stand behind the last message.
    turns = [SYSTEM, block("q1", 679)]
    requests = [sent("1", 0, body(*turns))]
    for number, reply in ((2, 5), (3, 6), (4, 6)):
        turns += [said(f"a{number}", reply), block(f"q{number}", 16)]
        requests.append(sent(str(number), 20 * number, body(*turns)))
    expected = [(2, 0, 3_679), (2, 3_679, 21), (2, 3_700, 22), (2, 3_722, 22)]
    assert serve(ModeledProvider(), *requests) == expected
    assert [sum(row) for row in expected] == [3_681, 3_702, 3_724, 3_746], "what the prompts have in all"
    assert 3_679 + 21 == 3_700
    assert 3_700 + 22 == 3_722


def test_i14_at_the_prices_of_the_model() -> None:
    # gpt-5.6-sol: $4 in, $0.40 read, $5 written, $20 out per million. Cold: 2x4 + 3679x5 + 5x20 = 18,503 millionths;
    # warm: 2x4 + 3679x0.4 + 21x5 + 6x20 = 8 + 1,471.6 + 105 + 120 = 1,704.6.
    card = rate_card("openai", MODEL, None, 3_702)
    assert card is not None
    cold = cost(card, Usage(fresh=2, read=0, write_short=3_679, output=5))
    warm = cost(card, Usage(fresh=2, read=3_679, write_short=21, output=6))
    assert (cold, warm) == (18_503_000_000, 1_704_600_000)


def test_a_contract_for_each_model_by_the_same_router() -> None:
    turns = (SYSTEM, block("q1", 679))
    more = (*turns, said("a1", 5), block("q2", 16))
    old = [sent("o1", 0, body(*turns), model="gpt-5.5"), sent("o2", 10, body(*more), model="gpt-5.5")]
    new = [sent("n1", 20, body(*turns)), sent("n2", 30, body(*more))]
    # Before: 3,679 = 28 x 128 + 95, of which 3,584 are read, and nothing is written.
    assert serve(RoutedProvider(), *old, *new) == [(3_679, 0, None), (116, 3_584, None), (2, 0, 3_679), (2, 3_679, 21)]


@pytest.mark.parametrize(
    ("model", "matching"),
    [
        ("gpt-4o", "longest_prefix"),
        ("gpt-5.1-codex", "longest_prefix"),
        ("gpt-5.5-pro", "longest_prefix"),
        ("gpt-5.6-luna", "breakpoint"),
        ("gpt-6-astra", "breakpoint"),
        ("gpt-6.2-sol", "breakpoint"),
        ("gpt-7", "breakpoint"),
    ],
)
def test_which_models_have_breakpoints(model: str, matching: str) -> None:
    assert rules_for("openai", model, None).matching == matching


def test_nothing_is_read_of_a_prefix_that_only_happens_to_be_equal() -> None:
    # Both share 3,000 tokens of system text. No breakpoint stood there: the older contract would read 2,944 of them.
    one, two = body(SYSTEM, block("q1", 500)), body(SYSTEM, block("q2", 500))
    assert serve(ModeledProvider(), sent("1", 0, one), sent("2", 10, two))[1] == (2, 0, 3_500)
    marked = [body(SYSTEM, block(name, 500), marks=(0,)) for name in ("q3", "q4")]
    assert serve(ModeledProvider(), sent("3", 20, marked[0]), sent("4", 30, marked[1]))[1] == (2, 3_000, 500)


def test_explicit_mode_keeps_nothing_unasked() -> None:
    backend = ModeledProvider()
    plain, marked = body(SYSTEM, block("q1", 500)), body(SYSTEM, block("q1", 500), marks=(0,))
    assert serve(backend, sent("1", 0, plain, **EXPLICIT), sent("2", 10, plain, **EXPLICIT)) == [
        (3_502, 0, 0),
        (3_502, 0, 0),
    ], "without a breakpoint it neither reads nor writes"
    assert serve(backend, sent("3", 20, marked, **EXPLICIT), sent("4", 30, marked, **EXPLICIT)) == [
        (502, 0, 3_000),
        (502, 3_000, 0),
    ]


def lengths(served: Served) -> tuple[int, ...]:
    return served.written


def test_the_latest_three_or_four_explicit_breakpoints_are_written() -> None:
    blocks = (SYSTEM, *(block(f"m{number}", 500) for number in range(5)))
    marks = (0, 1, 2, 3, 4)
    one = sent("1", 0, body(*blocks, marks=marks))
    assert one.start is not None
    assert lengths(ModeledProvider().serve(one, one.start)) == (3, 4, 5, 6), "marks on 2, 3, 4, and the last message"
    two = sent("2", 0, body(*blocks, marks=marks), **EXPLICIT)
    assert lengths(ModeledProvider().serve(two, one.start)) == (2, 3, 4, 5), "marks on 1, 2, 3, 4"


@pytest.mark.parametrize(("turns", "read"), [(80, 3_000), (81, 0)])
def test_the_latest_eighty_breakpoints_are_looked_up(turns: int, read: int) -> None:
    # One entry, at the system text. The second request carries so many breakpoints, this one the first of them.
    head = sent("1", 0, body(SYSTEM, block("q", 100), marks=(0,)), **EXPLICIT)
    later = (SYSTEM, *(block(f"m{number}", 10) for number in range(turns - 1)))
    many = sent("2", 10, body(*later, marks=tuple(range(turns))), **EXPLICIT)
    assert serve(ModeledProvider(), head, many)[1][1] == read
    assert serve(ModeledProvider(rules_for("openai", MODEL, None).with_(lookback=81)), head, many)[1][1] == 3_000


def test_no_distance_in_blocks_limits_what_is_found() -> None:
    # A turn of 200 calls and 200 results: at a provider that looks back 20 blocks nothing would be found.
    turns = (SYSTEM, block("q1", 679))
    calls = [block(f"call{number}", 5, kind="tool_use", role="assistant") for number in range(200)]
    results = [block(f"result{number}", 5, kind="tool_result", role="tool") for number in range(200)]
    grown = sent("2", 10, body(*turns, *calls, *results))
    assert serve(ModeledProvider(), sent("1", 0, body(*turns)), grown)[1] == (2, 3_679, 2_000)


def test_with_the_other_reading_only_own_breakpoints_are_looked_up() -> None:
    rules = rules_for("openai", MODEL, None).with_(lookback_counts="own")
    turns = (SYSTEM, block("q1", 679))
    first, second = body(*turns, marks=(0,)), body(*turns, said("a1", 5), block("q2", 16), marks=(0,))
    assert serve(ModeledProvider(rules), sent("1", 0, first), sent("2", 10, second))[1] == (2, 3_000, 700)


def test_the_breakpoint_stands_behind_what_a_user_or_a_tool_sent() -> None:
    # The prompt ends with a reply (a prefill): 40 tokens behind the last message of the user stay ordinary input.
    turns = body(SYSTEM, block("q1", 679), said("a1", 40))
    assert serve(ModeledProvider(), sent("1", 0, turns)) == [(42, 0, 3_679)]


@pytest.mark.parametrize(
    ("settings", "gap", "read"),
    [
        ({}, HALF_HOUR, 3_679),
        ({}, HALF_HOUR + 1, 0),
        ({"prompt_cache_ttl": '"12h"'}, HALF_HOUR + 1, 3_679),
        ({"prompt_cache_ttl": '"12h"'}, HALF_DAY, 3_679),
        ({"prompt_cache_ttl": '"12h"'}, HALF_DAY + 1, 0),
    ],
)
def test_lifetimes_of_half_an_hour_and_half_a_day(settings: dict[str, str], gap: int, read: int) -> None:
    turns = body(SYSTEM, block("q1", 679))
    assert serve(ModeledProvider(), sent("1", 0, turns, **settings), sent("2", gap, turns, **settings))[1][1] == read


def test_a_breakpoint_may_have_a_lifetime_of_its_own() -> None:
    turns = body(SYSTEM, block("q1", 679), marks=((0, HALF_DAY),))
    one, two = sent("1", 0, turns), sent("2", HALF_HOUR + 1, turns)
    assert one.start is not None
    usage = ModeledProvider().serve(one, one.start).usage
    assert (usage.write_long, usage.write_short) == (3_000, 679), "the longer lifetime, and the shorter one behind it"
    assert serve(ModeledProvider(), one, two)[1] == (2, 3_000, 679)


@pytest.mark.parametrize(("size", "kept"), [(1_023, False), (1_024, True)])
def test_the_minimum_is_1024_tokens(size: int, kept: bool) -> None:
    turns = body(block("q1", size))
    fresh, _, written = serve(ModeledProvider(), sent("1", 0, turns))[0]
    assert (fresh, written) == ((2, size) if kept else (size + 2, 0))


@pytest.mark.parametrize("name", ["prompt_cache_key", "effort", "verbosity", "service_tier"])
def test_what_the_provider_names_as_a_reason_re_keys_everything(name: str) -> None:
    turns = body(SYSTEM, block("q1", 679))
    other = sent("2", 10, turns, **{name: '"priority"'})
    assert serve(ModeledProvider(), sent("1", 0, turns), other, sent("3", 20, turns))[1:] == [
        (2, 0, 3_679),
        (2, 3_679, 0),
    ]


def test_the_standard_tier_is_the_same_as_none() -> None:
    turns = body(SYSTEM, block("q1", 679))
    assert serve(ModeledProvider(), sent("1", 0, turns), sent("2", 10, turns, service_tier='"auto"'))[1][1] == 3_679


@pytest.mark.parametrize("rule", ["lookback", "breakpoints", "minimum", "ttl_short", "ttl_long", "implicit", "closing"])
def test_each_figure_says_where_it_comes_from(rule: str) -> None:
    figure = rules_for("openai", MODEL, None).figure(rule)
    assert figure is not None
    assert len(figure.source) >= 10
    assert figure.confidence in ("high", "medium", "low")
