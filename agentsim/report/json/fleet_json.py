"""A fleet for programs."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from agentsim import __version__
from agentsim.report.json.canonical_json import Document

if TYPE_CHECKING:
    from agentsim.fleet.fleet_figures import FleetFigures, FleetGroup, PolicyLine
    from agentsim.fleet.sweep import Sweep


def sweep_document(sweep: Sweep, found: FleetFigures) -> Document:
    """What a sweep did and found."""
    return {
        "agentsim": __version__,
        "report": "sweep",
        "version": 1,
        "folder": sweep.folder,
        "shards": len(sweep.notes),
        "shards_done_before": sweep.done_before,
        "rows": {
            "read": sum(note.rows for note in sweep.notes),
            "used": sum(note.used for note in sweep.notes),
            "duplicate": sum(note.duplicate for note in sweep.notes),
            "not_billable": sum(note.not_billable for note in sweep.notes),
            "skipped": sum(count for note in sweep.notes for _, count in note.skipped),
        },
        "failed": [{"files": list(failure.files), "reason": failure.reason} for failure in sweep.failed],
        "problems": [
            {"file": problem.file, "line": problem.line, "reason": problem.reason, "remedy": problem.remedy}
            for problem in (*sweep.problems, *(problem for note in sweep.notes for problem in note.problems))
        ],
        **figures_document(found),
    }


def figures_document(found: FleetFigures) -> Document:
    """The figures of a fleet; sums of money are decimal text in dollars."""
    spread = found.concentration
    return {
        "sessions": found.sessions,
        "total": _group(found.total),
        "lost_interval": [found.low, found.high],
        "policies": [_policy(line) for line in found.policies],
        "withheld": found.withheld,
        "left_out": [{"reason": reason, "sessions": count} for reason, count in found.left_out],
        "concentration": {
            "sessions": spread.sessions,
            "sessions_with_loss": spread.with_loss,
            "sessions_with_half": spread.half,
            "gini": spread.gini,
            "points": [list(point) for point in spread.points],
        },
        "by": {dimension: [_group(group) for group in groups] for dimension, groups in found.by},
    }


def _group(group: FleetGroup) -> Document:
    return {name: _value(getattr(group, name)) for name in group.__struct_fields__}


def _policy(line: PolicyLine) -> Document:
    return {name: _value(getattr(line, name)) for name in line.__struct_fields__}


def _value(value: Any) -> Any:
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return value
