"""Settings of harnesses as JSON, and what they would have saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentsim.diagnose.setting_diff import diff_of
from agentsim.report.figures import exact

if TYPE_CHECKING:
    from agentsim.diagnose.harness_settings import HarnessSetting
    from agentsim.fleet.summary.worth_setting import SettingAdvice

_DOLLAR_DIGITS = 12


def setting_document(setting: HarnessSetting) -> dict[str, Any]:
    """One setting: what to set where, what that does, and where it is known from."""
    return {
        "harness": setting.harness,
        "set": setting.set or None,
        "where": setting.where or None,
        "diff": list(diff_of(setting)),
        "effect": setting.effect,
        "since": setting.since or None,
        "source": setting.source,
    }


def advice_document(advice: SettingAdvice) -> dict[str, Any]:
    """What to set, the best first, each with what it would have saved over the sessions that were simulated."""
    return {
        "simulated": advice.simulated,
        "sessions": advice.sessions,
        "settings": [
            {
                **setting_document(line.setting),
                "policy": line.policy,
                "sessions": line.sessions,
                "changed": line.changed,
                "costs_more": line.costs_more,
                "saving": exact(line.saving, _DOLLAR_DIGITS),
                "saving_low": exact(line.low, _DOLLAR_DIGITS),
                "saving_high": exact(line.high, _DOLLAR_DIGITS),
                "cost": exact(line.cost, _DOLLAR_DIGITS),
                "condition": line.condition or None,
            }
            for line in advice.lines
        ],
    }
