"""A fleet as one web page that holds everything: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from agentsim.core.dates import SECOND
from agentsim.diagnose.cause_registry import CAUSES
from agentsim.report import figures
from agentsim.report.screen.fleet_page import dollars, interval
from agentsim.report.web.charts import Bar, ScatterPoint, bars, columns, curve, safe, scatter
from agentsim.report.web.page_shell import shell, table, tiles
from agentsim.report.web.weeks import every_week

if TYPE_CHECKING:
    from agentsim.fleet.fleet_figures import FleetFigures, FleetGroup, PolicyLine

_MOST_BARS = 12

_TABLES = (
    ("version", "Versions of the harness"),
    ("model", "Models"),
    ("project", "Projects"),
    ("team", "Teams"),
    ("tier", "Lifetimes written with"),
    ("harness", "Harnesses"),
)


def page(found: FleetFigures, title: str) -> str:
    """The whole page. All text from outside is cleaned and escaped."""
    body = [
        f"<h1>{safe(title)}</h1>",
        _lead(found),
        _tiles(found),
        _causes(found),
        _policies(found),
        _weeks(found),
        _concentration(found),
        *(_dimension(name, found.groups(dimension), found) for dimension, name in _TABLES),
    ]
    return shell(title, body, "Sums of money are list prices. Intervals: 95 % of resamples over sessions.")


def _lead(found: FleetFigures) -> str:
    weeks = sorted(group.name for group in found.groups("week") if group.name)
    when = "" if not weeks else f", {weeks[0]}" + (f" to {weeks[-1]}" if weeks[-1] != weeks[0] else "")
    return f'<p class="faint">{figures.plural(found.sessions, "session")}{safe(when)}</p>'


def _tiles(found: FleetFigures) -> str:
    total = found.total
    whole = sum(part or 0 for part in (total.read, total.written, total.fresh))
    best = next((line for line in found.policies if (line.low or 0) > 0), None)
    share = "nothing is priced"
    if total.cost and total.lost_cost is not None:
        share = f"{total.lost_cost * 100 / total.cost:.1f} % of the bill"
    spread = "" if found.low is None else f"; {interval(found.low, found.high)}"
    unpriced = f", {total.unpriced:,} not priced" if total.unpriced else ""
    cells = [
        (dollars(total.cost), f"paid for {figures.plural(total.requests or 0, 'request')}{unpriced}"),
        (dollars(total.lost_cost), f"lost to the cache: {share}{spread}"),
        (f"{figures.per_cent(total.read, whole)} %", "of input tokens read from the cache"),
    ]
    if best is not None:
        cells.append((dollars(best.saving), f"saved by {best.policy} alone"))
    return tiles(cells)


def _causes(found: FleetFigures) -> str:
    groups = [group for group in found.groups("cause") if group.misses]
    if not groups:
        return "<h2>Why caches were lost</h2>\n<p>No request lost its cache.</p>"
    shown = groups[:_MOST_BARS]
    chart = ""
    if any(group.lost_cost is not None for group in shown):
        found_bars = [
            Bar(_titled(group.name), float(group.lost_cost or 0), dollars(group.lost_cost)) for group in shown
        ]
        chart = f"<figure>{bars(found_bars, 'Loss by cause')}</figure>\n"
    rows = [[_titled(g.name), f"{g.misses:,}", f"{g.lost:,}", dollars(g.lost_cost)] for g in groups]
    losses = table(["cause", "misses", "tokens lost", "lost"], rows)
    note = '<p class="faint">agentsim explain CODE tells what a cause means, how to confirm it and how to mend it.</p>'
    return f"<h2>Why caches were lost</h2>\n{note}\n{chart}{losses}"


def _titled(code: str) -> str:
    known = CAUSES.get(code)
    return code if known is None else f"{code} {known.title}"


def _policies(found: FleetFigures) -> str:
    recorded = next((line for line in found.policies if line.policy == "recorded"), None)
    tried = [line for line in found.policies if line.applied]
    if recorded is None:
        return ""
    parts = ["<h2>What would have saved it</h2>"]
    notes = []
    if found.withheld:
        notes.append(f"{figures.plural(found.withheld, 'session')} whose log the simulation does not reproduce")
    notes += [f"{figures.plural(count, 'session')} because {reason}" for reason, count in found.left_out]
    about = f"Each policy alone, over {figures.plural(recorded.sessions, 'session')}"
    parts.append(f"<p>{safe(about)}.{safe(' Left out: ' + '; '.join(notes) + '.') if notes else ''}</p>")
    if not tried:
        return "\n".join([*parts, "<p>No policy had anything to do.</p>"])
    ranked = sorted(tried, key=lambda line: -(line.saving or 0))
    if recorded.cost is not None:
        parts.append(f"<figure>{_savings(ranked, recorded.cost)}</figure>")
        if len({round(line.seconds) for line in tried}) > 1:
            parts.append(_frontier(found.policies, recorded.cost))
    rows = [
        [
            line.policy,
            f"{line.applied:,}",
            dollars(line.cost),
            dollars(line.saving),
            interval(line.low, line.high),
            figures.span(round(line.seconds) * SECOND),
        ]
        for line in ranked
    ]
    parts.append(table(["policy", "sessions changed", "cost", "saves", "interval", "time"], rows))
    return "\n".join(parts)


def _savings(ranked: Sequence[PolicyLine], cost: Decimal) -> str:
    kept = [line for line in ranked if float(line.saving or 0) > -float(cost) / 2][:_MOST_BARS]
    return bars(
        [Bar(line.policy, float(line.saving or 0), dollars(line.saving), line.low, line.high) for line in kept],
        "Saving of each policy",
    )


def _frontier(lines: Sequence[PolicyLine], cost: Decimal) -> str:
    points = [
        ScatterPoint(
            "as recorded" if line.policy == "recorded" else line.policy, line.seconds, float(line.cost), line.best
        )
        for line in lines
        if (line.applied or line.policy == "recorded") and line.cost is not None and line.cost <= 2 * cost
    ]
    ends = (
        figures.span(round(min(point.x for point in points)) * SECOND),
        figures.span(round(max(point.x for point in points)) * SECOND),
        dollars(Decimal(min(point.y for point in points))),
        dollars(Decimal(max(point.y for point in points))),
    )
    chart = scatter(points, "Cost against time to completion", "time to completion, all sessions", "cost", ends)
    note = "Cost against time: towards the lower left is better. Joined policies are the frontier."
    return f"<figure>{chart}<figcaption class='faint'>{note}</figcaption></figure>"


def _weeks(found: FleetFigures) -> str:
    groups = sorted((group for group in found.groups("week") if group.name), key=lambda group: group.name)
    if len(groups) < 2:
        return ""
    chart = ""
    if any(group.lost_cost is not None for group in groups):
        lost = {group.name: group.lost_cost for group in groups}
        found_bars = [
            Bar(week, float(lost.get(week) or 0), dollars(lost[week]) if week in lost else "")
            for week in every_week(groups[0].name, groups[-1].name)
        ]
        chart = f"<figure>{columns(found_bars, 'Loss by week')}</figure>\n"
    return f"<h2>Lost, by week</h2>\n{chart}{table(_HEADS, _rows(groups))}"


def _concentration(found: FleetFigures) -> str:
    spread = found.concentration
    if not spread.half:
        return ""
    chart = curve(
        spread.points, "Share of the loss by share of sessions", "sessions, the worst first", "share of the loss"
    )
    share = figures.per_cent(spread.half, spread.sessions, 1)
    text = f"Half of the loss is in {figures.plural(spread.half, 'session')} ({share} %); Gini {spread.gini:.2f}."
    return f"<h2>Where the loss sits</h2>\n<p>{text}</p>\n<figure>{chart}</figure>"


def _dimension(title: str, groups: Sequence[FleetGroup], found: FleetFigures) -> str:
    if len(groups) < 2:
        return ""
    return f"<h2>{safe(title)}</h2>\n{table(_HEADS, _rows(groups))}"


_HEADS = ["", "requests", "hit rate", "cost", "misses", "lost", "of its bill"]


def _rows(groups: Sequence[FleetGroup]) -> list[list[str]]:
    return [
        [
            group.name or "(none)",
            f"{group.requests or 0:,}",
            figures.per_cent(group.read, sum(part or 0 for part in (group.read, group.written, group.fresh)), 1) + " %",
            dollars(group.cost),
            f"{group.misses:,}",
            dollars(group.lost_cost),
            _share(group),
        ]
        for group in groups
    ]


def _share(group: FleetGroup) -> str:
    if not group.cost or group.lost_cost is None:
        return figures.UNKNOWN
    return f"{group.lost_cost * 100 / group.cost:.1f} %"
