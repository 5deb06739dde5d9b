"""What experiments share: somebody to ask, the rules to compare with, and a record of each request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from agentsim.core.session import Usage
from agentsim.core.tokens import estimate_quickly, scale
from agentsim.rules.providers import ProviderRules
from agentsim.trust.probe.probe_questions import Asker, ProbeAnswer, ProbeClock, ProbePrompt

Kind = Literal["four requests", "floor", "lookback", "visibility", "ttl"]
"""The experiments."""

WORDS = 2048
"""The fewest words of a document that is meant to be cached."""


class PredictedUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules say of a request: tokens read and written; ``None`` where they say nothing exact."""

    read: int | None = None
    write: int | None = None


class ProbeStep(msgspec.Struct, frozen=True, kw_only=True):
    """One request of an experiment. ``holds`` says whether it went as the rules say; ``None`` where one request alone
    says nothing."""

    experiment: Kind
    number: int
    name: str
    answered: ProbeAnswer
    predicted: PredictedUsage = PredictedUsage()
    holds: bool | None = None


class ProbeFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What an experiment found: the rule's figure and the measured one, in words, and whether they agree.

    ``agrees`` is ``None`` where nothing was measured; ``note`` says why, or what else is to be known.
    """

    experiment: Kind
    rule: str
    predicted: str
    measured: str
    agrees: bool | None
    source: str = ""
    confidence: str = ""
    note: str = ""


class ProbeLoad(msgspec.Struct, frozen=True):
    """The most that an experiment sends: requests, bytes of prompt of each, and tokens of output of each."""

    requests: int
    size: int
    output: int


class Bench:
    """Asks, and keeps what was asked. Mutable.

    ``run`` is in the first line of every document, so that no run reads what another one wrote.
    """

    def __init__(
        self,
        *,
        asker: Asker,
        clock: ProbeClock,
        rules: ProviderRules,
        run: str,
        waits: bool,
        log: Callable[[ProbeStep], None] = lambda step: None,
    ) -> None:
        self.asker = asker
        self.clock = clock
        self.rules = rules
        self.run = run
        self.waits = waits
        self.steps: list[ProbeStep] = []
        self._log = log

    def ask(
        self,
        experiment: Kind,
        name: str,
        question: ProbePrompt,
        judge: Callable[[Usage], tuple[PredictedUsage, bool | None]] | None = None,
    ) -> ProbeAnswer:
        """Ask, and keep the answer. ``judge`` says what was predicted, and whether it held."""
        return self.keep(experiment, name, self.asker.ask(question), judge)

    def keep(
        self,
        experiment: Kind,
        name: str,
        answered: ProbeAnswer,
        judge: Callable[[Usage], tuple[PredictedUsage, bool | None]] | None = None,
    ) -> ProbeAnswer:
        """Keep an answer."""
        predicted, holds = (PredictedUsage(), None) if judge is None else judge(answered.usage)
        step = ProbeStep(
            experiment=experiment,
            number=len(self.steps) + 1,
            name=name,
            answered=answered,
            predicted=predicted,
            holds=holds,
        )
        self.steps.append(step)
        self._log(step)
        return answered

    def estimate(self, text: str) -> int:
        """About how many tokens of the model a text is."""
        return scale(estimate_quickly(text), self.rules.model)

    def finding(
        self, experiment: Kind, rule: str, predicted: str, measured: str, agrees: bool | None, note: str = ""
    ) -> ProbeFinding:
        """A finding about a rule, with the rule's source."""
        figure = self.rules.figure(rule)
        return ProbeFinding(
            experiment=experiment,
            rule=rule,
            predicted=predicted,
            measured=measured,
            agrees=agrees,
            source="" if figure is None else figure.source,
            confidence="" if figure is None else figure.confidence,
            note=note,
        )


def words_of(rules: ProviderRules) -> int:
    """Words of a document that is long enough to be cached: a word is at least a token."""
    return max(2 * rules.minimum, WORDS)


def has_breakpoints(rules: ProviderRules) -> bool:
    """Whether entries are written at breakpoints, and reported when they are."""
    return rules.matching == "breakpoint"


def counted(tokens: int, rules: ProviderRules) -> int:
    """What is reported as read of a prefix of so many tokens."""
    return tokens - tokens % rules.quantum if tokens >= rules.minimum else 0
