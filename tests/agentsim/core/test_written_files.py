"""One loader for all files that people write: what it takes, and that each mistake is named once, at its key."""

from __future__ import annotations

from decimal import Decimal
from importlib.resources import files
from typing import Annotated, Any, Literal

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Meta

from agentsim.conform.act_files import act_names, parse_act
from agentsim.conform.harness_adapters import HarnessAdapter, adapter_names
from agentsim.core.file_problems import FileProblem, WrittenFileError
from agentsim.core.near_words import did_you_mean, nearest
from agentsim.core.toml_lines import key_lines
from agentsim.core.written_files import MOST_PROBLEMS, WrittenFile, read_text
from agentsim.core.written_types import KeyFault, WrittenForm
from agentsim.rules.providers.rules_library import provider_names
from agentsim.rules.providers.rules_parsing import parse_rules
from agentsim.scenarios import bundled_scenarios
from agentsim.scenarios.scenario_loading import parse
from agentsim.scenarios.scenario_schema import ScenarioFile, json_schema


def halves(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError("must be a whole number")
    if value % 2:
        raise KeyFault("half", "must be even")
    return value // 2


class Dog(msgspec.Struct, tag="dog", tag_field="is", frozen=True):
    name: str


class Cat(msgspec.Struct, tag="cat", tag_field="is", frozen=True):
    lives: Annotated[int, Meta(ge=0, le=9)] = 9


class Box(msgspec.Struct, frozen=True):
    width: int
    height: int = 0

    @classmethod
    def from_written(cls, value: Any) -> Any:
        return {"width": value, "height": value} if isinstance(value, int) else value

    def __post_init__(self) -> None:
        if self.height > self.width:
            raise ValueError("higher than wide")


class House(msgspec.Struct, frozen=True, rename="kebab"):
    pets: Annotated[tuple[Dog | Cat, ...], Meta(max_length=2)] = ()
    box: Box | None = None
    halved: Annotated[int, WrittenForm(halves)] = 0
    mood: Literal["good", "bad"] = "good"
    pair: tuple[int, int] = (0, 0)
    by_name: dict[str, int] = {}
    part: tuple[Dog, ...] | Box | Literal["off"] = "off"
    weight: float = 0


def fitted(text: str, name: str = "house.toml") -> House:
    return WrittenFile(text, name, parse_float=Decimal if "w8" in text else float).as_a(House)


def mistakes(text: str, name: str = "house.toml") -> list[tuple[int | None, str, str, str]]:
    with pytest.raises(WrittenFileError) as caught:
        fitted(text, name)
    return [(one.line, one.key, one.reason, one.remedy) for one in caught.value.problems]


def test_what_fits() -> None:
    text = 'pets = [{ is = "dog", name = "Rex" }, { is = "cat" }]\nbox = 3\nhalved = 8\npart = { width = 1 }\n'
    assert fitted(text) == House(pets=(Dog("Rex"), Cat()), box=Box(3, 3), halved=4, part=Box(1))
    assert fitted('[[part]]\nis = "dog"\nname = "Rex"\n').part == (Dog("Rex"),)
    assert fitted('{"box": null, "pair": [1, 2]}', "house.json").pair == (1, 2)
    assert fitted("pair = [1.0, 2] # w8").pair == (1, 2), "a decimal that is whole is a whole number"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("\nmod = 1", (2, "mod", "no such key", "did you mean mood?")),
        ("mood = 1", (1, "mood", "must be 'good' or 'bad'", "correct the value")),
        ("mood = 'bat'", (1, "mood", "must be 'good' or 'bad'", "did you mean bad?")),
        ("[[pets]]\nis = 'dig'", (2, "pets.0.is", "there is no such kind: 'dig'", "did you mean dog?")),
        ("[[pets]]\nname = 'x'", (1, "pets.0.is", "this key is missing", "add is = ..., one of dog, cat")),
        ("[[pets]]\nis = 'cat'\nlives = 10", (3, "pets.0.lives", "expected `int` <= 9", "correct the value")),
        ("[pets]\nis = 'cat'", (1, "pets", "must be a list of tables", "write [[pets]]")),
        ("[box]\nheight = 1", (1, "box.width", "this key is missing", "add width = ...")),
        ("[box]\nwidth = 1\nheight = 2", (1, "box", "higher than wide", "correct the value")),
        ("box = 'x'", (1, "box", "must be a table", "correct the value")),
        ("halved = 3", (1, "halved.half", "must be even", "correct the value")),
        ("pair = [1]", (1, "pair", "must have 2 values", "correct the value")),
        ("pair = [1.5, 2] # w8", (1, "pair.0", "expected `int`, got `decimal`", "correct the value")),
        ("weight = inf", (1, "weight", "must be a finite number", "correct the value")),
        ("by-name = 3", (1, "by-name", "must be a table", "correct the value")),
        ("by-name = { a = 'x' }", (1, "by-name.a", "expected `int`, got `str`", "correct the value")),
        ("part = 'on'", (1, "part", "must be 'off'", "correct the value")),
        ("\nbox = [", (2, "", "not TOML: Invalid value", "see https://toml.io")),
    ],
)
def test_each_mistake_has_its_line_key_reason_and_remedy(text: str, problem: tuple[Any, ...]) -> None:
    assert mistakes(text) == [problem]


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    text = "mod = 1\nhalved = 3\n[[pets]]\nis = 'dog'\n[[pets]]\nis = 'cat'\nlives = -1\n[[pets]]\nis = 'cat'\n"
    assert [(line, key) for line, key, _, _ in mistakes(text)] == [
        (1, "mod"),
        (2, "halved.half"),
        (3, "pets.0.name"),
        (7, "pets.1.lives"),
    ]
    assert mistakes("pets = [{is='cat'}, {is='cat'}, {is='cat'}]") == [
        (1, "pets", "must have at most 2", "correct the value")
    ]


