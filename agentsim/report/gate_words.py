"""Results of budgets in words, the same ones in every format."""

from __future__ import annotations

from fractions import Fraction

from agentsim.budget.budget_gate import Gate, GateMiss, JudgedTrace, Result, Status
from agentsim.budget.budget_limits import Limit
from agentsim.core.verdict import Verdict
from agentsim.report import figures
from agentsim.report.verdict_words import cause_title, fix_for, headline, where

STATUS: dict[Status, str] = {"broken": "BROKEN", "unjudged": "NOT JUDGED", "held": "held"}

OUTCOME: dict[Status, str] = {
    "broken": "Budget broken",
    "unjudged": "Could not be judged",
    "held": "All budgets held",
}


def row(result: Result) -> tuple[str, str, str, str, str, str]:
    """The cells of the table row of a result, status, budget, trace, limit, found, beyond."""
    return (
        status(result),
        result.budget,
        result.subject,
        limit(result.limit, result.base),
        found(result),
        beyond(result),
    )


def status(result: Result) -> str:
    """``BROKEN``, ``NOT JUDGED`` or ``held``; a budget that only warns says so."""
    word = STATUS[result.status]
    return f"{word} (warns)" if result.level == "warn" and result.status != "held" else word


def line(result: Result) -> str:
    """A result as one line of text: the table row."""
    text = f"{status(result)} · {result.budget} · {result.subject} · {limit(result.limit, result.base)}"
    text += f" · found {found(result)}"
    if result.status == "broken":
        text += f" · {beyond(result)}"
    return text + (f" · {result.reason}" if result.reason else "")


def limit(one: Limit, base: Fraction | None = None) -> str:
    """A limit as it was written: ``max-cost $0.50``, ``max-growth of cost 5 % over $0.40``."""
    if one.kind == "forbid":
        return f"forbid {one.cause}"
    if one.kind == "max-misses":
        return f"max-misses {one.cause + ' ' if one.cause else ''}{_whole(one.value)}"
    if one.kind != "max-growth":
        return f"{one.kind} {amount(one, one.value)}"
    size = f"{percent(one.value)} %" if one.relative else amount(one, one.value)
    over = "" if base is None else f" over {amount(one, base)}"
    return f"max-growth of {one.metric} {size}{over}"


def found(result: Result) -> str:
    """What was found: ``$0.72``, ``81.2 %``, ``3``; for a growth with the growth itself."""
    if result.actual is None:
        return figures.UNKNOWN
    text = amount(result.limit, result.actual)
    no_base = result.limit.kind == "max-growth" and result.base is None
    if result.status == "unjudged" and result.limit.kind != "min-hit-rate" and not no_base:
        text = f"at least {text}"
    if result.limit.kind == "max-growth" and result.base:
        grown = (result.actual - result.base) / result.base
        text += f" ({'+' if grown >= 0 else ''}{percent(grown)} %)"
    return text


def beyond(result: Result) -> str:
    """How far beyond the limit; empty where it holds."""
    if result.status != "broken" or result.actual is None or result.allowed is None:
        return ""
    if result.limit.kind == "min-hit-rate":
        points = percent(result.allowed - result.actual)
        return f"{points} {'point' if points == '1' else 'points'} too low"
    return f"{amount(result.limit, result.actual - result.allowed)} over"


def amount(one: Limit, value: Fraction) -> str:
    """A value in the unit of a limit."""
    what = one.metric if one.kind == "max-growth" else one.kind
    if what in ("max-cost", "max-lost-cost", "cost"):
        pico = _whole_number(value)
        cents = pico % 10**10 == 0
        return figures.money(pico, 2) if cents else _exact_money(pico)
    if what in ("max-input-equivalents", "input-equivalents"):
        return figures.equivalents(_whole_number(value))
    if what == "min-hit-rate":
        return f"{percent(value)} %"
    return _whole(value)


def percent(value: Fraction) -> str:
    """A share in per cent, exact where that is short: ``5``, ``85.5``, ``66.67``."""
    hundredths = round(value * 10_000)
    if value and not hundredths:
        return "less than 0.01" if value > 0 else "more than -0.01"
    text = f"{hundredths // 100 if hundredths >= 0 else -(-hundredths // 100)}.{abs(hundredths) % 100:02d}"
    return ("-" if hundredths < 0 and not text.startswith("-") else "") + text.rstrip("0").rstrip(".")


def miss_title(verdict: Verdict) -> str:
    """The code and what it stands for: ``AS103 The tools came in another order``."""
    code = verdict.code
    return f"{code} {cause_title(code)}".rstrip()


def miss_text(finding: GateMiss) -> str:
    """What was lost, where, and by what, in one sentence."""
    verdict = finding.verdict
    place = f": {where(verdict.place)}" if verdict.place is not None else ""
    price = f", {figures.money(verdict.lost_cost)} more than reading them" if verdict.lost_cost is not None else ""
    lost = f"row {finding.number} of {finding.session} lost {figures.plural(verdict.lost, 'token')}{price}"
    return f"{headline(verdict)}{place}; {lost}"


def miss_fix(finding: GateMiss) -> str | None:
    """What to do about it."""
    return fix_for(finding.verdict, finding.settings)


def tally(gate: Gate) -> str:
    """How many limits came out how: ``1 broken, 2 not judged, 5 held``."""
    return f"{gate.count('broken'):,} broken, {gate.count('unjudged'):,} not judged, {gate.count('held'):,} held"


def sums(trace: JudgedTrace) -> tuple[str, str, str, str, str]:
    """Requests, cost, input equivalents, hit rate and misses of a session."""
    measures = trace.measures
    return (
        figures.count(measures.requests),
        figures.UNKNOWN if measures.known_cost is None else figures.money(measures.cost),
        figures.equivalents(measures.known_equivalents),
        f"{figures.per_cent(measures.read, measures.total_input)} %" if measures.total_input else figures.UNKNOWN,
        ", ".join(f"{code} × {count:,}" for code, count in measures.misses) or "none",
    )


def kind_name(one: Limit) -> str:
    """A name for a limit that stays the same when its value changes: ``max-misses.AS103``."""
    parts = [one.kind, one.metric or one.cause]
    if one.kind == "max-growth":
        parts.append("relative" if one.relative else "absolute")
    return ".".join(part for part in parts if part)


def _whole(value: Fraction) -> str:
    return figures.count(int(value)) if value.denominator == 1 else f"{percent(value / 100)}"


def _whole_number(value: Fraction) -> int:
    """Rounded up, so that what is allowed never looks larger than what it is compared with by less than a unit."""
    return -(-value.numerator // value.denominator)


def _exact_money(pico: int) -> str:
    """Dollars with all of their digits: a limit and what was found may differ in the last one."""
    text = figures.exact(pico, 12) or "0"
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    whole, _, fraction = text.partition(".")
    return f"{sign}${int(whole):,}.{fraction:<02s}" if fraction else f"{sign}${int(whole):,}.00"
