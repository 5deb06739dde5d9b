"""Fit the rules of a provider's cache to a user's own logs: lifetimes, steps, what always stays, what is lost early."""

from __future__ import annotations

from agentsim.trust.calibrate.pause_returns import PauseReturn, returns_of
from agentsim.trust.calibrate.rule_fit import Bin, CalibratedRules, Lifetime, Quantum, fit

__all__ = ["Bin", "CalibratedRules", "Lifetime", "PauseReturn", "Quantum", "fit", "returns_of"]
