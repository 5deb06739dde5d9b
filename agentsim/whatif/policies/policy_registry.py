"""All policies by name. A policy's module is imported when the policy is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from agentsim.core.near_words import did_you_mean
from agentsim.whatif.policies.policy import Policy, PolicyError, with_parameters

_WHERE = MappingProxyType(
    {
        "ttl-5m": "ttl:FiveMinutes",
        "ttl-1h": "ttl:OneHour",
        "ttl-lanes": "ttl_lanes:TtlLanes",
        "ttl-main-1h": "ttl_lanes:TtlMainHour",
        "ttl-children-1h": "ttl_lanes:TtlChildrenHour",
        "ttl-split": "ttl_split:TtlSplit",
        "keep-alive": "keep_alive:KeepAlive",
        "keep-alive-priced": "keep_alive_presets:KeepAlivePriced",
        "keep-alive-three": "keep_alive_presets:KeepAliveThree",
        "keep-alive-steady": "keep_alive_presets:KeepAliveSteady",
        "keep-alive-hour": "keep_alive_presets:KeepAliveHour",
        "keep-alive-own": "keep_alive_own:KeepAliveOwn",
        "marker-system": "marker_system:MarkerSystem",
        "marker-last": "marker_last:MarkerLast",
        "marker-previous": "marker_previous:MarkerPrevious",
        "marker-common": "marker_common:MarkerCommon",
        "marker-spread": "marker_spread:MarkerSpread",
        "marker-best": "marker_best:MarkerBest",
        "combine-blocks": "combine_blocks:CombineBlocks",
        "deferred-tools": "deferred_tools:DeferredTools",
        "deferred-tools-bare": "deferred_tools:DeferredToolsBare",
        "fixed-entries": "fixed_entries:FixedEntries",
        "tool-order": "tool_order:ToolOrder",
        "volatile-last": "volatile_last:VolatileLast",
        "free-tool-choice": "free_tool_choice:FreeToolChoice",
        "pin-effort": "pin:PinEffort",
        "pin-thinking": "pin:PinThinking",
        "pin-model": "pin:PinModel",
        "stagger-fan-out": "stagger:StaggerFanOut",
        "prune-batched": "prune:PruneBatched",
        "prune-at-compaction": "prune:PruneAtCompaction",
        "compact-warm": "compact_warm:CompactWarm",
        "compact-earlier": "compact:CompactEarlier",
        "compact-later": "compact:CompactLater",
        "compact-before-expiry": "compact:CompactBeforeExpiry",
        "uncached-one-shots": "one_shots:UncachedOneShots",
        "no-caching": "no_caching:NoCaching",
    }
)

GROUP = "agentsim.policies"
"""Entry points of this group, in packages that others install, are policies too: the name is the policy's, and it leads
to its class."""

NAMES: tuple[str, ...] = tuple(_WHERE)
"""Every policy of ours, those on the same matter together."""


def kind_of(name: str) -> type[Policy]:
    """The class of a policy. Raises PolicyError for a name that is not known, with the nearest one."""
    where = _WHERE.get(name)
    if where is None:
        from importlib.metadata import entry_points

        for point in entry_points(group=GROUP, name=name):
            added: type[Policy] = point.load()
            return added
        hint = did_you_mean(name, NAMES, "'agentsim policies' lists them")
        raise PolicyError(f"no policy is called {name[:60]!r}; {hint}")
    module, _, kind = where.partition(":")
    found: type[Policy] = getattr(import_module(f"agentsim.whatif.policies.{module}"), kind)
    return found


def policy(name: str, **given: Any) -> Policy:
    """A policy by its name, with parameters. Raises PolicyError."""
    kind = kind_of(name)
    return with_parameters(kind, given) if given else kind()


def parse(spec: str) -> Policy:
    """A policy as a command line names it: ``NAME`` or ``NAME:param=value,param=value``. Raises PolicyError."""
    name, _, rest = spec.partition(":")
    given: dict[str, str] = {}
    for pair in rest.split(",") if rest else ():
        key, sign, value = pair.partition("=")
        if not sign:
            raise PolicyError(f"{name[:60]}: expected param=value, not {pair[:60]!r}")
        given[key.strip()] = value.strip()
    return policy(name.strip(), **given)


def every_policy() -> tuple[Policy, ...]:
    """One of each, with its defaults."""
    return tuple(policy(name) for name in NAMES)


def kinds() -> Mapping[str, type[Policy]]:
    """Every class by name."""
    return {name: kind_of(name) for name in NAMES}
