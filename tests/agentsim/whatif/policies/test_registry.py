"""Every policy by name, its texts, and what a command line may say."""

from __future__ import annotations

import re

import pytest

from agentsim.whatif.policies import (
    HARNESSES,
    NAMES,
    Policy,
    PolicyError,
    every_policy,
    kind_of,
    parameters,
    parse,
    policy,
)


@pytest.mark.parametrize("name", NAMES)
def test_each_policy_says_what_it_is(name: str) -> None:
    kind = kind_of(name)
    assert kind.name == name
    assert kind.summary.endswith(".")
    assert len(kind.summary) <= 100
    assert kind.assumes.endswith(".")
    assert set(kind.how) == set(HARNESSES)
    assert all(text.endswith(".") for text in kind.how.values())
    assert kind.__doc__
    assert kind.changes is None or not kind.changes.endswith(".")


def test_names_and_summaries_are_unique() -> None:
    assert len({kind_of(name).summary for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_is_named_as_it_can_be_parsed(name: str) -> None:
    assert policy(name).spec == name
    assert parse(name) == policy(name)


def test_parameters_come_back() -> None:
    given = parse("keep-alive:most=3,fraction=0.8,after_last=true")
    assert given == policy("keep-alive", most=3, fraction=0.8, after_last=True)
    assert parse(given.spec) == given
    assert given.spec == "keep-alive:fraction=0.8,most=3,after_last=true"
    assert parse("free-tool-choice:then=retry").spec == "free-tool-choice:then=retry"


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("kepalive", "did you mean keep-alive?"),
        ("", "lists them"),
        ("keep-alive:moost=3", "did you mean most?"),
        ("keep-alive:most=three", "most must be whole number, not 'three'"),
        ("keep-alive:most=-1", "must not be negative"),
        ("keep-alive:most", "expected param=value"),
        ("keep-alive:only=r1", "has no parameter 'only'"),
        ("ttl-1h:x=1", "it has none"),
        ("ttl-lanes:main=2h", "main must be as-is or 5m or 1h"),
        ("x" * 10_000, "no policy is called"),
    ],
)
def test_errors_name_what_is_wrong(spec: str, says: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(says)) as raised:
        parse(spec)
    assert len(str(raised.value)) < 200


def test_parameters_are_listed_with_their_defaults() -> None:
    found = {p.name: (p.type, p.default, p.choices) for p in parameters(kind_of("ttl-lanes"))}
    assert found["children"] == ("one of as-is, 5m, 1h", "5m", ("as-is", "5m", "1h"))


def test_only_what_decides_the_same_excludes_each_other() -> None:
    kinds = every_policy()

    def exclude(one: str, other: str) -> bool:
        found: dict[str, Policy] = {each.name: each for each in kinds}
        return bool(set(found[one].slots) & set(found[other].slots))

    assert exclude("ttl-5m", "ttl-1h")
    assert exclude("keep-alive", "keep-alive-three")
    assert exclude("no-caching", "ttl-1h")
    assert exclude("deferred-tools", "fixed-entries")
    assert not exclude("keep-alive", "ttl-5m")
    assert not exclude("marker-system", "marker-last")
