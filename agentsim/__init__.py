"""What did this LLM agent lose to its prompt cache, why, what did it cost, and what would have been cheaper?

``agentsim.compare("session.jsonl")`` tries policies on recorded sessions; see
:func:`agentsim.whatif.comparison.compare`. ``agentsim.next("session.jsonl")`` prices what could be done next; see
:func:`agentsim.outlook.next_acts.next_acts`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing it takes as long as a whole status line
if TYPE_CHECKING:
    from agentsim.outlook.next_acts import next_acts as next
    from agentsim.whatif.comparison import compare

__all__ = ["__version__", "compare", "next"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name == "compare":
        from agentsim.whatif.comparison import compare

        return compare
    if name == "next":
        from agentsim.outlook.next_acts import next_acts

        return next_acts
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
