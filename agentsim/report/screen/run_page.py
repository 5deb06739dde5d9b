"""Simulations on a screen: the account of the whole task, or a table of the combinations that were tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsim.core.sums import Sums
from agentsim.harness.repeated_trials import METHOD, Estimate, RepeatedTrial, estimate
from agentsim.harness.task_account import CompactionCosts, TaskAccount, spread
from agentsim.report import figures
from agentsim.report.losses import write_losses
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table
from agentsim.report.verdict_words import PURPOSES

if TYPE_CHECKING:
    from agentsim.diagnose import Diagnosis

MILLION = 1_000_000

TAIL_NEEDS = 20
"""Tasks or turns without which a 95 % tail means nothing."""

NOT_MEASURABLE = (
    "Not measurable here: whether the work is right (a pass rate is an assumption of the scenario), the size of "
    "caches, what a provider restores inside, and how fast a real service answers on a given day."
)

STAGES = {
    "first_token": "waiting for first tokens",
    "output": "waiting for the rest of answers",
    "tools": "running tools",
    "pauses": "people",
    "failures": "waiting to try again",
}

_PURPOSE_COLUMNS = (
    TableColumn("purpose", "<"),
    TableColumn("requests"),
    TableColumn("written", ">", 6),
    TableColumn("read", ">", 6),
    TableColumn("fresh", ">", 5),
    TableColumn("output", ">", 4),
    TableColumn("cost"),
    TableColumn("share %", ">", 7),
)

_COMPACTION_COLUMNS: tuple[TableColumn, ...] = (
    TableColumn("combination", "<", 6, 12, "start"),
    TableColumn("lane", "<", 2),
    TableColumn("method", "<", 5),
    TableColumn("at", ">", 1),
    TableColumn("before", ">", 4),
    TableColumn("after", ">", 4),
    TableColumn("summary"),
    TableColumn("first after"),
    TableColumn("later"),
    TableColumn("later requests", ">", 3),
)


def write_run(paper: Paper, trials: Sequence[RepeatedTrial], story: str, diagnosis: Diagnosis | None = None) -> None:
    """Write what was simulated: one trial in full, several as a table. ``diagnosis`` judges a single run."""
    _heading(paper, trials, story)
    if len(trials) == 1:
        _account(paper, trials[0])
        if diagnosis is not None:
            write_losses(paper, diagnosis.totals.losses, diagnosis.totals.cost)
    else:
        _comparison(paper, trials)
    _compactions(paper, trials)
    _not_measurable(paper)


def _heading(paper: Paper, trials: Sequence[RepeatedTrial], story: str) -> None:
    first = trials[0]
    seeds = first.seeds
    name = first.name if len(trials) == 1 else first.name.split(".")[0]
    said = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    parts = [said]
    if len(trials) > 1:
        parts.append(figures.plural(len(trials), "combination"))
    requests = sum(account.total.requests for trial in trials for account in trial.accounts)
    parts.append(figures.plural(requests, "simulated request"))
    paper.paragraph((name, Style.STRONG), " · " + " · ".join(parts))
    if story.strip():
        paper.paragraph((" ".join(story.split()), Style.FAINT), first=["  "], rest=["  "])
    paper.line()


def _account(paper: Paper, trial: RepeatedTrial) -> None:
    account = trial.whole
    total = account.total
    lines: list[tuple[str, str, str]] = []
    each = " a run" if len(trial.seeds) > 1 else ""
    cost = trial.estimate(lambda one: one.total.known_cost)
    equivalents = trial.estimate(lambda one: one.total.known_equivalents)
    said = f"{figures.equivalents(None if equivalents is None else equivalents.mean)} input equivalents{each}"
    lines.append(("cost", _cost(cost), said))
    lines.append(
        (
            "hit rate",
            f"{_hit_rate(trial)} %",
            f"{figures.count(total.read)} of {figures.count(total.total_input)} input tokens read"
            + (" in all runs; the rate is their mean" if len(trial.seeds) > 1 else ""),
        )
    )
    amount, rest = _spread_words(account.tasks, "start to completion", "task")
    lines.append(("time", amount if trial.task_time is None else _time(trial), rest))
    if account.turns:
        lines.append(("turns", *_spread_words(account.turns, "prompt to reply", "turn")))
    lines.append(("completed", f"{account.finished:,}", f"of {figures.plural(account.started, 'task')}"))
    lines.append(("accepted", *_accepted(account)))
    lines.append(("context", *_context(account)))
    for name, count, one, rest in (
        ("refused", account.refused, "attempt", " (429, 529): time only, no cost"),
        ("timed out", account.timed_out, "request", ", billed"),
        ("cleared", account.cleared, "token", " of old tool results"),
        ("kept out", account.kept_outside, "token", " of tool results that never entered a prompt"),
        ("dropped", account.dropped_timers, "keep-alive timer", " that came too late"),
        ("not priced", total.unpriced, "request", ", not in the cost"),
    ):
        if count:
            lines.append((name, figures.count(count), figures.plural(count, one).partition(" ")[2] + rest))
    _facts(paper, lines)
    _purposes(paper, account)
    _stages(paper, account)


def _facts(paper: Paper, lines: Sequence[tuple[str, str, str]]) -> None:
    names = max(len(name) for name, _, _ in lines)
    amounts = max(len(amount) for _, amount, _ in lines)
    for name, amount, rest in lines:
        lead: list[Span] = [f"  {name:<{names}}  ", (f"{amount:>{amounts}}", Style.STRONG), "  "]
        paper.paragraph(rest, first=lead, rest=[" " * (names + amounts + 6)])


def _spread_words(values: Sequence[int], what: str, unit: str) -> tuple[str, str]:
    found = spread(values)
    if found is None:
        return figures.UNKNOWN, f"no {unit} was completed"
    if found.count == 1:
        return figures.span(found.typical), f"{what} (one {unit}: no slow tail to speak of)"
    if found.count < TAIL_NEEDS:
        slow = f"slowest of {found.count} {figures.span(found.largest)}"
    else:
        slow = f"slow tail (95 %) {figures.span(found.tail)}, slowest {figures.span(found.largest)}"
    return figures.span(found.typical), f"{what}, typical of {figures.plural(found.count, unit)}; {slow}"


def _accepted(account: TaskAccount) -> tuple[str, str]:
    if account.accepted is None:
        return "not measurable", "the scenario has no [outcome]: nobody said how often a finished task is accepted"
    rate = figures.per_cent(account.accepted, account.started, 1)
    price = account.cost_per_accepted
    each = "no task was accepted" if price is None else f"{figures.money(price)} for each accepted task"
    return f"{account.accepted:,}", f"{each}; pass rate {rate} %, drawn as the scenario assumes"


def _context(account: TaskAccount) -> tuple[str, str]:
    found = spread(account.peaks)
    if found is None:
        return figures.UNKNOWN, "nothing was sent"
    several = f", typical {figures.count(found.typical)}" if found.count > 1 else ""
    if account.window is None:
        return figures.count(found.largest), f"tokens at its fullest{several}; no window is given, so no share of it"
    share = figures.per_cent(found.largest, account.window, 1)
    return f"{share} %", f"{figures.count(found.largest)} of {account.window:,} tokens at its fullest{several}"


def _purposes(paper: Paper, account: TaskAccount) -> None:
    if not account.purposes:
        return
    paper.line()
    paper.line(("Cost by purpose", Style.STRONG))
    rows: list[list[Span]] = []
    places = figures.places_for(sums.cost for _, sums in account.purposes)
    for purpose, sums in account.purposes:
        rows.append(
            [
                PURPOSES[purpose],
                figures.count(sums.requests),
                figures.count(sums.written),
                figures.count(sums.read),
                figures.count(sums.fresh),
                figures.count(sums.output),
                _money(sums, places),
                figures.UNKNOWN
                if not account.total.cost or sums.known_cost is None
                else figures.per_cent(sums.cost, account.total.cost, 1),
            ]
        )
    write_table(paper, _PURPOSE_COLUMNS, rows, indent=2)


def _stages(paper: Paper, account: TaskAccount) -> None:
    known = [(STAGES[stage], time) for stage, time in account.stages if time]
    if not known:
        return
    paper.line()
    paper.line(("Where the time went, summed over lanes", Style.STRONG))
    rows: list[list[Span]] = [[name, figures.span(time)] for name, time in known]
    write_table(paper, (TableColumn("stage", "<"), TableColumn("time")), rows, indent=2)


def _comparison(paper: Paper, trials: Sequence[RepeatedTrial]) -> None:
    keys = [path for path, _ in trials[0].values]
    paired = len(trials[0].seeds) > 1
    columns = [TableColumn(_short(path, keys), "<", 9, 20) for path in keys]
    columns += [
        TableColumn("requests", ">", 4),
        TableColumn("written", ">", 5),
        TableColumn("read", ">", 5),
        TableColumn("fresh", ">", 3),
        TableColumn("hit %", ">", 7),
        TableColumn("equivalents", ">", 6),
        TableColumn("cost"),
        *([TableColumn("against the first", ">", 8)] if paired else []),
        TableColumn("time", ">", 6),
        TableColumn("per accepted", ">", 5),
    ]
    costs = [trial.estimate(lambda one: one.total.known_cost) for trial in trials]
    places = figures.places_for(cost.mean for cost in costs if cost is not None)
    least = min((cost.mean for cost in costs if cost is not None), default=None)
    rows: list[list[Span]] = []
    for trial, cost in zip(trials, costs, strict=True):
        account = trial.whole
        total, runs = account.total, len(trial.seeds)
        style = Style.GOOD if cost is not None and cost.mean == least else Style.PLAIN
        price = account.cost_per_accepted
        rows.append(
            [
                *[_value(value) for _, value in trial.values],
                figures.count(total.requests // runs),
                figures.count(total.written // runs),
                figures.count(total.read // runs),
                figures.count(total.fresh // runs),
                _hit_rate(trial),
                figures.equivalents(None if total.unpriced else _each(total.equivalents, runs)),
                (_cost(cost, places), style),
                *([_against(trial, trials[0], places)] if paired else []),
                _time(trial),
                figures.UNKNOWN if price is None else figures.money(price, places),
            ]
        )
    if all(trial.whole.accepted is None for trial in trials):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    write_table(paper, columns, rows, indent=2)
    runs = len(trials[0].seeds)
    if runs > 1:
        paper.line()
        paper.paragraph(
            (
                f"Means of {runs} runs each; ± {METHOD}. Combinations share their seeds, so differences are paired.",
                Style.FAINT,
            )
        )


def _compactions(paper: Paper, trials: Sequence[RepeatedTrial]) -> None:
    found = [(trial, one) for trial in trials for one in trial.whole.compactions]
    if not found:
        return
    paper.line()
    paper.line(("Compactions: three costs, kept apart", Style.STRONG))
    merged = len(found) > 12
    if merged:
        paper.paragraph((f"Sums over {len(found)} compactions, by combination and method.", Style.FAINT), first=["  "])
    groups: dict[tuple[str, str], list[CompactionCosts]] = {}
    for number, (trial, one) in enumerate(found):
        groups.setdefault((trial.label, one.method if merged else str(number)), []).append(one)
    rows: list[list[Span]] = []
    places = figures.places_for(one.later.cost for _, one in found)
    for (label, _), ones in groups.items():
        first = ones[0]
        rows.append(
            [
                label,
                first.lane if len(ones) == 1 else f"{len(ones)} times",
                first.method,
                figures.clock(first.time) if len(ones) == 1 else "",
                figures.count(sum(one.before for one in ones) // len(ones)),
                figures.count(sum(one.after for one in ones) // len(ones)),
                _money_of([one.summary for one in ones], places),
                _money_of([one.first for one in ones], places),
                _money_of([one.later for one in ones], places),
                figures.count(sum(one.later.requests for one in ones)),
            ]
        )
    columns = _COMPACTION_COLUMNS
    if len(trials) == 1:
        columns, rows = columns[1:], [row[1:] for row in rows]
    write_table(paper, columns, rows, indent=2)


def _not_measurable(paper: Paper) -> None:
    paper.line()
    paper.paragraph((NOT_MEASURABLE, Style.FAINT))


def _against(trial: RepeatedTrial, first: RepeatedTrial, places: int) -> str:
    """By how much a combination is dearer than the first one: the mean of the differences, seed by seed."""
    if trial is first or trial.whole.total.unpriced or first.whole.total.unpriced:
        return figures.UNKNOWN
    found = estimate(
        [mine.total.cost - theirs.total.cost for mine, theirs in zip(trial.accounts, first.accounts, strict=True)]
    )
    return f"{figures.money(found.mean, places)} ± {figures.money(found.half, places)}"


def _cost(cost: Estimate | None, places: int | None = None) -> str:
    if cost is None:
        return figures.money(None)
    text = figures.money(cost.mean, places)
    if cost.half is None:
        return text
    return f"{text} ± {figures.money(cost.half, places if places is not None else figures.places_for([cost.mean]))}"


def _hit_rate(trial: RepeatedTrial) -> str:
    """The share of the input that was read, in per cent: of one run, or the mean of several."""
    found = trial.hit_rate
    if found is None or found.half is None:
        total = trial.whole.total
        return figures.per_cent(total.read, total.total_input)
    return f"{figures.per_cent(found.mean, MILLION)} ± {figures.per_cent(found.half, MILLION)}"


def _time(trial: RepeatedTrial) -> str:
    """How long a typical task takes: of one run, or the mean of several."""
    found = trial.task_time
    if found is None:
        times = spread(trial.whole.tasks)
        return figures.UNKNOWN if times is None else figures.span(times.typical)
    return (
        figures.span(found.mean) if found.half is None else f"{figures.span(found.mean)} ± {figures.span(found.half)}"
    )


def _money(sums: Sums, places: int) -> str:
    return figures.money(sums.known_cost, places)


def _money_of(several: Sequence[Sums], places: int) -> str:
    if not any(sums.requests for sums in several):
        return figures.UNKNOWN
    known = [sums.known_cost for sums in several if sums.requests]
    return figures.money(sum(cost or 0 for cost in known) if any(cost is not None for cost in known) else None, places)


def _each(micro: int, runs: int) -> int:
    """The mean of some input equivalents, in whole tokens where there are several runs."""
    return micro if runs == 1 else (2 * micro + runs * 10**6) // (2 * runs * 10**6) * 10**6


def _short(path: str, paths: Sequence[str]) -> str:
    """The last part of a key, or the whole of it where another key ends alike."""
    last = path.rsplit(".", 1)[-1]
    return last if sum(other.rsplit(".", 1)[-1] == last for other in paths) == 1 else path


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
