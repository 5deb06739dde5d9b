"""What one person's sessions cost and lost, and what to do about it, as one web page to hand around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsim.diagnose.cause_registry import CAUSES
from agentsim.diagnose.harness_settings import HarnessSetting, known_harness, settings_for
from agentsim.diagnose.setting_diff import diff_of
from agentsim.report import figures
from agentsim.report.screen.advice_page import proof, saved
from agentsim.report.screen.findings_page import words_of_head, words_of_kind
from agentsim.report.screen.summary_page import half_of_the_loss, proof_of_miss
from agentsim.report.web.charts import Bar, bars, columns, safe
from agentsim.report.web.page_shell import shell, table, tiles
from agentsim.report.web.weeks import MOST_DAYS, every_day
from agentsim.traces.session_names import look_up

if TYPE_CHECKING:
    from agentsim.diagnose.loss_leads import Lead
    from agentsim.fleet.summary import MissLine, Summary
    from agentsim.fleet.summary.grouped import GroupedSummary
    from agentsim.fleet.summary.repeated_losses import LossLeads
    from agentsim.fleet.summary.worth_setting import SettingAdvice

_MOST_BARS = 12
_MOST_KINDS = 10
_NOTE = "Sums of money are list prices. Days are in UTC; each request stands on the day it was answered."


def page(
    summary: Summary,
    days: GroupedSummary,
    advice: SettingAdvice,
    title: str,
    paths: Sequence[str],
    *,
    content: bool = False,
    leads: LossLeads | None = None,
) -> str:
    """The whole page. ``days`` is the same by day, ``leads`` what stands in front of losses; words of conversations
    stand in it only with ``content``."""
    body = [
        f"<h1>{safe(title)}</h1>",
        _lead(summary),
        _tiles(summary),
        _advice(advice, paths),
        _causes(summary),
        _kinds(summary, leads),
        _time(days),
        _sessions(summary, content),
        _misses(summary),
        _unpriced(summary),
    ]
    return shell(title, body, _NOTE)


def _lead(summary: Summary) -> str:
    first, last = figures.day(summary.first_time), figures.day(summary.last_time)
    when = "" if summary.first_time is None else f", {first}" + (f" to {last}" if last != first else "")
    formats = ", ".join(line.format for line in summary.formats)
    text = f"{figures.plural(summary.sessions, 'session')} ({formats}){when}"
    return f'<p class="faint">{safe(text)}</p>'


def _tiles(summary: Summary) -> str:
    unpriced = sum(count for _, count in summary.unpriced)
    more = f", {unpriced:,} of them without a price" if unpriced else ""
    share = figures.plural(sum(loss.count for loss in summary.losses), "miss", "misses")
    if summary.cost and summary.lost_cost is not None:
        share = f"{figures.per_cent(summary.lost_cost, summary.cost, 1)} % of the bill, {share}"
    rate = f"{figures.per_cent(summary.hit_read, summary.hit_total, 1)} %" if summary.hit_total else figures.UNKNOWN
    return tiles(
        [
            (figures.money(summary.cost), f"paid for {figures.plural(summary.requests, 'request')}{more}"),
            (figures.money(summary.lost_cost), f"lost to the cache: {share}"),
            (rate, "of input tokens read from the cache"),
        ]
    )


def _advice(advice: SettingAdvice, paths: Sequence[str]) -> str:
    if not advice.lines:
        text = "No setting that is known would have saved anything over these sessions."
        if not advice.simulated:
            text = "No session can be simulated well enough to name a saving."
        return f"<h2>What to set</h2>\n<p>{text}</p>"
    items = []
    for line in advice.lines:
        known = known_harness(line.harness)
        name = known.title if known is not None else line.harness
        items.append(
            f"<li><b>{safe(name)}</b>: {safe(line.setting.words)}{_diff(line.setting)}{safe(saved(line))}<br>"
            f"<code>{safe(proof(line, paths))}</code></li>"
        )
    chart = _savings(advice) if len(advice.lines) > 1 or advice.lines[0].low is not None else ""
    return f"<h2>What to set</h2>\n<ol>{''.join(items)}</ol>{chart}"


def _savings(advice: SettingAdvice) -> str:
    """What each setting would have saved, with what it may be in 95 of 100 drawings."""
    found = [
        Bar(
            line.setting.set,
            line.saving / 1e12,
            figures.money(line.saving),
            None if line.low is None else line.low / 1e12,
            None if line.high is None else line.high / 1e12,
        )
        for line in advice.lines
    ]
    told = "Would have saved, in dollars. The thin line reaches from the least to the most; settings do not add up."
    return f'\n<figure>{bars(found, "Would have saved")}<figcaption class="faint">{told}</figcaption></figure>'


def _diff(setting: HarnessSetting) -> str:
    """The change that a setting is: the file, and the line to add."""
    lines = diff_of(setting)
    if not lines:
        return ""
    place, *added = (safe(line) for line in lines)
    return f'<pre><span class="faint">{place}</span>' + "".join(f"\n<ins>{line}</ins>" for line in added) + "</pre>"


def _causes(summary: Summary) -> str:
    if not summary.losses:
        return "<h2>Why caches were lost</h2>\n<p>No request lost its cache.</p>"
    chart = ""
    if summary.lost_cost:
        found = [
            Bar(_titled(loss.cause), loss.cost / 1e12, figures.money(loss.cost)) for loss in summary.losses[:_MOST_BARS]
        ]
        chart = f"<figure>{bars(found, 'Loss by cause')}</figure>\n"
    harnesses = [known.name for line in summary.formats if (known := known_harness(line.format)) is not None]
    parts = [_explained(loss.cause, harnesses) for loss in summary.losses]
    return f"<h2>Why caches were lost</h2>\n{chart}" + "\n".join(part for part in parts if part)


def _kinds(summary: Summary, leads: LossLeads | None) -> str:
    """Losses of one kind over all sessions, each with what stands in front of it."""
    items = []
    for number, kind in enumerate(summary.kinds_of_loss[:_MOST_KINDS]):
        title, rest = words_of_kind(kind)
        lead = leads.kinds[number] if leads is not None else None
        items.append(f"<li><b>{safe(title)}</b>: {safe(rest)}{_hint(lead)}</li>")
    placeless = leads.placeless if leads is not None else None
    more = len(summary.kinds_of_loss) - len(items)
    rest = f'<p class="faint">and {more:,} more</p>' if more > 0 else ""
    common = f"<p>Losses without a place{_hint(placeless)}</p>" if placeless is not None else ""
    for head in summary.shared_heads:
        title, told = words_of_head(head)
        items.append(f"<li><b>{safe(title)}</b>: {safe(told)}. In no sum of losses.</li>")
    if not items and not common:
        return ""
    return f"<h2>Losses of one kind</h2>\n<ul>{''.join(items)}</ul>{rest}{common}"


def _hint(lead: Lead | None) -> str:
    """What stands in front of losses, and that it is no proof."""
    return "" if lead is None else f'. {safe(lead.sentence)} <span class="faint">A lead, no proof.</span>'


def _explained(code: str, harnesses: Sequence[str]) -> str:
    """What a cause means and what to do about it, folded away; with the settings of the harnesses that are here."""
    cause = CAUSES.get(code)
    if cause is None:
        return ""
    settings = [
        f"<li><b>{safe(known.title)}</b>: {safe(one.words)}{_diff(one)}</li>"
        for name in harnesses
        if (known := known_harness(name)) is not None
        for one in settings_for(name, cause=code)
    ]
    listed = f"<ul>{''.join(settings)}</ul>" if settings else ""
    return (
        f"<details><summary>{safe(_titled(code))}</summary><p>{safe(cause.meaning)}</p>"
        f"<p><b>To confirm.</b> {safe(cause.how_to_confirm)}</p><p><b>Fix.</b> {safe(cause.fix)}</p>{listed}</details>"
    )


def _titled(code: str) -> str:
    known = CAUSES.get(code)
    return code if known is None else f"{code} {known.title}"


def _time(days: GroupedSummary) -> str:
    """Lost, day by day or week by week. A day without requests stays empty."""
    dated = {group.name: group for group in days.groups if group.name is not None}
    if len(dated) < 2:
        return ""
    names = sorted(dated)
    lost: dict[str, int] = {}
    for name, group in dated.items():
        lost[name] = group.lost_cost or 0
    axis = every_day(names[0], names[-1])
    unit = "day"
    if len(axis) > MOST_DAYS:
        unit = "week"
        starts = every_day(names[0], names[-1], 7)
        sums = dict.fromkeys(starts, 0)
        for name, amount in lost.items():
            sums[max(start for start in starts if start <= name)] += amount
        axis, lost = starts, sums
    found = [Bar(day, lost.get(day, 0) / 1e12, figures.money(lost[day]) if lost.get(day) else "") for day in axis]
    chart = f"<figure>{columns(found, f'Loss by {unit}')}</figure>\n" if any(lost.values()) else ""
    rows = [
        [
            name,
            figures.count(group.requests),
            f"{figures.per_cent(group.read, group.input, 1)} %" if group.input else figures.UNKNOWN,
            figures.money(group.cost),
            figures.count(group.misses),
            figures.money(group.lost_cost),
        ]
        for name, group in sorted(dated.items(), reverse=True)
    ]
    return f"<h2>Lost, by {unit}</h2>\n{chart}{table(['day', 'requests', 'hit rate', 'cost', 'misses', 'lost'], rows)}"


def _sessions(summary: Summary, content: bool) -> str:
    lines = [line for line in summary.worst_sessions if line.misses]
    if not lines:
        return ""
    rows = []
    for line in lines:
        names = look_up(line.files, line.session)
        words = names.title or names.first_words if content else None
        name = " · ".join(part for part in (names.place or line.project, line.session, words) if part)
        rows.append(
            [
                name,
                figures.count(line.requests),
                f"{figures.per_cent(line.hit_read, line.hit_total, 1)} %" if line.hit_total else figures.UNKNOWN,
                figures.money(line.cost),
                figures.count(line.misses),
                figures.money(line.lost_cost),
            ]
        )
    half = half_of_the_loss(summary)
    words = f"<p>{safe(half)}</p>\n" if half is not None else ""
    return f"<h2>Sessions that lost most</h2>\n{words}" + table(
        ["session", "requests", "hit rate", "cost", "misses", "lost"], rows
    )


def _misses(summary: Summary) -> str:
    if not summary.worst_misses:
        return ""
    rows = [
        [
            f"{_titled(miss.cause)} · {_log_line(miss)}" if miss.file else _titled(miss.cause),
            figures.moment(miss.time),
            figures.count(miss.lost),
            figures.money(miss.lost_cost),
            f"#{miss.row:,}" if miss.row else figures.UNKNOWN,
        ]
        for miss in summary.worst_misses
    ]
    command = proof_of_miss(summary, summary.worst_misses[0])
    shown = f"<p><code>{safe(command)}</code> shows the first of them.</p>" if command is not None else ""
    heads = ["cause · line of the log", "when", "tokens lost", "lost", "row"]
    return f"<h2>Most expensive misses</h2>\n{table(heads, rows)}{shown}"


def _log_line(miss: MissLine) -> str:
    return f"{miss.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{miss.line}"


def _unpriced(summary: Summary) -> str:
    if not summary.unpriced:
        return ""
    models = ", ".join(f"{model} ({count:,})" for model, count in summary.unpriced)
    return f'<p class="faint">Without a price, and in no sum: {safe(models)}</p>'
