"""The tables of a run, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.verdicts.benchmark_run import Outcome
from benchmarks.verdicts.peers.peer_comparison import OURS, ahead_of_us
from benchmarks.verdicts.verdict_scores import Board, Score

GRADES = ("right", "coarse", "named", "open", "wrong", "missed")
FAMILIES = {"breakpoints": ("claude", "gpt-5.6"), "automatic": ("openai", "deepseek", "codex")}


def page(outcome: Outcome, seed: int, seconds: float | None = None) -> str:
    """All tables of a run."""
    took = "" if seconds is None else f", {seconds:.0f} s"
    return "\n\n".join(
        [
            f"Seed {seed}: {outcome.sessions:,} sessions, {outcome.files:,} files, {outcome.rows:,} requests{took}.",
            _by_form(outcome.board),
            _by_cell(outcome.board),
        ]
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|--" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _by_form(board: Board) -> str:
    columns = ("evidence", "cache", "losses", *(f"{name} %" for name in GRADES), "healthy", "alarms")
    columns = (*columns, "named first %", "size right %", "size too large %")
    rows = []
    for form in board.forms():
        for cache, families in FAMILIES.items():
            score = board.total(form, families)
            if score.losses or score.healthy:
                rows.append((f"`{form}`", cache, *_sums(score)))
    return _table(columns, rows)


def _sums(score: Score) -> tuple[str, ...]:
    shares = (_percent(score.share(name)) for name in GRADES)
    close = _percent(score.close / score.sized) if score.sized else "–"
    above = _percent(score.above / score.sized) if score.sized else "–"
    first = _percent(score.first / score.losses) if score.losses else "–"
    return (f"{score.losses:,}", *shares, f"{score.healthy:,}", str(score.grades["alarm"]), first, close, above)


def peer_page(board: Board, seed: int, sessions: int) -> str:
    """Ours and others on the same files."""
    head = ("evidence", "program", "losses", *(f"{name} %" for name in GRADES), "healthy", "alarms")
    rows = []
    for form in board.forms():
        present = {program for _, program, of in board.scores if of == form}
        programs = sorted(present, key=lambda name: (name != OURS, name))
        for program in programs:
            score = board.total(form, (program,))
            rows.append((f"`{form}`", program, *_sums(score)[:9]))
    ahead: dict[tuple[str, str], list[str]] = {}
    for cell, program, form in ahead_of_us(board):
        ahead.setdefault((program, form), []).append(cell)
    told = "No program is ahead in any cell."
    if ahead:
        lines = [f"- `{form}`, {program}: {', '.join(cells)}" for (program, form), cells in ahead.items()]
        told = "\n".join(("Right more often than agentsim is right or names the cause:", "", *lines))
    return "\n\n".join((f"Seed {seed}: {sessions:,} heavy sessions.", _table(head, rows), told))


def _by_cell(board: Board) -> str:
    """For each cell and family and each form: how many of how many were right or coarse, then named, then wrong."""
    forms = board.forms()
    rows = []
    for cell, family in sorted({(cell, family) for cell, family, _ in board.scores}):
        row = [cell, family]
        for form in forms:
            score = board.scores.get((cell, family, form))
            row.append("" if score is None else _cell(score))
        rows.append(row)
    return _table(("cell", "family", *(f"`{form}`" for form in forms)), rows)


def _cell(score: Score) -> str:
    grades = score.grades
    if not score.losses:
        return f"quiet {grades['quiet']}" + (f" **alarm {grades['alarm']}**" if grades["alarm"] else "")
    text = f"{grades['right'] + grades['coarse']}/{score.losses}"
    for name in ("named", "open", "wrong", "missed"):
        if grades[name]:
            shown = f"{name} {grades[name]}"
            text += f", **{shown}**" if name in ("wrong", "missed") else f", {shown}"
    return text + (f", **alarm {grades['alarm']}**" if grades["alarm"] else "")
