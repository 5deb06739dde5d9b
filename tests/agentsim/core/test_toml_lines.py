import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.toml_lines import key_lines, line_of

TEXT = '''# a comment = not a key
baseline = "x = y"

[[budget]]          # 4
name = "a # b"
traces = ["one",
  # between
  "two"]            # 8
max-misses = {total = 1, AS103 = 0}
[budget.max-growth] # 10
cost = "5%"

[[budget]]          # 13
"na me" = """
text
[table] = 1
"""                 # 17
deep.er = \'\'\'x\'\'\'
[tool.agentsim]     # 19
'''


def test_lines_of_keys() -> None:
    lines = key_lines(TEXT)
    assert lines[("baseline",)] == 2
    assert lines[("budget", 0)] == 4
    assert lines[("budget", 0, "traces", 1)] == 8
    assert lines[("budget", 0, "max-misses", "AS103")] == 9
    assert lines[("budget", 0, "max-growth", "cost")] == 11
    assert lines[("budget", 1)] == 13
    assert lines[("budget", 1, "na me")] == 14
    assert lines[("budget", 1, "deep", "er")] == 18
    assert lines[("tool", "agentsim")] == 19
    assert ("table",) not in lines


def test_a_key_that_is_not_there_has_the_line_of_what_holds_it() -> None:
    lines = key_lines(TEXT)
    assert line_of(lines, ("budget", 0, "max-cost")) == 4
    assert line_of(lines, ("nothing",)) is None


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    """The paths of all keys and items, as the standard reader sees them."""
    found = set()
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found |= {(*path, key)} | leaves(item, (*path, key))
    return found


NAMES = st.sampled_from(["a", "b-c", "d_1", '"q.\\"x"', "'s p'", "2"])
TEXTS = st.sampled_from(['"x"', "'y # ]'", '"""m\n"q" \\" [k]\n"""', "'''n\n'''", '""""two""""'])
PLAIN = st.sampled_from(["1", "0.5", "true", "2026-01-01T00:00:00Z", "1_000"]) | TEXTS
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + " , ".join(items) + " ]")
        | st.lists(inner, max_size=3).map(lambda items: "[ # no ]\n" + ",\n".join(items) + "\n]")
    ),
    max_leaves=4,
)
PAIRS = st.tuples(st.lists(NAMES, min_size=1, max_size=2).map(" . ".join), VALUES)
INLINE = st.lists(st.tuples(NAMES, PLAIN.filter(lambda text: "\n" not in text)), max_size=2, unique_by=lambda p: p[0])
LINES = st.one_of(
    PAIRS.map(lambda pair: f"{pair[0]} = {pair[1]} # = x"),
    st.tuples(NAMES, INLINE).map(
        lambda p: f"{p[0]} = {{ " + ", ".join(f"{key} = {value}" for key, value in p[1]) + " }"
    ),
    st.lists(NAMES, min_size=1, max_size=2).map(lambda names: f"[{'.'.join(names)}]"),
    st.lists(NAMES, min_size=1, max_size=2).map(lambda names: f"[[ {'.'.join(names)} ]] # [c]"),
    st.just("# [comment]"),
    st.just(""),
)


@given(st.lists(LINES, max_size=8))
def test_it_finds_the_keys_that_the_standard_reader_finds(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    found = key_lines(text)
    assert set(found) == leaves(data)
    count = text.count("\n") + 1
    assert all(1 <= line <= count for line in found.values())


@given(st.lists(PAIRS, max_size=6))
def test_a_key_stands_on_its_line(pairs: list[tuple[str, str]]) -> None:
    text = "".join(f"k{number}.{name} = {value}\n" for number, (name, value) in enumerate(pairs))
    lines = key_lines(text)
    for number in range(len(pairs)):
        assert text.splitlines()[lines[(f"k{number}",)] - 1].startswith(f"k{number}.")
