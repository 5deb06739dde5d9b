"""Workflow commands, read back as the runner reads them."""

import re
from typing import Any, NamedTuple

import pytest

from agentsim.report.ci.github_annotations import MOST_OF_A_KIND, command, github_text
from tests.agentsim.report import gates


class Annotation(NamedTuple):
    kind: str
    properties: dict[str, str]
    text: str


def unescape(text: str, more: tuple[tuple[str, str], ...] = ()) -> str:
    for code, character in (*more, ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def parse(text: str) -> list[Annotation]:
    """What a runner makes of an output: a command is a line that begins with two colons."""
    found = []
    for line in re.split(r"\r\n|\r|\n", text):
        match = re.match(r"::(\w+)(?: ([^:]*))?::(.*)", line)
        if match:
            pairs = dict(pair.split("=", 1) for pair in (match[2] or "").split(",") if pair)
            more = (("%3A", ":"), ("%2C", ","), ("%3B", ";"))
            found.append(Annotation(match[1], {k: unescape(v, more) for k, v in pairs.items()}, unescape(match[3])))
    return found


def test_annotations_say_where_and_what() -> None:
    found = parse(github_text(gates.real()))
    assert [(one.kind, one.properties.get("file"), one.properties.get("line")) for one in found] == [
        # The worst first: one use of a forbidden cause is wholly beyond a limit of none, the cost is over by little.
        ("error", "agentsim.toml", "8"),
        ("error", "agentsim.toml", "7"),
        ("error", "agentsim.toml", "9"),
        ("warning", "agentsim.toml", "20"),
        ("warning", "rec/gate-after.jsonl", None),
    ]
    assert found[0].properties["title"] == "Budget broken: shop"
    assert "forbid AS103" in found[0].text
    assert found[-1].properties["title"] == "AS103 The tools came in another order"
    assert "\nFix: Sort the tools by name" in found[-1].text


def test_a_miss_that_breaks_nothing_is_not_annotated() -> None:
    from tests.agentsim.budget.recorded import after, budget, gate, limit

    within = gate(after(), budgets=[budget(limit("max-misses", 1))])
    assert [finding.blame for finding in within.findings] == ["note"]
    assert parse(github_text(within)) == []


def test_the_last_line_is_the_outcome() -> None:
    assert github_text(gates.real()).splitlines()[-1] == "Budget broken: 3 broken, 1 not judged, 6 held"
    assert github_text(gates.all_held()) == "All budgets held: 0 broken, 0 not judged, 1 held\n"


def test_ten_of_a_kind_the_worst_first_and_the_rest_counted() -> None:
    text = github_text(gates.many(1_000))
    found = parse(text)
    assert [one.kind for one in found] == ["error"] * MOST_OF_A_KIND + ["warning"] * MOST_OF_A_KIND
    assert [one.properties["file"][-10:] for one in found[:3]] == ["0999.jsonl", "0998.jsonl", "0997.jsonl"]
    assert [one.properties["file"][-10:] for one in found[10:12]] == ["0999.jsonl", "0998.jsonl"]
    assert text.count("and 990 more of kind") == 2


@pytest.mark.parametrize("attack", [gates.HOSTILE, "\n::error::x", "\r::error::x", "%0A::error::x", "a,line=9", "x::y"])
def test_no_word_ends_a_command_or_begins_one(attack: str) -> None:
    (one,) = parse(command("warning", attack, file=attack, line=3, title=attack))
    assert one.kind == "warning"
    assert set(one.properties) == {"file", "line", "title"}
    assert one.properties["line"] == "3"
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", one.text + "".join(one.properties.values()))


def test_a_percent_sign_comes_out_as_one() -> None:
    (one,) = parse(command("error", "5 % of 100%25", file="a:b,c;d.jsonl", title="50%"))
    assert one == Annotation("error", {"file": "a:b,c;d.jsonl", "title": "50%"}, "5 % of 100%25")


def test_a_hostile_gate_makes_its_own_annotations_only() -> None:
    text = github_text(gates.hostile())
    kinds: list[Any] = [one.kind for one in parse(text)]
    assert kinds == ["error"] * 3 + ["warning"] * 2
    assert "forged" in text, "it is told, not obeyed"
