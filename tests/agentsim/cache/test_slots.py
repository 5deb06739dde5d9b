"""Slots of a server: what is overwritten, which slot is chosen, checkpoints, copies. A block has 1,000 tokens."""

from agentsim.cache.slot_cache import SlotCache
from agentsim.core.dates import SECOND
from agentsim.core.session import Request
from agentsim.rules.providers import ProviderRules, rules_for
from tests.agentsim.prompts import DAY, prompt, request, texts

RULES = rules_for("llama.cpp", "qwen3-coder", None)


def ask(name: str, at: int, *talks: str, lasts: int = 2) -> Request:
    blocks = [block for talk in talks for block in texts(1, 1_000, talk)]
    return request(name, at, prompt(blocks), lasts=lasts)


def reads(rules: ProviderRules, *requests: Request) -> list[int | None]:
    cache = SlotCache(rules)
    return [cache.serve(one, (DAY * SECOND if one.start is None else one.start)).usage.read for one in requests]


def test_one_slot_is_overwritten_by_the_next_conversation():
    talks = ask("1", 0, "a", "b"), ask("2", 10, "x", "y"), ask("3", 20, "a", "b", "c")
    assert reads(RULES, *talks) == [0, 0, 0]
    # With two slots each conversation has its own: the third request keeps both blocks of the first.
    assert reads(RULES.with_(slots=2), *talks) == [0, 0, 2_000]


def test_the_last_token_is_always_computed():
    assert reads(RULES, ask("1", 0, "a", "b"), ask("2", 10, "a", "b")) == [0, 1_999]


def test_what_the_slot_held_behind_the_common_part_is_gone():
    # a b -> a c -> a b: the second request has overwritten b.
    assert reads(RULES, ask("1", 0, "a", "b"), ask("2", 10, "a", "c"), ask("3", 20, "a", "b")) == [0, 1_000, 1_000]


def test_a_slot_that_shares_too_little_is_not_taken():
    many = [f"n{n}" for n in range(19)]
    talks = ask("1", 0, "a", "b"), ask("2", 10, "a", *many), ask("3", 20, "a", "b", "c")
    # 1 block of 20 is 5 %: less than 10 %, so the second request takes the empty slot and reads nothing.
    assert reads(RULES.with_(slots=2), *talks) == [0, 0, 2_000]
    # At 4 % it takes the first slot, and overwrites b.
    assert reads(RULES.with_(slots=2, slot_similarity=4), *talks) == [0, 1_000, 1_000]


def test_a_busy_slot_is_left_alone():
    two = RULES.with_(slots=2)
    assert reads(two, ask("1", 0, "a", "b", lasts=60), ask("2", 10, "a", "b", "c")) == [0, 0]
    assert reads(two, ask("1", 0, "a", "b", lasts=5), ask("2", 10, "a", "b", "c")) == [0, 2_000]


def test_without_a_free_slot_the_longest_idle_one_goes():
    cache = SlotCache(RULES.with_(slots=2))
    hosts = [
        cache.serve(one, one.start or 0).host
        for one in (ask("1", 0, "a"), ask("2", 10, "b"), ask("3", 20, "a"), ask("4", 30, "c"), ask("5", 40, "a"))
    ]
    assert hosts == ["slot 0", "slot 1", "slot 0", "slot 1", "slot 0"]


def test_a_model_with_checkpoints_goes_back_to_the_last_one():
    rules = RULES.with_(checkpoint_step=1_500)
    long = ask("1", 0, "a", "b", "c", "d")
    assert reads(rules, long, ask("2", 10, "a", "b", "x")) == [0, 1_500]  # of 2,000 common tokens
    assert reads(rules, long, ask("2", 10, "a", "b", "c", "d", "e")) == [0, 4_000]  # nothing to go back for


def test_a_copy_is_given_back_once():
    rules = RULES.with_(capacity=2_000)
    talks = ask("1", 0, "a", "b"), ask("2", 10, "x", "y"), ask("3", 20, "a", "b", "c"), ask("4", 30, "a", "b", "z")
    # 2 puts a b away; 3 gets it back (and puts x y away, for which there is room); 4 finds a b in the slot.
    assert reads(rules, *talks) == [0, 0, 2_000, 2_000]
    assert reads(RULES.with_(capacity=1_999), *talks)[2] == 0


def test_an_idle_runner_is_unloaded():
    ollama = rules_for("ollama", "qwen3-coder", None)
    assert reads(ollama, ask("1", 0, "a", "b"), ask("2", 300, "a", "b", "c")) == [0, 2_000]
    assert reads(ollama, ask("1", 0, "a", "b"), ask("2", 301, "a", "b", "c")) == [0, 0]
