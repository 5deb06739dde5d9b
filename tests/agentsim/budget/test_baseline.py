import json
from pathlib import Path

import msgspec
import pytest

from agentsim.budget.budget_gate import JudgedTrace
from agentsim.budget.cost_baseline import (
    BaselineError,
    changes,
    entries_of,
    measures_of,
    read_baseline,
    text_of,
    write_baseline,
)
from agentsim.budget.session_measures import Measures, measure
from agentsim.diagnose import diagnose
from tests.agentsim.budget.recorded import after, before


def trace(session_id: str, measures: Measures) -> JudgedTrace:
    return JudgedTrace(path="rec/run.jsonl", session=session_id, measures=measures)


AFTER, BEFORE = measure(diagnose(after())), measure(diagnose(before()))


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    file = str(tmp_path / "baseline.json")
    entries = entries_of([trace("b", AFTER), trace("a", BEFORE)])
    write_baseline(file, entries)
    assert read_baseline(file) == entries
    again = measures_of(entries)["rec/run.jsonl#b"]
    assert again is not None
    for name in ("requests", "cost", "equivalents", "read", "total_input", "misses", "output", "unpriced"):
        assert getattr(again, name) == getattr(AFTER, name), name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["baseline.json"]


def test_the_text_is_sorted_exact_and_a_line_a_session() -> None:
    text = text_of(entries_of([trace("b", AFTER), trace("a", BEFORE)]))
    keys = list(json.loads(text)["traces"])
    assert keys == ["rec/run.jsonl#a", "rec/run.jsonl#b"]
    line = next(line for line in text.splitlines() if line.startswith('"rec/run.jsonl#b"'))
    entry = json.loads("{" + line.rstrip(",") + "}")["rec/run.jsonl#b"]
    # 24,800 x $3.75 + 94,000 x $0.30 + 1,440 x $15, a million: 0.093 + 0.0282 + 0.0216
    assert entry == {
        "cost": "0.1428",
        "hit_rate": {"read": 94_000, "total_input": 118_800},
        "input_equivalents": "40400",
        "misses": {"AS103": 1},
        "requests": 12,
        "tokens": {"fresh": 0, "output": 1_440, "read": 94_000, "written": 24_800},
    }
    assert list(entry) == sorted(entry)


def test_hostile_names_stay_inert(tmp_path: Path) -> None:
    name = 'x"\x1b]0;owned\x07\u202e\n\x7f'
    text = text_of(entries_of([JudgedTrace(path=name, session=name, measures=AFTER)]))
    assert text.isascii()
    assert not any(character in text for character in "\x1b\x07\x7f")
    assert list(json.loads(text)["traces"]) == [f"{name}#{name}"]


def test_changes_tell_new_gone_and_different() -> None:
    old = entries_of([trace("a", BEFORE), trace("b", BEFORE), trace("c", BEFORE)])
    new = entries_of([trace("b", AFTER), trace("c", BEFORE), trace("d", AFTER)])
    found = changes(old, new)
    assert [(one.key[-1], one.before is None, one.after is None) for one in found] == [
        ("a", False, True),
        ("b", False, False),
        ("d", True, False),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"agentsim": "1", "baseline": 2, "traces": {}}',
        '{"agentsim": "1", "baseline": 1}',
        '{"agentsim": "1", "baseline": 1, "traces": {"a": {"cost": 1}}}',
        '{"agentsim": "1", "baseline": 1, "traces": {}, "more": 1}',
        "[" * 100_000,
    ],
)
def test_a_broken_file_is_told(text: str, tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(text)
    with pytest.raises(BaselineError) as caught:
        read_baseline(str(file))
    assert not caught.value.missing


@pytest.mark.parametrize("cost", ["NaN", "1e999999", "ten", "", "1" * 100, "0.0000000000001"])
def test_a_cost_that_is_no_amount_is_told(cost: str, tmp_path: Path) -> None:
    entry = msgspec.to_builtins(entries_of([trace("a", AFTER)])["rec/run.jsonl#a"]) | {"cost": cost}
    file = tmp_path / "baseline.json"
    file.write_text(json.dumps({"agentsim": "1", "baseline": 1, "traces": {"a": entry}}))
    with pytest.raises(BaselineError):
        read_baseline(str(file))


def test_a_missing_file_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(BaselineError) as caught:
        read_baseline(str(tmp_path / "nothing.json"))
    assert caught.value.missing
