"""Policies compared, on a screen: how far to trust it, what each would have saved, and how to follow those that do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.saving_words import interval_words, saving_words
from agentsim.report.screen.policies_page import HARNESS_NAMES
from agentsim.report.table import TableColumn, write_table
from agentsim.whatif.backtest_standing import fails

if TYPE_CHECKING:
    from agentsim.whatif.comparison import Combination, Comparison, NotTried, Outcome
    from agentsim.whatif.policy_simulation import SimulatedSums
    from agentsim.whatif.reproduction import Calibration
    from agentsim.whatif.saving_interval import SavingInterval

COLUMNS = (
    TableColumn("policy", "<", 9, 16),
    TableColumn("requests", ">", 3),
    TableColumn("written", ">", 5),
    TableColumn("read", ">", 4),
    TableColumn("hit %", ">", 6),
    TableColumn("cost", ">", 7),
    TableColumn("saves alone", ">", 9),
    TableColumn("between", ">", 6),
    TableColumn("input equivalents", ">", 2),
)

STEP_COLUMNS = (
    TableColumn("policy", "<", 9, 16),
    TableColumn("alone", ">", 5),
    TableColumn("adds", ">", 8),
    TableColumn("between", ">", 4),
    TableColumn("together", ">", 7),
    TableColumn("between", ">", 6),
    TableColumn("input equivalents", ">", 2),
)

CENT = 10**10
"""Picodollars of a cent."""

MOST_TOLD = 8
"""Policies that save and are explained below the table."""


def write_comparison(paper: Paper, comparison: Comparison) -> None:
    """Write a comparison. Where money is withheld, the reason stands before everything else."""
    if not comparison.sessions:
        paper.paragraph((f"No money is named: {comparison.withheld}.", Style.BAD))
        _left(paper, "Sessions left out", comparison.left_out)
        return
    write_trust(paper, comparison)
    paper.line()
    same = [outcome for outcome in comparison.outcomes if outcome.policy.changes is None]
    other = [outcome for outcome in comparison.outcomes if outcome.policy.changes is not None]
    write_table(paper, COLUMNS, _rows(comparison, same))
    if other:
        paper.line()
        paper.paragraph(
            ("The model would be shown something else", Style.STRONG),
            ": that it works on with the same requests and answers is assumed, not simulated. --combine takes these "
            "only by name.",
        )
        write_table(paper, COLUMNS, _of_policies(comparison, other))
    saving = [outcome for outcome in comparison.outcomes if outcome.told is not None and outcome.told > 0]
    if comparison.withheld is None:
        _unproven(paper, comparison.outcomes)
    if any(o.interval is not None and not o.interval.sign_holds and not o.is_unproven for o in comparison.outcomes):
        paper.paragraph(
            ("unclear", Style.STRONG),
            ": it may save or cost. How long entries live beyond their lifetime, which are dropped early, and what "
            "other sessions keep, no log tells.",
        )
    _stories(paper, saving, comparison.harness)
    if comparison.combined is not None:
        _combined(paper, comparison.combined)
    _left(paper, "Not tried", comparison.not_tried)
    _left(paper, "Sessions left out", comparison.left_out)


def harness_key(name: str | None) -> str:
    """Whose instructions a session's harness follows."""
    words = (name or "").lower().replace("_", "-")
    if "claude" in words:
        return "claude-code"
    return "pi" if words in ("pi", "pi-mono") else "own-code"


def write_trust(paper: Paper, comparison: Comparison) -> None:
    """Write how far a comparison can be trusted; where money is withheld, why."""
    calibration: Calibration = comparison.calibration
    paper.paragraph(
        (figures.plural(comparison.sessions, "session"), Style.STRONG),
        f" simulated as recorded. Known before looking: {calibration.exact:,} of "
        f"{figures.plural(calibration.rows, 'row')}"
        + (f", {calibration.lost_exact:,} of {calibration.lost:,} lost ones" if calibration.lost else "")
        + f"; {figures.per_cent(calibration.explained, calibration.tokens)} % of {calibration.tokens:,} tokens.",
    )
    if calibration.world:
        paper.paragraph(
            f"{figures.plural(calibration.world, 'row')} came out only with a fact about the world around the session: "
            "an entry that others kept, one that lived longer, one that was dropped. Policies live with the same facts."
        )
    if calibration.logged and comparison.withheld is None:
        places = figures.places_for([calibration.logged])
        off = "to the cent, row by row" if calibration.off < CENT else f"{figures.money(calibration.off, places)} apart"
        paper.paragraph(
            f"The bill of the log is {figures.money(calibration.logged, places)}; simulated, it comes out {off}."
        )
    if calibration.rebuilt:
        paper.paragraph(
            f"{figures.plural(calibration.rebuilt, 'row')} came without a body: their prompts were made from the "
            "counters, so that the bill agrees by construction. What was known before looking does not."
        )
    if comparison.withheld is not None:
        paper.paragraph((f"No money is named: {comparison.withheld}.", Style.BAD))
    if comparison.recorded.unpriced:
        requests = figures.plural(comparison.recorded.unpriced, "request")
        models = ", ".join(comparison.without_price) or "an unnamed model"
        paper.paragraph((f"Not priced, and in no cost: {requests}, of {models}.", Style.WARN))


def _of_policies(comparison: Comparison, outcomes: Sequence[Outcome]) -> list[list[Span]]:
    shown = comparison.withheld is None
    places = figures.places_for([comparison.recorded.cost])
    return [
        _row(
            outcome.policy.spec + (" *" if outcome.policy.changes else ""),
            outcome.sums,
            None if outcome.is_unproven else outcome.saving,
            outcome.told_equivalents,
            shown and not outcome.is_unproven,
            places,
            None if outcome.is_unproven else outcome.interval,
        )
        for outcome in outcomes
    ]


