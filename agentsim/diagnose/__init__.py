"""Verdicts: which request lost its cache, why, on what evidence, and what it cost.

The names below are loaded when they are first used, so that reading about a cause loads no prices and no decoders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentsim.diagnose.diagnosis import Diagnosis, diagnose, judge_rows
    from agentsim.diagnose.diagnosis_totals import Totals

__all__ = ["Diagnosis", "Totals", "diagnose", "judge_rows"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agentsim.diagnose import diagnosis

    return getattr(diagnosis, name)
