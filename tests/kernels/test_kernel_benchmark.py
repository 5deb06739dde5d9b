"""The benchmark of the kernels where no GPU is: what it compiles, what it keeps, and which cases it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="triton is not installed")

from benchmarks.ahead_of_time import Compiled
from benchmarks.kernel_compiling import tasks_of
from benchmarks.kernel_results import Results
from benchmarks.kernels import cases, main, tiles_to_try


def test_each_kernel_is_compiled_once_for_all_cases_that_launch_it():
    chosen = [case for case in cases() if case.kernel == "paged_attention"]
    tasks = list(tasks_of(chosen, [90], tuning=False))
    # Decoding alone and in splits, prompts alone and in splits, and the combination of splits.
    assert len(chosen) == 9
    assert len(tasks) == 5
    assert {task.line for task in tasks} <= {case.line for case in chosen}


def test_tuning_tries_no_tile_twice():
    for case in cases():
        tiles = tiles_to_try(case)
        assert len(tiles) == len(set(tiles)) == 48


def test_what_was_measured_is_kept_though_the_run_ended_early(tmp_path: Path):
    path = tmp_path / "folder" / "results.jsonl"
    results = Results(path)
    assert results.kept("a") is None
    results.keep("a", [["ours", "1.0"]])
    results.keep("b", [])
    with path.open("a") as file:
        file.write('{"case": "c", "li')  # the run was ended while it wrote
    again = Results(path)
    assert (again.kept("a"), again.kept("b"), again.kept("c")) == ([["ours", "1.0"]], [], None)
    again.keep("c", [["ours", "2.0"]])
    assert Results(path).kept("c") == [["ours", "2.0"]]
    again.forget()
    assert Results(path).kept("a") is None


@pytest.mark.parametrize(
    ("registers", "shared", "warps", "programs"),
    [
        (128, 0, 4, 4),  # 65,536 / (128 × 32 × 4)
        (129, 0, 4, 3),  # rounded up to 136
        (32, 70 * 1024, 4, 3),  # 228 KiB / (70 + 1)
        (32, 75 * 1024, 4, 3),  # exactly three
        (32, 75 * 1024 + 1, 4, 2),
        (16, 0, 1, 32),  # no more programs than 32
        (16, 0, 8, 8),  # nor warps than 64
    ],
)
def test_how_many_programs_a_multiprocessor_holds(registers: int, shared: int, warps: int, programs: int):
    assert Compiled("k", registers, 0, shared, warps, "").programs(90) == programs


def test_cases_are_chosen_by_words(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.argv", ["kernels", "--case", "int4 64", "--case", "copy"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ") and "--" not in line]
    assert [line.split(" | ")[0].strip("| ") for line in lines[1:]] == [
        "paged_attention_int4", "paged_attention_int4", "pack_int4", "copy_pages",
    ]  # fmt: skip
    monkeypatch.setattr("sys.argv", ["kernels", "--case", "nothing like it"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
