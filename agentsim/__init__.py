"""What did this LLM agent lose to its prompt cache, why, what did it cost, and what would have been cheaper?

``agentsim.load("session.jsonl")`` reads sessions: their rows, their verdicts (:mod:`agentsim.report.python`).
``agentsim.summary()`` sums up those of this machine. ``agentsim.compare("session.jsonl")`` tries policies on recorded
sessions (:func:`agentsim.whatif.comparison.compare`), and ``agentsim.next("session.jsonl")`` prices what could be done
next (:func:`agentsim.outlook.next_acts.next_acts`, as a table).
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing it takes as long as a whole status line
if TYPE_CHECKING:
    from agentsim.report.python.loaded_sessions import load
    from agentsim.report.python.priced_acts import next
    from agentsim.report.python.summed_up import summary
    from agentsim.whatif.comparison import compare

__all__ = ["__version__", "compare", "load", "next", "summary"]

__version__ = "0.1.0"

_PLACES = {
    "compare": ("agentsim.whatif.comparison", "compare"),
    "load": ("agentsim.report.python.loaded_sessions", "load"),
    "next": ("agentsim.report.python.priced_acts", "next"),
    "summary": ("agentsim.report.python.summed_up", "summary"),
}
"""Where each public function is: imported when it is first asked for."""


def __getattr__(name: str) -> object:
    if name in _PLACES:
        from importlib import import_module

        module, function = _PLACES[name]
        return getattr(import_module(module), function)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
