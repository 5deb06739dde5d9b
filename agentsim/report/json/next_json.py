"""``agentsim next --json``: the state of a cache and the prices of acts, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentsim import __version__
from agentsim.core.session import Usage
from agentsim.report.figures import exact, utc

if TYPE_CHECKING:
    from agentsim.outlook.next_acts import Outlook
    from agentsim.outlook.priced_act import MoneyRange, PricedAct, PricedStep

Document = dict[str, Any]
_DIGITS = 12


def next_document(outlook: Outlook) -> Document:
    """The outlook of a session as a document: see ``docs/json.md``."""
    state, ends = outlook.state, outlook.ends
    source = state.last.source
    return {
        "version": __version__,
        "session": state.session.id,
        "format": state.session.format,
        "harness": state.session.harness,
        "lane": state.last.lane,
        "request": state.last.id,
        "line": None if source is None else source.line,
        "provider": state.last.provider,
        "model": state.last.model,
        "now": utc(outlook.now),
        "warmth": outlook.warmth,
        "cached_tokens": state.cached,
        "prompt_tokens": state.prompt,
        "front_tokens": {"expected": state.front.expected, "low": state.front.low, "high": state.front.high},
        "lifetime_seconds": {"expected": state.ttl.expected, "low": state.ttl.low, "high": state.ttl.high},
        "ends": {
            "promised": utc(ends.promised),
            "expected": utc(ends.expected),
            "latest": utc(ends.latest),
        },
        "cost_of_a_thousand_new_tokens": exact(outlook.thousand_new, _DIGITS),
        "acts": [_act(act) for act in outlook.acts],
        "not_priced": [{"name": act.name, "title": act.title, "reason": act.reason} for act in outlook.left_out],
    }


def _act(act: PricedAct) -> Document:
    return {
        "name": act.name,
        "title": act.title,
        "exact": act.exact,
        "cost": _money(act.cost),
        "confidence": act.confidence,
        "note": act.note,
        "saves_with_each_later_request": exact(act.saves_later, _DIGITS),
        "rules": [
            {"rule": rule.rule, "value": rule.value, "confidence": rule.confidence, "source": rule.source}
            for rule in act.rules
        ],
        "steps": [_step(step) for step in act.steps],
    }


def _step(step: PricedStep) -> Document:
    return {
        "what": step.what,
        "model": step.model,
        "at": utc(step.at),
        "cost": _money(step.cost),
        "expected": _tokens(step.expected),
        "best": _tokens(step.best),
        "worst": _tokens(step.worst),
    }


def _tokens(usage: Usage) -> Document:
    return {
        "read": usage.read,
        "write_short": usage.write_short,
        "write_long": usage.write_long,
        "fresh": usage.fresh,
        "output": usage.output,
    }


def _money(cost: MoneyRange | None) -> Document | None:
    if cost is None:
        return None
    return {
        "expected": exact(cost.expected, _DIGITS),
        "low": exact(cost.low, _DIGITS),
        "high": exact(cost.high, _DIGITS),
    }
