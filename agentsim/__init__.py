"""What did this LLM agent lose to its prompt cache, why, what did it cost, and what would have been cheaper?

``agentsim.compare("session.jsonl")`` tries policies on recorded sessions; see
:func:`agentsim.whatif.comparison.compare`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentsim.whatif.comparison import compare

__all__ = ["__version__", "compare"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name != "compare":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agentsim.whatif.comparison import compare

    return compare
