"""A regression watch as gauges in Prometheus's text format, for its text file collector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.report.clean import clean

if TYPE_CHECKING:
    from agentsim.fleet.regression_watch import GroupChange, Watch

_GAUGES = (
    ("agentsim_lost_ratio", "Lost share of input tokens in the last period."),
    ("agentsim_lost_ratio_before", "Lost share of input tokens in the periods before."),
    ("agentsim_excess_dollars", "Lost in the last period beyond the share of before, in US dollars."),
    ("agentsim_sessions", "Sessions in the last period."),
    ("agentsim_regression", "1 when the group became worse beyond noise, -1 when better, else 0."),
)
_FLAGS = {"worse": 1, "better": -1, None: 0}


def prometheus_text(seen: Watch) -> str:
    """The exposition text: one sample of each gauge for each group, but for what is not known."""
    lines = []
    for name, meaning in _GAUGES:
        lines += [f"# HELP {name} {meaning}", f"# TYPE {name} gauge"]
        for change in seen.changes:
            labels = f'dimension="{change.dimension}",name="{_label(change.name)}"'
            value = _value(name, change)
            if value is not None:
                lines.append(f"{name}{{{labels}}} {value}")
    return "\n".join(lines) + "\n"


def _value(name: str, change: GroupChange) -> str | None:
    values = {
        "agentsim_lost_ratio": repr(change.last),
        "agentsim_lost_ratio_before": repr(change.before),
        "agentsim_excess_dollars": None if change.excess is None else f"{change.excess:.6f}",
        "agentsim_sessions": str(change.sessions),
        "agentsim_regression": str(_FLAGS[change.flag]),
    }
    return values[name]


def _label(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace('"', '\\"')
