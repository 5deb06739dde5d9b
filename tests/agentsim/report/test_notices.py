"""What goes to stderr."""

import io
import itertools
import time

import pytest

from agentsim.core.session import Accounting, Problem
from agentsim.report.exits import ExitCode, Failure
from agentsim.report.notices import complain, tell_problems
from agentsim.report.progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_failure_names_file_line_and_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    complain(Failure("not JSON", file="a\x1b[2J.jsonl", line=12, remedy="cut the line off"))
    assert capsys.readouterr().err == "agentsim: error: a␛[2J.jsonl:12: not JSON; cut the line off\n"


def test_a_failure_is_about_an_input_unless_it_says_otherwise() -> None:
    assert Failure("x").code is ExitCode.UNREADABLE


def test_five_problems_are_told_and_the_others_counted(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [Problem(file="f", line=n, reason="not JSON", remedy="see") for n in range(1, 9)]
    tell_problems(problems, [Accounting(rows=10, skipped=(("not JSON", 8),)), Accounting(rows=5)])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "agentsim: skipped: f:1: not JSON; see"
    # 8 - 5 = 3, of 10 + 5 = 15 rows
    assert lines[5:] == [
        "agentsim: note: 3 more problems like these; --json lists them all",
        "agentsim: note: 8 of 15 rows left out: not JSON 8",
    ]


def test_nothing_to_tell_is_silence(capsys: pytest.CaptureFixture[str]) -> None:
    tell_problems([], [Accounting(rows=3, used=3)])
    assert capsys.readouterr().err == ""


def test_a_bar_is_drawn_for_a_person_and_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = itertools.count(step=1.0)
    monkeypatch.setattr("agentsim.report.progress.time.monotonic", lambda: next(moments))
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    with ProgressBar("reading", stream) as bar:
        bar(1, 2)
        bar(0, 0)
    # Half of thirty cells.
    assert stream.getvalue() == "\rreading " + "█" * 15 + "░" * 15 + "  50 %\x1b[K" + "\r\x1b[K"


def test_a_bar_counts_and_says_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([0.0, 2.0, 3.0])
    monkeypatch.setattr("agentsim.report.progress.time.monotonic", lambda: next(moments))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "90")
    stream = Terminal()
    with ProgressBar("reading", stream, unit="file") as bar:
        bar(1, 4)
        monkeypatch.setenv("COLUMNS", "66")
        bar(3, 4)
    first, second = stream.getvalue().split("\r")[1:3]
    assert first.endswith("  25 % · 1 of 4 files · 6 s left\x1b[K")
    assert second.endswith("  75 % · 3 of 4 files\x1b[K")  # 66 columns have no room for more


@pytest.mark.parametrize(("done", "seconds", "told"), [(4, 2.0, False), (5, 2.0, True), (5, 1.9, False)])
def test_the_time_left_is_told_once_enough_is_done(monkeypatch, done, seconds, told) -> None:
    moments = iter([0.0, seconds])
    monkeypatch.setattr("agentsim.report.progress.time.monotonic", lambda: next(moments))
    stream = Terminal()
    with ProgressBar("reading", stream) as bar:
        bar(done, 100)
    assert ("left" in stream.getvalue()) is told


def test_a_bar_that_ticks_is_drawn_while_the_work_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsim.report.progress.TICK_SECONDS", 0.01)
    monkeypatch.setattr("agentsim.report.progress.PATIENCE_SECONDS", 0)
    stream = Terminal()
    with ProgressBar("reading", stream, ticks=True):
        for _ in range(500):
            if stream.getvalue():
                break
            time.sleep(0.01)
    assert "reading" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_short_work_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsim.report.progress.time.monotonic", lambda: 1.0)
    stream = Terminal()
    with ProgressBar("reading", stream) as bar:
        bar(1, 2)
    assert stream.getvalue() == ""


def test_nobody_watches_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = itertools.count(step=1.0)
    monkeypatch.setattr("agentsim.report.progress.time.monotonic", lambda: next(moments))
    stream = io.StringIO()
    with ProgressBar("reading", stream) as bar:
        bar(1, 2)
    assert stream.getvalue() == ""
