"""Entries behind the results of tools that the provider runs: five minutes, whatever the request asked for."""

from __future__ import annotations

import msgspec
import pytest

from agentsim.cache.entry_store import Address, Space
from agentsim.cache.inner_entries import LEAST_LANES, InnerEntries
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.simulate import scan
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request
from agentsim.rules.providers import rules_for
from tests.agentsim.prompts import MODEL, block, prompt, request, session

HOUR = 3600
SPACES = (Space(("", MODEL, 0, ())), Space(("", MODEL, 1, ())), Space(("", MODEL, 2, ())))
HEAD = [block("tools", 3_000, "tools"), block("rules", 3_000, "system", role=None)]
ASK = block("what is new?", 100)
SEARCH = block("query", 50, kind="server_tool_use", role="assistant")
FOUND = block("pages", 7_000, kind="web_search_tool_result", role="assistant")
SAID = block("this is", 200, role="assistant")
NEXT = block("and before?", 40)


def marked(blocks: list[Block], ttl: int) -> Prompt:
    return prompt(blocks, (len(blocks) - 1, ttl))


def reads(gap: int, *, ttl: int = HOUR, parent: str | None = "0", backend: ModeledProvider | None = None) -> int | None:
    """What the next question reads, ``gap`` seconds after one whose answer took 30 seconds and searched the web."""
    first = request("0", 0, marked([*HEAD, ASK], ttl), lasts=30)
    blocks = [*HEAD, ASK, SEARCH, FOUND, SAID, NEXT]
    second = request("1", gap, marked(blocks, ttl), parent=parent)
    return scan(session([first, second]), backend or ModeledProvider()).rows[1].usage.read


@pytest.mark.parametrize(
    ("gap", "read"),
    [
        (60, 6_100 + 50 + 7_000),  # the result is there, too
        (300, 13_150),
        (301, 6_100),  # only what the request itself kept for an hour
        (20, 6_100),  # the answer is not through: its entries cannot be read yet
        (3_601, 0),
    ],
)
def test_what_the_next_request_reads(gap: int, read: int) -> None:
    assert reads(gap) == read


def test_the_rule_can_be_switched_off() -> None:
    off = ModeledProvider(rules_for("anthropic", MODEL, None).with_(server_tool_ttl=0))
    assert reads(60, backend=off) == 6_100


def test_without_a_breakpoint_of_its_own_nothing_is_kept() -> None:
    first = request("0", 0, prompt([*HEAD, ASK]), lasts=30)
    second = request("1", 60, marked([*HEAD, ASK, SEARCH, FOUND, SAID, NEXT], HOUR), parent="0")
    rows = scan(session([first, second]), ModeledProvider()).rows
    assert [row.usage.read for row in rows] == [0, 0]


def test_results_of_the_users_own_tools_are_no_such_results() -> None:
    call = block("ls", 50, kind="tool_use", role="assistant")
    result = block("files", 7_000, kind="tool_result")
    requests: list[Request] = [
        request("0", 0, marked([*HEAD, ASK], HOUR), lasts=30),
        request("1", 60, marked([*HEAD, ASK, call, result], HOUR), parent="0"),
    ]
    rows = scan(session(requests), ModeledProvider()).rows
    assert rows[1].usage.read == 6_100


def conversation() -> list[Request]:
    """A search, what goes on from it, and somebody who asks otherwise behind the same result."""
    grown = [*HEAD, ASK, SEARCH, FOUND, SAID]
    return [
        request("0", 0, marked([*HEAD, ASK], HOUR), lasts=30),
        request("1", 60, marked([*grown, NEXT], HOUR), parent="0"),
        request("2", 60, marked([*grown, block("else", 40)], HOUR), lane="side"),
    ]


def test_a_request_that_is_only_looked_up_brings_nothing() -> None:
    provider, (first, grown, other) = ModeledProvider(), conversation()
    now = grown.start or 0
    provider.serve(first, first.start or 0)
    for _ in range(2):
        assert provider.look_up(grown, now).read == 13_150
        assert provider.look_up(other, now).read == 6_100
    provider.serve(grown, now)
    assert provider.look_up(other, now).read == 13_150


def test_what_was_evicted_is_not_brought_again() -> None:
    provider, (first, grown, other) = ModeledProvider(), conversation()
    now = grown.start or 0
    provider.serve(first, first.start or 0)
    assert provider.look_up(grown, now, keep=3).read == 6_100
    provider.commit(provider.look_up(grown, now, keep=3))
    assert provider.look_up(other, now).read == 6_100

    provider = ModeledProvider()
    provider.serve(first, first.start or 0)
    provider.evict(grown, 3, now)
    assert provider.look_up(grown, now).read == 6_100


def test_the_end_of_an_answer_counts_however_it_is_told() -> None:
    provider, (first, grown, _) = ModeledProvider(), conversation()
    untimed = msgspec.structs.replace(first, first_token=None, end=None)
    lookup = provider.look_up(untimed, first.start or 0)
    provider.commit(lookup, first_token=first.first_token, end=first.end)
    assert first.end is not None
    assert provider.look_up(grown, first.end - 1).read == 6_100
    assert provider.look_up(grown, first.end).read == 13_150


def test_conversations_that_are_over_are_forgotten_where_that_is_wanted() -> None:
    remembered = {}
    for forgets in (False, True):
        inner = InnerEntries(forgets=forgets)
        for number in range(4 * LEAST_LANES):
            one = request(f"r{number}", 600 * number, prompt([ASK]), lane=f"lane {number}")
            inner.note(one, Address(prompt([ASK]), SPACES), one.start or 0, one.start or 0, one.start or 0)
        remembered[forgets] = len(inner._answered)
    assert remembered[False] == 4 * LEAST_LANES
    assert remembered[True] <= LEAST_LANES


@pytest.mark.parametrize(("seconds", "kept"), [(HOUR, True), (HOUR + 1, False)])
def test_a_lane_whose_entries_may_live_is_remembered(seconds: int, kept: bool) -> None:
    inner = InnerEntries(forgets=True)
    first = request("first", 0, marked(HEAD, 300), lane="first")
    assert first.prompt is not None
    began = first.start or 0
    address = Address(first.prompt, SPACES)
    inner.note(first, address, began, began, began)
    for number in range(LEAST_LANES):  # one more than are remembered whatever time has passed
        later = began + seconds * SECOND
        inner.note(msgspec.structs.replace(first, lane=f"lane {number}"), address, later, later, later)
    assert ("first" in inner._answered) == kept
    assert len(inner._answered) == LEAST_LANES + kept
