"""Policies: other ways to send the same work, one file each. ``agentsim policies`` lists them.

Each maps a session to the session that would have been sent. It declares whether the model would have been shown
something else, and the condition under which its saving holds. Nothing here counts or prices: that is
:mod:`agentsim.whatif`.
"""

from __future__ import annotations

from agentsim.whatif.policies.policy import HARNESSES, Parameter, Policy, PolicyError, parameters
from agentsim.whatif.policies.policy_registry import NAMES, every_policy, kind_of, parse, policy

__all__ = [
    "HARNESSES",
    "NAMES",
    "Parameter",
    "Policy",
    "PolicyError",
    "every_policy",
    "kind_of",
    "parameters",
    "parse",
    "policy",
]
