"""Chance at a provider: seeded, off by default, and as often as the rules say."""

import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from agentsim.cache import Served
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.provider_chance import SpillingProvider
from agentsim.cache.routed_backend import RoutedProvider
from agentsim.cli import main
from agentsim.core.session import Request
from agentsim.rules.providers import ProviderRules, rules_for
from tests.agentsim.prompts import MODEL, block, prompt, request, texts

RULES = rules_for("anthropic", MODEL, None).with_(early_loss=())
HEAD = [block("tool", 3_000, "tools"), block("system", 2_000, "system")]


def turns(count: int, gap: int, talk: str = "t", key: str | None = None) -> list[Request]:
    """A conversation that adds a block of 100 tokens each ``gap`` seconds."""
    settings = None if key is None else {"prompt_cache_key": key}
    found = []
    for n in range(1, count + 1):
        body = prompt([*HEAD, *texts(n, 100, talk)], (1, 3600), (1 + n, 3600))
        found.append(request(f"{talk}{n}", n * gap, body, lasts=2, settings=settings))
    return found


def served(rules: ProviderRules, seed: int, requests: list[Request]) -> list[Served]:
    provider = SpillingProvider(lambda: ModeledProvider(rules), seed, rules)
    return [provider.serve(one, one.start or 0) for one in requests]


def test_without_figures_of_chance_nothing_changes():
    requests = turns(20, 60)
    plain = ModeledProvider(RULES)
    assert [one.usage for one in served(RULES, 1, requests)] == [plain.serve(r, r.start or 0).usage for r in requests]


def test_the_same_seed_draws_the_same_lots_and_another_one_others():
    rules = RULES.with_(route_hosts=3, route_switch=30)
    one, again, other = (served(rules, seed, turns(40, 60)) for seed in (7, 7, 8))
    assert one == again
    assert [s.host for s in one] != [s.host for s in other]


def test_lots_do_not_depend_on_what_else_is_simulated():
    rules = RULES.with_(route_hosts=3, route_switch=30)
    alone = [s.host for s in served(rules, 7, turns(40, 60))]
    both = sorted([*turns(40, 60), *turns(40, 60, "other")], key=lambda r: r.start or 0)
    together = [s.host for r, s in zip(both, served(rules, 7, both), strict=True) if r.id.startswith("t")]
    assert together == alone


def test_switches_are_as_frequent_as_stated_and_a_new_host_has_nothing():
    rules = RULES.with_(route_hosts=50, route_switch=30)
    found = served(rules, 3, turns(1_000, 60))
    hosts = [one.host for one in found]
    switches = sum(before != after for before, after in pairwise(hosts))
    assert 250 <= switches <= 350  # 30 % of 999; four standard deviations are 58
    seen: set[str | None] = set()
    for one in found:
        if one.host not in seen:
            assert one.usage.read == 0
        seen.add(one.host)


def test_a_conversation_stays_until_it_was_idle_too_long():
    rules = RULES.with_(route_hosts=5, route_sticky=600)
    assert len({one.host for one in served(rules, 1, turns(30, 600))}) == 1
    moved = {one.host for one in served(rules, 1, turns(30, 601))}
    assert len(moved) == 5


def test_too_many_requests_a_minute_spill_to_other_caches():
    # 15 a minute: with one every 4 s the sixteenth within a minute never comes; with one every 2 s half of them spill.
    rules = RULES.with_(route_hosts=2, route_per_minute=15)
    assert len({one.host for one in served(rules, 1, turns(60, 4))}) == 1
    spilled = [one.host for one in served(rules, 1, turns(60, 2))]
    assert len(set(spilled[:15])) == 1
    assert len(set(spilled)) == 2


def test_requests_with_one_key_share_a_home_and_other_keys_have_others():
    rules = RULES.with_(route_hosts=100)
    homes = {key: {one.host for one in served(rules, 1, turns(5, 60, key, key))} for key in "abcdef"}
    assert all(len(hosts) == 1 for hosts in homes.values())
    assert len({next(iter(hosts)) for hosts in homes.values()}) > 1


@pytest.mark.parametrize(("changed", "moves"), [("tools", False), ("system", True), ("first message", True)])
def test_a_conversation_is_known_by_its_system_text_and_first_message_and_not_by_its_tools(changed, moves):
    rules = RULES.with_(route_hosts=1_000)

    def asked(at: int, new: str) -> Request:
        tools = [block("tool", 3_000, "tools")] + [block("new", 300, "tools")] * (new == "tools")
        system = block(f"system {new == 'system'}", 2_000, "system")
        messages = [block(f"task {new == 'first message'}", 100), block("more", 100)]
        return request(f"r{at}", at, prompt([*tools, system, *messages], (len(tools), 3600)), lasts=2)

    before, after = served(rules, 3, [asked(0, ""), asked(10, changed)])
    assert (before.host != after.host) == moves


@pytest.mark.parametrize(("gap", "percent"), [(599, 0), (600, 8), (1_200, 13), (1_800, 21), (2_700, 25), (3_599, 25)])
def test_retention_decays_with_the_idle_time_as_published_and_the_head_survives(gap, percent):
    rules = rules_for("anthropic", MODEL, None)
    found = served(rules, 11, turns(1_000, gap))[1:]
    lost = [one for one in found if one.usage.read == 5_000]
    assert all((one.usage.read or 0) >= 5_000 for one in found)
    deviation = (percent * (100 - percent) / 999) ** 0.5
    assert abs(100 * len(lost) / 999 - percent) <= 4 * deviation


def test_past_the_lifetime_all_is_lost():
    assert all(one.usage.read == 0 for one in served(rules_for("anthropic", MODEL, None), 11, turns(50, 3_601)))


def test_an_automatic_cache_forgets_too():
    rules = rules_for("gemini", "gemini-2.5-flash", None)
    assert rules.early_loss
    bare = [
        msgspec.structs.replace(
            one, provider="gemini", model="gemini-2.5-flash", prompt=one.prompt and one.prompt.with_breakpoints(())
        )
        for one in turns(200, 60)
    ]
    provider = SpillingProvider(RoutedProvider, 5)
    reads = [provider.serve(one, one.start or 0).usage.read for one in bare]
    plain = RoutedProvider()
    assert sum(n or 0 for n in reads) < sum(plain.serve(one, one.start or 0).usage.read or 0 for one in bare)
    assert 5_000 in reads


def test_a_read_can_be_foreseen_and_its_lots_are_drawn_once():
    rules = RULES.with_(route_hosts=3, route_switch=30, early_loss=((1, 40),))
    requests = turns(60, 60)
    plain = [one.usage.read for one in served(rules, 7, requests)]
    provider = SpillingProvider(lambda: ModeledProvider(rules), 7, rules)
    for one, read in zip(requests, plain, strict=True):
        assert provider.look_up(one, one.start or 0).read == read
        assert provider.serve(one, one.start or 0).usage.read == read


def test_a_simulation_draws_lots_only_when_asked(capsys):
    def run(*options: str) -> dict[str, Any]:
        assert main(["run", "claude-code-day", "--seed", "3", "--json", *options]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    assert run() == run()
    assert run("--chance") == run("--chance") != run()