@pytest.mark.parametrize(("count", "told"), [(MOST_PROBLEMS, MOST_PROBLEMS), (MOST_PROBLEMS + 1, MOST_PROBLEMS)])
def test_so_many_mistakes_are_told_and_no_more(count: int, told: int) -> None:
    assert len(mistakes("\n".join(f"key{number} = 1" for number in range(count)))) == told


def test_a_json_file_names_the_line_where_it_ends_to_be_one() -> None:
    assert mistakes('{"mood": "bad",\n "box" 1}', "house.json")[0][:3] == (2, "", "not JSON: Expecting ':' delimiter")
    assert mistakes("[]", "house.json")[0][2] == "must be a table"
    assert mistakes('{"by-name": ' + "[" * 100_000, "house.json")[0][2] == "nested too deeply"


def test_a_file_larger_than_it_may_be_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "house.toml"
    path.write_text("a=1\r\n")
    assert read_text(str(path), 5) == "a=1\n"
    with pytest.raises(WrittenFileError, match="larger than"):
        read_text(str(path), 4)


def test_a_problem_says_where_and_what() -> None:
    assert str(FileProblem("odd", "see", "f.toml", 3, "a.b")) == "f.toml:3: a.b: odd"
    assert str(FileProblem("odd", "see", "f.toml")) == "f.toml: odd"
    assert str(FileProblem("odd", "see")) == "odd"


def test_near_words() -> None:
    assert nearest("MAX_COTS", ["max-cost", "min-hit-rate"]) == ["max-cost"]
    assert did_you_mean("xyzzy", ["max-cost"], "leave it out") == "leave it out"


FAMILIES = {
    **{f"rules {name}": ("agentsim.rules.providers", f"{name}.toml", parse_rules) for name in provider_names()},
    **{
        f"scenario {name}": ("agentsim.scenarios", f"{name}.toml", lambda text, file: parse(text, "x", file))
        for name in bundled_scenarios.names()
    },
    **{
        f"act {name}": ("agentsim.scenarios", f"acts/{name}.toml", lambda text, file: parse_act("x", text))
        for name in act_names()
    },
    **{
        f"adapter {name}": (
            "agentsim.conform",
            f"adapters/{name}.toml",
            lambda text, file: WrittenFile(text, file).as_a(HarnessAdapter),
        )
        for name in adapter_names()
    },
}
FREE = {"environment", "files", "project_files", "mcp_files", "settings", "sweep", "values", "before_turn"}
"""Tables with keys of the writer's own."""


@pytest.mark.parametrize("family", FAMILIES)
def test_a_misspelled_key_is_named_with_its_line_in_every_file(family: str) -> None:
    package, file, load = FAMILIES[family]
    text = files(package).joinpath(*file.split("/")).read_text("utf-8")
    load(text, file)
    lines = text.split("\n")
    tried = set()
    for path, number in key_lines(text).items():
        key, line = path[-1], lines[number - 1]
        kind = tuple(part for part in path if isinstance(part, str))
        if not line.startswith(f"{key} = ") or FREE & set(path[:-1]) or kind in tried:
            continue
        tried.add(kind)
        changed = [*lines[: number - 1], line.replace(f"{key}", f"{key}z", 1), *lines[number:]]
        with pytest.raises(WrittenFileError) as caught:
            load("\n".join(changed), file)
        told = [one for one in caught.value.problems if one.line == number and one.key.endswith(f"{key}z")]
        assert [one.remedy for one in told] == [f"did you mean {key}?"], (family, line)
    assert tried


ODD = [None, True, -1, 0, 1, 1.5, 2.0, 10**12, 2**63, "", "x", "off", "5m", [], [1], [1, 2], {}, {"fixed": 1}]


@settings(max_examples=300, deadline=None)
@given(name=st.sampled_from(bundled_scenarios.names()), data=st.data(), value=st.sampled_from(ODD))
def test_what_the_loader_takes_the_schema_of_scenarios_takes(name: str, data: st.DataObject, value: Any) -> None:
    written = WrittenFile(bundled_scenarios.text(name), name)
    document: Any = written.data
    document.pop("start", None)
    at = document
    while True:
        key = data.draw(st.sampled_from(list(at)) if isinstance(at, dict) else st.integers(0, len(at) - 1))
        if not isinstance(at[key], dict | list) or not at[key] or data.draw(st.booleans()):
            break
        at = at[key]
    if value is None:
        del at[key]
    else:
        at[key] = value
    if written.fit(document, ScenarioFile) is not None:
        jsonschema.Draft202012Validator(json_schema()).validate(document)
