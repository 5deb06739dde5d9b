"""A loss without bodies as a case: the evidence on it."""

from __future__ import annotations

from agentsim.diagnose.lifetime_clock import Expired, LifetimeClock, expiry, idle_seconds
from agentsim.diagnose.row_facts import LaneMemory, RowFacts
from agentsim.diagnose.row_reach import Reach, reach_of
from agentsim.rules.providers import ProviderRules, rules_for

TAIL = 2048
"""Tokens; a read that stops at most so many short of a place is taken to reach it: a turn's last thinking, reminders
and the like are dropped or replaced when the next turn begins."""

LARGEST_MINIMUM = 8192
"""Tokens; no provider keeps less than that back."""


class RowCase:
    """One loss: the row, the request it grew from, what its lane has shown, and how far the read reached.

    ``blind`` is True where the provider's word is not to be used; ``equal`` where the provider compared the requests
    and found no difference. ``conversation`` says that the log shows the conversation.
    """

    __slots__ = (
        "_asked",
        "_rules",
        "blind",
        "clock",
        "clock_sentence",
        "conversation",
        "equal",
        "expired",
        "idle",
        "memory",
        "parent",
        "reach",
        "row",
    )

    def __init__(
        self, row: RowFacts, parent: RowFacts, memory: LaneMemory, clock: LifetimeClock, *, blind: bool, messages: bool
    ) -> None:
        self.row = row
        self.parent = parent
        self.memory = memory
        self.clock = clock
        self.blind = blind
        self.conversation = messages
        self.equal = not blind and row.diagnosis.reported and row.diagnosis.reason is None
        self.expired: Expired
        self.expired, self.clock_sentence = expiry(row, clock)
        self.idle = idle_seconds(row)
        self._rules: ProviderRules | None = None
        self._asked = False
        # Loading rules takes longer than summing up a small log: it waits until a hypothesis needs them.
        minimum = self.minimum if 0 < row.read < LARGEST_MINIMUM else 0
        self.reach: Reach = reach_of(row, memory, minimum, messages=messages)

    @property
    def rules(self) -> ProviderRules | None:
        """The rules in force for the row's model when it was sent; ``None`` where nobody's are known."""
        if not self._asked:
            self._rules, self._asked = rules_of(self.row), True
        return self._rules

    @property
    def minimum(self) -> int:
        """The shortest prefix that is kept, in tokens; 0 where no rules are known."""
        return self.rules.minimum if self.rules is not None else 0

    @property
    def settled(self) -> bool:
        """Whether a lifetime that was over, or another model or provider, explains the loss whatever else changed."""
        row, parent = self.row, self.parent
        over = self.expired == "yes" and parent.ttl is not None
        return over or row.model != parent.model or row.provider != parent.provider

    @property
    def shrunk(self) -> int:
        """By how many tokens the prompt is shorter than the one before; 0 where it is not."""
        return max(0, self.parent.total - self.row.total)

    @property
    def again(self) -> bool:
        """Whether the request before lost its prefix too, and read as much."""
        return self.memory.last_loss == self.parent.id and self.parent.read == self.row.read

    @property
    def tail_again(self) -> bool:
        """Whether this row and the one before it each read all but the end of the conversation before them."""
        row, parent = self.row, self.parent
        before = parent.parent
        if self.memory.last_loss != parent.id or before is None or not self.reach.in_conversation:
            return False
        if row.read > parent.read:
            return 0 < before.warm - row.read <= TAIL
        # The same place again: the first loss of the row of losses is to have lost what one request had added, no more.
        while before is not None and before.read == row.read == parent.read and before.parent is not None:
            if before.parent.warm == row.read:
                return True
            before = before.parent
        return False

    @property
    def reason(self) -> str | None:
        """The provider's word on the loss, where there is one to be used."""
        return None if self.blind else self.row.diagnosis.reason

    def keyed_sections(self, setting: str) -> int | None:
        """In the keys of how many sections a setting takes part; ``None`` where no rules say it."""
        if self.rules is None:
            return None
        return next((len(rule.sections) for rule in self.rules.settings if rule.name == setting), 0)


def rules_of(row: RowFacts) -> ProviderRules | None:
    """The rules in force for a row; ``None`` where none are known for its provider."""
    try:
        return rules_for(row.provider, row.model, row.start)
    except ValueError:
        return None
