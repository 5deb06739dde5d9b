"""Lives sessions, writes them down, has them judged and adds up the scores."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.verdicts.evidence_files import FORMS, write_lines
from benchmarks.verdicts.harness_logs import HARNESS_FORMS
from benchmarks.verdicts.judged_by_agentsim import judge
from benchmarks.verdicts.session_living import Order, live
from benchmarks.verdicts.simulated_agent import Life
from benchmarks.verdicts.verdict_scores import Board, Said

Judge = Callable[[Path], list[tuple[str, Said]]]
"""Judges a file: the requests with their verdicts, in the order of their starts."""
FAILING = ("wrong", "missed", "alarm", "open")


@dataclass
class Outcome:
    """What a run found: the board, how many sessions and files there were, and the failing rows."""

    board: Board = field(default_factory=Board)
    sessions: int = 0
    files: int = 0
    rows: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)

    def plus(self, other: Outcome) -> None:
        """Take in what another part of the run found."""
        self.board.plus(other.board)
        self.sessions += other.sessions
        self.files += other.files
        self.rows += other.rows
        self.failures += other.failures


def forms_of(life: Life, unseen: tuple[str, ...]) -> list[str]:
    """The forms in which a session can be written."""
    harness = {"claude": "claude-code", "codex": "codex"}.get(life.family)
    forms = ["codex", "counters"] if life.family == "codex" else list(FORMS)
    if harness is not None and harness not in forms:
        forms.append(harness)
    return [form for form in forms if form not in unseen]


def write_form(life: Life, form: str, folder: Path) -> Path:
    """Write a session in one form; the file."""
    writer = FORMS.get(form) or HARNESS_FORMS[form]
    name = f"rollout-{life.id}" if form == "codex" else life.id
    return write_lines(folder / form.replace("/", "-") / f"{name}.jsonl", writer(life))


def run(
    orders: Iterable[Order], *, keep: Path | None = None, judged_by: Judge = judge, forms: tuple[str, ...] = ()
) -> Outcome:
    """Live these sessions and score the verdicts on them. ``keep`` is where the files of failing sessions stay, their
    truth beside them; ``forms`` limits the forms of evidence."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="verdicts-") as scratch:
        for order in orders:
            _run_one(order, Path(scratch), keep, judged_by, forms, outcome)
    return outcome


def _run_one(
    order: Order, scratch: Path, keep: Path | None, judged_by: Judge, forms: tuple[str, ...], outcome: Outcome
) -> None:
    life = live(order)
    outcome.sessions += 1
    for form in forms_of(life, order.cell.unseen):
        if forms and form not in forms:
            continue
        path = write_form(life, form, scratch)
        calls = sorted(life.logged(), key=lambda call: call.start)
        said = by_call([call.id for call in calls], judged_by(path))
        outcome.files += 1
        score = outcome.board.of(life.cell, life.family, form)
        failed = False
        for number, call in enumerate(calls):
            outcome.rows += 1
            verdict = said.get(call.id)
            grade = score.add(call.truth, verdict, form)
            if grade in FAILING:
                failed = True
                outcome.failures.append(_failure(life, form, number, call.id, grade, call.truth, verdict))
        if failed and keep is not None:
            kept = keep / path.relative_to(scratch)
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, kept)
            truth = [{"request": call.id, **call.truth.as_json()} for call in life.logged()]
            write_lines(keep / "truth" / f"{life.id}.jsonl", truth)
        path.unlink()


def by_call(ids: list[str], judged: list[tuple[str, Said]]) -> dict[str, Said]:
    """Verdicts by the call that they are of: by its id, or by its place where a log has no ids of calls."""
    found = dict(judged)
    if found.keys().isdisjoint(ids) and len(judged) == len(ids):
        return dict(zip(ids, (said for _, said in judged), strict=True))
    return found


def _failure(
    life: Life, form: str, number: int, request: str, grade: str, truth: Any, said: Said | None
) -> dict[str, Any]:
    return {
        "cell": life.cell,
        "family": life.family,
        "form": form,
        "session": life.id,
        "model": life.rules.model,
        "row": number + 1,
        "request": request,
        "grade": grade,
        "truth": truth.as_json(),
        "said": None if said is None else {name: getattr(said, name) for name in said.__dataclass_fields__},
    }


def write_failures(path: Path, failures: list[dict[str, Any]]) -> None:
    """A line for each failing row."""
    path.write_text("".join(json.dumps(failure) + "\n" for failure in failures))
