"""Simulated agents on the engine, on a screen and for programs: what a rule predicted beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentsim.report.figures import count, exact, per_cent, plural, span
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.screen.engine_replay_page import milliseconds
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.core.verdict import Verdict
    from agentsim.engine.engine_run import EngineRun, EngineRunRow

_LAST = (
    TableColumn("requests"),
    TableColumn("prompts"),
    TableColumn("predicted"),
    TableColumn("measured"),
    TableColumn("", "<", 7),
    TableColumn("first token ms", ">", 6),
)


def write_engine_runs(
    paper: Paper, runs: Sequence[tuple[str, EngineRun]], verdicts: Sequence[Verdict] | None = None
) -> None:
    """Write what was measured, by combination, and for a single run by what became of its requests."""
    first = runs[0][1]
    paper.line()
    paper.line(("On the engine", Style.STRONG))
    paper.paragraph(_words(first), first=["  "], rest=["  "])
    if verdicts is None:
        groups = [(label, run.rows) for label, run in runs]
        name = "combination"
    else:
        groups = _by_cause(first.rows, verdicts)
        name = "cause"
    rows = [[label or "all", *_cells(found)] for label, found in groups]
    write_table(paper, (TableColumn(name, "<", 8, 40), *_LAST), rows, indent=2)
    every = [row for _, run in runs for row in run.rows]
    agreeing = sum(row.agrees for row in every)
    style = Style.GOOD if agreeing == len(every) else Style.BAD
    busy = sum(run.busy for _, run in runs)
    paper.line(
        "  ",
        (f"{agreeing} of {plural(len(every), 'request')} read as predicted", style),
        f"; the engine computed {span(busy)}",
    )


def _words(run: EngineRun) -> str:
    share = "as they are" if run.scale == 1 else f"{run.scale:.4f} of their tokens"
    whose = f"what {run.rules} lets them read" if run.rules else "whatever is computed"
    return (
        f"{run.model}, {run.precision}, on {run.device.upper()}. Prompts are drawn from the blocks' digests, {share}, "
        f"in pages of {plural(run.page, 'token')}; requests read {whose}. Tokens here are the engine's."
    )


def _by_cause(rows: Sequence[EngineRunRow], verdicts: Sequence[Verdict]) -> list[tuple[str, tuple[EngineRunRow, ...]]]:
    known = {verdict.request: verdict for verdict in verdicts}
    groups: dict[str, list[EngineRunRow]] = {}
    for row in rows:
        verdict = known.get(row.request.id)
        name = "unreported" if verdict is None else verdict.cause or verdict.kind
        groups.setdefault(name, []).append(row)
    return [(name, tuple(found)) for name, found in groups.items()]


def _cells(rows: Sequence[EngineRunRow]) -> list[Span]:
    times = [row.measured.time_to_first_token for row in rows]
    same = all(row.agrees for row in rows)
    return [
        count(len(rows)),
        count(sum(row.measured.prompt for row in rows)),
        count(sum(row.predicted for row in rows)),
        count(sum(row.measured.reused for row in rows)),
        ("same", Style.GOOD) if same else ("differs", Style.BAD),
        milliseconds(round(sum(times) / len(times))) if times else "",
    ]


def engine_run_record(run: EngineRun) -> dict[str, Any]:
    """The same for programs. Times are integer nanoseconds."""
    prompt = sum(row.measured.prompt for row in run.rows)
    read = sum(row.measured.reused for row in run.rows)
    return {
        "model": run.model,
        "precision": run.precision,
        "device": run.device,
        "scale": run.scale,
        "page": run.page,
        "rules_on_pages": run.rules,
        "engine_seconds": exact(run.busy, 9),
        "agreeing": run.agreeing,
        "hit_per_cent": per_cent(read, prompt),
        "rows": [
            {
                "request": row.request.id,
                "lane": row.request.lane,
                "prompt": row.measured.prompt,
                "predicted": row.predicted,
                "measured": row.measured.reused,
                "first_token_ns": row.measured.time_to_first_token,
                "end_ns": row.measured.end,
                "joined_ns": row.measured.joined,
            }
            for row in run.rows
        ],
    }
