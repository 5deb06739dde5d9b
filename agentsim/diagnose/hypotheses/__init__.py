"""Why a row without bodies may have lost its prefix: a file for each family of hypotheses, and each speaks for itself.

A function here takes a case and yields what its hypotheses say: *sufficient*, *likely*, *open* or *excluded*, with a
sentence. It knows nothing of the others; :mod:`agentsim.diagnose.elimination` weighs them against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agentsim.diagnose.hypotheses.breakpoint_hypotheses import on_breakpoints
from agentsim.diagnose.hypotheses.lifetime_hypotheses import on_lifetimes
from agentsim.diagnose.hypotheses.prefix_hypotheses import on_prefix
from agentsim.diagnose.hypotheses.routing_hypotheses import on_routing
from agentsim.diagnose.hypotheses.setting_hypotheses import on_settings
from agentsim.diagnose.row_case import Hypothesis, RowCase

FAMILIES: tuple[Callable[[RowCase], Iterator[Hypothesis]], ...] = (
    on_prefix,
    on_lifetimes,
    on_breakpoints,
    on_settings,
    on_routing,
)