def _rows(comparison: Comparison, outcomes: Sequence[Outcome]) -> list[list[Span]]:
    shown = comparison.withheld is None
    places = figures.places_for([comparison.recorded.cost])
    rows = [_row(("as recorded", Style.STRONG), comparison.recorded, None, None, shown, places)]
    rows += _of_policies(comparison, outcomes)
    combined = comparison.combined
    if combined is not None and combined.steps:
        rows.append(
            _row(
                ("the best together", Style.STRONG),
                combined.sums,
                None if combined.is_unproven else combined.saving,
                combined.told_equivalents,
                shown and not combined.is_unproven,
                places,
                None if combined.is_unproven else combined.interval,
            )
        )
    return rows


def _row(
    name: Span,
    sums: SimulatedSums,
    saving: int | None,
    equivalents: int | None,
    shown: bool,
    places: int,
    interval: SavingInterval | None = None,
) -> list[Span]:
    read, total = sums.hit_rate
    style = Style.PLAIN if not saving else Style.GOOD if saving > 0 else Style.BAD
    if interval is not None and not interval.sign_holds:
        style = Style.FAINT
    return [
        name,
        figures.count(sums.requests),
        figures.count(sums.written),
        figures.count(sums.read),
        figures.per_cent(read, total),
        figures.UNKNOWN if not shown or sums.known_cost is None else figures.money(sums.cost, places),
        (saving_words(saving, interval, places), style),
        interval_words(interval, places),
        figures.equivalents(equivalents),
    ]


def _unproven(paper: Paper, outcomes: Sequence[Outcome]) -> None:
    """Name the policies of which no dollars are told, and why."""
    unproven = sorted({outcome.policy.name for outcome in outcomes if outcome.is_unproven})
    failed = [name for name in unproven if fails(name)]
    if failed:
        paper.paragraph(
            (", ".join(failed), Style.STRONG),
            ": no dollars, because predictions were wrong too often where agents really followed it "
            "(docs/whatif-benchmark.md).",
        )
    unmeasured = [name for name in unproven if not fails(name)]
    if unmeasured:
        paper.paragraph(
            (", ".join(unmeasured), Style.STRONG),
            ": not measured, and so no dollars: predictions of it were not held against agents that really followed it "
            "often enough (docs/whatif-benchmark.md).",
        )


def _stories(paper: Paper, saving: Sequence[Outcome], harness: str | None) -> None:
    if any(outcome.policy.changes for outcome in saving):
        paper.paragraph(("* the model would have been shown something else", Style.FAINT))
    key = harness_key(harness)
    for outcome in saving[:MOST_TOLD]:
        policy = outcome.policy
        paper.line()
        paper.line((policy.spec, Style.STRONG))
        lines = [("what", policy.summary), ("if", policy.assumes)]
        if policy.changes:
            lines.append(("shown", f"The model is shown something else: {policy.changes}."))
        lines.append((HARNESS_NAMES[key], policy.how[key]))
        widest = max(len(name) for name, _ in lines)
        for name, text in lines:
            lead: list[Span] = ["  ", (f"{name:<{widest}}", Style.FAINT), "  "]
            paper.paragraph(text, first=lead, rest=[" " * (widest + 4)])
    if len(saving) > MOST_TOLD:
        paper.line()
        paper.paragraph(
            (f"{len(saving) - MOST_TOLD} more save something: agentsim policies NAME explains.", Style.FAINT)
        )


def _combined(paper: Paper, combined: Combination) -> None:
    paper.line()
    if not combined.steps:
        paper.line(("Together", Style.STRONG), ": no policy saves anything.")
        return
    paper.line(("Together", Style.STRONG), ", each simulated on top of those above it")
    proven = [step for step in combined.steps if not step.is_unproven]
    places = figures.places_for([amount for step in proven for amount in (step.alone, step.added, step.together)])

    def told(amount: int | None, interval: SavingInterval | None, shown: bool) -> list[Span]:
        """An amount as far as it is told, and where it lies."""
        return [
            saving_words(amount if shown else None, interval, places),
            interval_words(interval if shown else None, places),
        ]

    rows: list[list[Span]] = []
    shown = True
    for step in combined.steps:
        shown = shown and not step.is_unproven
        rows.append(
            [
                step.policy.spec + (" *" if step.policy.changes else ""),
                told(step.alone, step.alone_interval, not step.is_unproven)[0],
                *told(step.added, step.added_interval, shown),
                *told(step.together, step.together_interval, shown),
                figures.equivalents(step.together_equivalents if shown else None),
            ]
        )
    write_table(paper, STEP_COLUMNS, rows, indent=2)
    alone = [step.alone for step in combined.steps if step.alone is not None]
    if combined.told is not None and len(alone) == len(combined.steps) > 1 and sum(alone) != combined.told:
        paper.paragraph(
            f"Their savings alone add up to {figures.money(sum(alone), places)}; together they save "
            f"{figures.money(combined.told, places)}.",
            first=["  "],
            rest=["  "],
        )


def _left(paper: Paper, title: str, items: Sequence[NotTried]) -> None:
    if not items:
        return
    by_reason: dict[str, list[str]] = {}
    for item in items:
        by_reason.setdefault(item.reason, []).append(item.name)
    paper.line()
    paper.line((title, Style.STRONG))
    for reason, names in by_reason.items():
        paper.paragraph((", ".join(names), Style.FAINT), (f": {reason}", Style.FAINT), first=["  "], rest=["    "])
