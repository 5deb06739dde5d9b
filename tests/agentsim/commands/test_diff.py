"""``agentsim diff``."""

import json
from pathlib import Path

import pytest

from agentsim.cli import main
from tests.agentsim.budget.recorded import after, before, write

SAMPLES = Path(__file__).resolve().parents[3] / "traces" / "samples"
AFTER, BEFORE = str(SAMPLES / "gate-after.jsonl"), str(SAMPLES / "gate-before.jsonl")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of one width, wherever the tests run."""
    monkeypatch.setenv("COLUMNS", "100")


def test_the_page_names_the_request_the_block_and_the_difference(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", BEFORE, AFTER]) == 0
    out = capsys.readouterr().out
    assert "  7  1,000 → 10,400  9,400 → 0  $0.0084 → $0.0408  +$0.0324  hit → MISS AS103" in out
    assert "differs from the old prompt: tools[0] fetch_page moved" in out
    assert "11 requests came out the same" in out
    assert "cost                                     $0.1104  $0.1428  +$0.0324     +29.38 %" in out
    assert "  AS103 The tools came in another order        0        1        +1" in out


def test_the_way_back_is_a_saving(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", AFTER, BEFORE, "--max-growth", "0"]) == 0
    out = capsys.readouterr().out
    assert "-$0.0324" in out
    assert "MISS AS103 → hit" in out


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--max-growth", "30%"], 0),  # it grew by 29.38 %
        (["--max-growth", "29%"], 1),
        (["--max-growth", "0.03243"], 0),
        (["--max-growth", "0.032429"], 1),
        (["--max-growth", "30%", "--max-growth", "0.01"], 1),
        (["--max-cost", "0.1428"], 0),
        (["--forbid", "AS103"], 1),
        (["--max-growth", "x"], 2),
    ],
)
def test_budgets_decide_the_exit_code(options: list[str], code: int) -> None:
    assert main(["diff", BEFORE, AFTER, *options]) == code


def test_budgets_of_a_configuration_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(before(), tmp_path / "old.jsonl")
    write(after(), tmp_path / "new.jsonl")
    (tmp_path / "agentsim.toml").write_text("[[budget]]\nmax-growth = {misses = 0}\n")
    assert main(["diff", "old.jsonl", "new.jsonl"]) == 0, "not named"
    assert main(["diff", "old.jsonl", "new.jsonl", "--config", "agentsim.toml"]) == 1


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", BEFORE, AFTER, "--json", "--max-growth", "5%"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["outcome"], document["exit_code"]) == ("broken", 1)
    assert document["more"] == {"cost": "0.03243", "input_equivalents": "10810", "misses": 1}
    assert len(document["pairs"]) == 12
    seventh = document["pairs"][6]
    assert seventh["first_difference"]["address"] == "tools[0]"
    assert (seventh["old"]["kind"], seventh["new"]["cause"], seventh["more_cost"]) == ("hit", "AS103", "0.03243")


def test_a_side_that_cannot_be_read_is_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.jsonl").write_text("not a log\n")
    for pair in ([str(tmp_path / "bad.jsonl"), AFTER], [BEFORE, str(tmp_path / "no.jsonl")]):
        assert main(["diff", *pair]) == 3
        assert capsys.readouterr().err.count("\n") == 1


def test_a_session_is_chosen_where_there_are_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = tmp_path / "both"
    write(before(id="run-1"), both / "a.jsonl")
    write(after(id="run-2"), both / "b.jsonl")
    assert main(["diff", str(both), str(both)]) == 2
    assert "--session" in capsys.readouterr().err
    assert main(["diff", str(both), str(both), "--session", "run-1"]) == 0
