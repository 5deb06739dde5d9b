"""Why a prefix may have been lost: a file for each family of hypotheses, and each speaks for itself.

A function here takes a case, of rows or of bodies, and yields what its hypotheses say: *sufficient*, *likely*, *open*
or *excluded*, with a sentence and, where they predict one, a read. It knows nothing of the others;
:mod:`agentsim.diagnose.elimination` weighs them against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from agentsim.diagnose.hypotheses.breakpoint_hypotheses import on_breakpoints
from agentsim.diagnose.hypotheses.lifetime_hypotheses import lifetimes_by_bodies, on_lifetimes
from agentsim.diagnose.hypotheses.prefix_hypotheses import on_prefix, prefix_by_bodies
from agentsim.diagnose.hypotheses.routing_hypotheses import on_routing, routing_by_bodies
from agentsim.diagnose.hypotheses.setting_hypotheses import on_settings, settings_by_bodies
from agentsim.diagnose.hypothesis import Hypothesis
from agentsim.diagnose.row_case import RowCase

if TYPE_CHECKING:
    from agentsim.diagnose.body_case import BodyCase

FAMILIES: tuple[Callable[[RowCase], Iterator[Hypothesis]], ...] = (
    on_prefix,
    on_lifetimes,
    on_breakpoints,
    on_settings,
    on_routing,
)

BY_BODIES: tuple[Callable[[BodyCase], Iterator[Hypothesis]], ...] = (
    prefix_by_bodies,
    lifetimes_by_bodies,
    settings_by_bodies,
    routing_by_bodies,
)
