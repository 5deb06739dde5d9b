from fractions import Fraction
from pathlib import Path

import pytest

from agentsim.budget.budget_config import find_config, load_config
from agentsim.core.file_problems import WrittenFileError

FULL = """
traces = ["rec/**/*.jsonl"]
baseline = "accepted.json"

[[budget]]
name = "shop"
traces = "rec/shop/*.jsonl"
level = "warn"
judge = "together"
allow-skipped = 2
max-cost = 0.1
max-input-equivalents = 40_400
min-hit-rate = "85%"
max-misses = {total = 3, AS103 = 0, tools-removed = 1}
max-lost-cost = "$0.05"
forbid = ["AS4xx", "AS101"]
max-growth = {cost = ["5%", "0.01"], input-equivalents = 1000, misses = 0}
""".replace("tools-removed", "tool-removed")


def written(tmp_path: Path, text: str, name: str = "agentsim.toml") -> str:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return str(tmp_path / name)


def test_everything_that_can_be_written(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, FULL))
    assert (config.traces, config.baseline, config.root) == (("rec/**/*.jsonl",), "accepted.json", str(tmp_path))
    (budget,) = config.budgets
    assert (budget.name, budget.level, budget.judge, budget.allow_skipped) == ("shop", "warn", "together", 2)
    assert [(one.kind, one.cause or one.metric, one.value, one.relative, one.line) for one in budget.limits] == [
        ("max-cost", None, 10**11, False, 11),  # 0.1 is a tenth, not the binary number beside it
        ("max-input-equivalents", None, 40_400 * 10**6, False, 12),
        ("min-hit-rate", None, Fraction(85, 100), False, 13),
        ("max-misses", None, 3, False, 14),
        ("max-misses", "AS103", 0, False, 14),
        ("max-misses", "AS102", 1, False, 14),  # a short name means its code
        ("max-lost-cost", None, 5 * 10**10, False, 15),
        ("forbid", "AS4xx", 0, False, 16),
        ("forbid", "AS101", 0, False, 16),
        ("max-growth", "cost", Fraction(5, 100), True, 17),
        ("max-growth", "cost", 10**10, False, 17),
        ("max-growth", "input-equivalents", 10**9, False, 17),
        ("max-growth", "misses", 0, False, 17),
    ]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("[[budget]]\nmax_cost = 1", 2, "budget.0.max_cost: no such key; did you mean max-cost?"),
        ("[[budget]]\nmax-cots = 1", 2, "did you mean max-cost?"),
        ("budgets = []", 1, "budgets: no such key; did you mean budget?"),
        ("[[budget]]\nxyzzy = 1", 2, "budget.0.xyzzy: no such key; there are name, "),
        ("[budget]\nmax-cost = 1", 1, "budget: must be a list of tables; write [[budget]]"),
        ("[[budget]]\n\nmax-cost = -1", 3, "budget.0.max-cost: must not be negative"),
        ("[[budget]]\nmax-cost = []", 2, "must be dollars"),
        ("[[budget]]\nmax-cost = inf", 2, "must be dollars"),
        ("[[budget]]\nmin-hit-rate = 85", 2, "more than the whole"),
        ('[[budget]]\nmax-misses = "few"', 2, "must be a whole number"),
        ("[[budget]]\nmax-misses = {total = 1, AS1O3 = 1}", 2, "no cause is called 'AS1O3'; did you mean AS1"),
        (
            "[[budget]]\n[budget.max-misses]\ntotal = 1\nAS103 = -1",
            4,
            "max-misses.AS103: must not be negative",
        ),
        ('[[budget]]\nforbid = [\n"AS103",\n"tools-reorderd"]', 4, "did you mean tools-reordered?"),
        ('[[budget]]\nforbid = "AS8xx"', 2, "no cause is called 'AS8xx'"),
        ('[[budget]]\ntraces = ["ok/*.jsonl",\n"/abs/*.jsonl"]', 3, "must be relative"),
        ('[[budget]]\ntraces = "rec/[a.jsonl"', 2, "has a [ that is not closed"),
        ("[[budget]]\ntraces = 3", 2, "must be a pattern of file names"),
        ('[[budget]]\nmax-growth = {costs = "5%"}', 2, "did you mean cost?"),
        ('[[budget]]\nmax-growth = "-5%"', 2, "must not be negative"),
        ('[[budget]]\njudge = "all"', 2, "must be 'each' or 'together'"),
        ('[[budget]]\nname = ""\nmax-cost = 1', 2, "must be a short text"),
        ('[[budget]]\nname = "a"', 1, "the budget 'a' limits nothing"),
        ('[[budget]]\nname="a"\nmax-cost=1\n[[budget]]\nname="a"\nmax-cost=1', 5, "two budgets are called 'a'"),
        ("[[budget]]\nmax-cost 1", 2, "not TOML"),
        ("baseline = 3", 1, "must be a short text"),
        ("[[budget]]\nmax-cost = 1\nmax-cots = 1\nfoo = 2", 3, "max-cots"),
    ],
)
def test_an_error_names_the_file_the_line_the_key_and_what_to_write(
    text: str, line: int, says: str, tmp_path: Path
) -> None:
    file = written(tmp_path, text)
    with pytest.raises(WrittenFileError) as caught:
        load_config(file)
    assert (caught.value.first.file, caught.value.first.line) == (file, line)
    assert says in f"{caught.value.first.what}; {caught.value.first.remedy}"


def test_a_file_that_is_no_text_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "agentsim.toml"
    file.write_bytes(b'baseline = "x"\n# \xff')
    with pytest.raises(WrittenFileError, match="not UTF-8") as caught:
        load_config(str(file))
    assert caught.value.first.line == 2


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(WrittenFileError, match="No such file"):
        load_config(str(tmp_path / "agentsim.toml"))


def test_a_table_in_a_project_file_has_the_lines_of_that_file(tmp_path: Path) -> None:
    head = '[project]\nname = "x"\n\n[tool.other]\nmax-cost = "not ours"\n'
    file = written(tmp_path, head + "[[tool.agentsim.budget]]\nmax-cost = 1\n", "pyproject.toml")
    (budget,) = load_config(file).budgets
    assert (budget.line, budget.limits[0].line) == (6, 7)
    file = written(tmp_path, head + "[[tool.agentsim.budget]]\nmax_cost = 1\n", "pyproject.toml")
    with pytest.raises(WrittenFileError) as caught:
        load_config(file)
    assert caught.value.first.line == 7


def test_the_nearest_configuration_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    written(tmp_path, "[tool.agentsim]\n", "pyproject.toml")
    monkeypatch.chdir(inner)
    assert find_config() == "../../pyproject.toml"
    written(tmp_path, "")
    assert find_config() == "../../agentsim.toml", "in one folder its own file counts first"
    written(tmp_path / "a", "[project]\n", "pyproject.toml")
    assert find_config() == "../../agentsim.toml", "a project without the table is passed over"
    written(inner, "[tool.agentsim.x]\n", "pyproject.toml")
    assert find_config() == "pyproject.toml"
    written(inner, "tool.agentsim = broken", "pyproject.toml")
    assert find_config() == "../../agentsim.toml"
