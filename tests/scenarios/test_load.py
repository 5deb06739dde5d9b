"""What a person is told about a scenario that cannot be used, and what sweeps make of one that can."""

from pathlib import Path

import pytest

from agentsim.core.file_problems import FileProblem, WrittenFileError
from agentsim.scenarios.parameter_sweeps import MOST_CELLS, SweepError, parse_setting
from agentsim.scenarios.scenario_loading import load, parse

GOOD = """\
story = "A test."
[model]
name = "claude-opus-4-8"

[prompt]
ttl = "5m"

[harness.compaction]
trigger = 100_000

[[script]]
do = "user"
tokens = 100

[[script]]
do = "round"
result = 1_000
"""


def refused(text: str, *settings: str) -> FileProblem:
    with pytest.raises(WrittenFileError) as caught:
        parse(text, "test", "test.toml", settings)
    return caught.value.first


def test_a_good_one_is_accepted():
    (cell,) = parse(GOOD, "test", "test.toml")
    plan = cell.plan()
    assert (plan.name, plan.seed, plan.marks.ttl) == ("test", 1, 300)
    assert plan.harness.compaction is not None
    assert plan.harness.compaction.trigger == 100_000


@pytest.mark.parametrize(
    ("old", "new", "line", "reason", "remedy"),
    [
        ("trigger = 100_000", "triger = 100_000", 9, "harness.compaction.triger: no such key", "did you mean trigger?"),
        ("[prompt]", "[promt]", 5, "promt: no such key", "did you mean prompt?"),
        ("result = 1_000", "rezult = 1_000", 17, "script.1.rezult: no such key", "did you mean result?"),
        ("tokens = 100", "tokens = -1", 13, "script.0.tokens: expected `int` >= 0", None),
        ('do = "round"', 'do = "rond"', 16, "script.1.do: there is no such kind: 'rond'", "did you mean round?"),
        ('ttl = "5m"', 'ttl = "5 min"', 6, 'prompt.ttl: expected a lifetime such as "5m" or "1h", or "off"', None),
        ("trigger = 100_000", 'method = "quick"', 9, "harness.compaction.method: must be one of reuse_prefix, ", None),
        ('name = "claude-opus-4-8"', "", 2, "model.name: this key is missing", None),
        ("[model]", "[model", 2, "not TOML", None),
        (
            '"claude-opus-4-8"',
            '"m"\nprovider = "acme"',
            4,
            "model.provider: no rules are known for the provider 'acme'",
            None,
        ),
        (
            "[prompt]",
            '[harness]\nkeep_alive = "keep-alife"\n[prompt]',
            6,
            "harness.keep_alive: no policy is called",
            None,
        ),
        (
            "[prompt]",
            '[harness]\nkeep_alive = "ttl-1h"\n[prompt]',
            6,
            "harness.keep_alive: 'ttl-1h' is not a keep-alive",
            None,
        ),
        (
            "[prompt]",
            "[service]\nfirst_token = { median = 3 }\n[prompt]",
            6,
            "service.first_token.median: no such key",
            None,
        ),
        (
            "[prompt]",
            "[service]\nfirst_token = true\n[prompt]",
            6,
            "service.first_token: expected a number, or a table",
            None,
        ),
        (
            "[prompt]",
            "[service]\nfirst_token = { uniform = [3, 1] }\n[prompt]",
            6,
            "service.first_token: uniform: the second number is below the first",
            None,
        ),
        ("[prompt]", "[task]\n[prompt]", None, "expected either [task] or [[script]]", None),
        ("[prompt]", "[failures]\noverloaded = 0.8\ntimed_out = 0.3\n[prompt]", 5, "failures: the shares add up", None),
        (
            'story = "A test."',
            'story = "x"\nstart = 2026-09-01T10:00:00',
            2,
            "start: expected `datetime` with a timezone component",
            None,
        ),
    ],
)
def test_errors_name_the_line_the_key_and_the_nearest_right_one(
    old: str, new: str, line: int | None, reason: str, remedy: str | None
):
    assert old in GOOD
    error = refused(GOOD.replace(old, new, 1))
    assert error.file == "test.toml"
    assert error.what.startswith(reason)
    assert error.remedy
    assert remedy is None or error.remedy == remedy
    if line is not None:
        assert error.line == line


def test_a_wrong_setting_is_no_fault_of_the_file():
    error = refused(GOOD, "prompt.tttl=5m")
    assert (error.file, error.line) == (None, None)
    assert error.remedy == "did you mean ttl?"


def test_files_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(WrittenFileError, match="no such scenario") as missing:
        load(str(tmp_path / "none.toml"))
    assert missing.value.first.remedy == "'agentsim scenario list' lists the bundled ones"
    with pytest.raises(WrittenFileError) as near:
        load("atlas14")
    assert near.value.first.remedy == "did you mean atlas-14?"
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(WrittenFileError, match="not UTF-8"):
        load(str(binary))
    with pytest.raises(WrittenFileError):
        load(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "path", "values"),
    [
        ("a=1", "a", (1,)),
        ("a.b=1,2,4", "a.b", (1, 2, 4)),
        ("a=true,false", "a", (True, False)),
        ("prompt.ttl=5m,1h", "prompt.ttl", ("5m", "1h")),
        ("a=[1, 2],[3]", "a", ([1, 2], [3])),
        ('a="x,y",z', "a", ("x,y", "z")),
        ("a={ lognormal = { median = 1, p95 = 2 } }", "a", ({"lognormal": {"median": 1, "p95": 2}},)),
    ],
)
def test_settings(text: str, path: str, values: tuple[object, ...]):
    assert parse_setting(text) == (path, values)


@pytest.mark.parametrize("text", ["", "a", "=1", "a.=1", "a=", "a=1,,2", ".a=1"])
def test_settings_that_are_none(text: str):
    with pytest.raises(SweepError):
        parse_setting(text)


def test_a_sweep_tries_every_combination():
    found = parse(
        GOOD, "test", "test.toml", ["prompt.ttl=5m,1h", "harness.compaction.trigger=1000,2000,3000", "seed=9"]
    )
    assert len(found) == 6
    assert found[1].label == "prompt.ttl=5m, harness.compaction.trigger=2000"
    assert {cell.plan().marks.ttl for cell in found} == {300, 3_600}
    assert {cell.plan().seed for cell in found} == {9}
    compactions = [cell.plan().harness.compaction for cell in found]
    assert [one.trigger for one in compactions if one is not None] == [1_000, 2_000, 3_000] * 2


def test_a_setting_replaces_the_files_own_sweep():
    assert len(load("fanout-2x2", ["harness.fan_out.mark=true"])) == 2
    assert len(load("fanout-2x2", ["harness.fan_out.mark=true", "harness.fan_out.wait=end"])) == 1


def test_a_step_of_a_script_can_be_set():
    (cell,) = load("atlas-14", ["script.0.tokens=5"])
    step = next(iter(cell.plan().source.steps(None)))  # type: ignore[arg-type]
    assert step.blocks == (5,)  # type: ignore[union-attr]
    with pytest.raises(WrittenFileError, match="expected a number from 0 to"):
        load("atlas-14", ["script.99.tokens=5"])


def test_too_many_combinations():
    values = ",".join(str(number) for number in range(1, 102))
    with pytest.raises(WrittenFileError, match=f"more than {MOST_CELLS:,}"):
        load("atlas-14", [f"seed={values}", f"model.window={values}"])
