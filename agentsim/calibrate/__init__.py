"""Fit the rules of a provider's cache to a user's own logs: lifetimes, steps, what always stays, what is lost early."""

from __future__ import annotations

from agentsim.calibrate.fit import Bin, Calibrated, Lifetime, Quantum, fit
from agentsim.calibrate.returns import Return, returns_of

__all__ = ["Bin", "Calibrated", "Lifetime", "Quantum", "Return", "fit", "returns_of"]
