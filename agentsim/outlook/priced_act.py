"""An act with its price: the requests that it takes, and what each reads, writes and costs."""

from __future__ import annotations

from typing import Literal

import msgspec

from agentsim.core.session import Usage
from agentsim.rules.providers import ProviderRules, RuleFigure

ActName = Literal[
    "go-on",
    "wait",
    "wait-until-cold",
    "other-model",
    "other-effort",
    "change-tools",
    "compact-now",
    "compact-before-cold",
    "compact-when-cold",
    "fork",
    "resume",
    "rewind",
    "start-afresh",
]

Surety = Literal["high", "medium", "low"]
_ORDER: tuple[Surety, ...] = ("low", "medium", "high")


class MoneyRange(msgspec.Struct, frozen=True, gc=False):
    """Picodollars as the rules foretell them, with the least and the most that nothing contradicts."""

    expected: int
    low: int
    high: int

    def __add__(self, other: MoneyRange) -> MoneyRange:
        return MoneyRange(self.expected + other.expected, self.low + other.low, self.high + other.high)

    @property
    def exact(self) -> bool:
        """Whether it is one sum."""
        return self.low == self.high


class PricedStep(msgspec.Struct, frozen=True, kw_only=True):
    """One request of an act: when (nanoseconds, UTC), at which model, and its tokens: as ``expected`` by the rules, at
    ``best`` and at ``worst``. Output is counted where the act itself asks for it (a summary). ``cost`` is ``None``
    where the model has no known price."""

    what: str
    model: str
    at: int
    expected: Usage
    best: Usage
    worst: Usage
    cost: MoneyRange | None

    @property
    def exact(self) -> bool:
        """Whether the rules leave nothing open."""
        return self.best == self.worst


class PricedAct(msgspec.Struct, frozen=True, kw_only=True):
    """What a person or a program could do next, and what it costs before anything new is typed.

    ``cost`` sums its steps up. ``rules`` are the figures that it rests on; ``confidence`` is that of the weakest.
    ``saves_later`` is how much less each request after it costs than going on would. ``note`` says what else is to be
    known, in a sentence.
    """

    name: ActName
    title: str
    steps: tuple[PricedStep, ...]
    cost: MoneyRange | None
    rules: tuple[RuleFigure, ...]
    confidence: Surety
    note: str | None = None
    saves_later: int | None = None

    @property
    def exact(self) -> bool:
        """Whether the rules leave nothing open."""
        return all(step.exact for step in self.steps)

    @property
    def rewritten(self) -> int:
        """Tokens that are expected to be written or sent anew."""
        return sum((step.expected.total_input or 0) - (step.expected.read or 0) for step in self.steps)


class NotPriced(msgspec.Struct, frozen=True, kw_only=True):
    """An act that cannot be priced here, and why."""

    name: ActName
    title: str
    reason: str


def figures(rules: ProviderRules, names: tuple[str, ...]) -> tuple[RuleFigure, ...]:
    """The figures of these rules, where a file states them or is silent."""
    return tuple(figure for name in names if (figure := rules.figure(name)) is not None)


def weakest(rules: tuple[RuleFigure, ...]) -> Surety:
    """The confidence of the least certain figure."""
    return min((figure.confidence for figure in rules), key=_ORDER.index, default="low")


def total_cost(steps: tuple[PricedStep, ...]) -> MoneyRange | None:
    """The costs of steps together; ``None`` where one is not known."""
    total = MoneyRange(0, 0, 0)
    for step in steps:
        if step.cost is None:
            return None
        total += step.cost
    return total
