"""What an experiment asks, what it hears, and the clock that it waits by."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Literal, Protocol

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.session import Usage

Lifetime = Literal["short", "long"]
"""Which of a provider's lifetimes an entry is written for."""

FEW_TOKENS = 16
"""Output of a request whose answer does not matter: the fewest that every API accepts."""


class ProbePrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt of text parts. The part at ``marked`` carries the breakpoint, where the provider has any; with
    ``every`` all parts carry one. A ``retention`` is how long a cache without breakpoints is asked to keep it."""

    parts: tuple[str, ...]
    marked: int = 0
    every: bool = False
    lifetime: Lifetime = "short"
    retention: str | None = None
    output: int = FEW_TOKENS


class ProbeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: what it reported, and when it was asked for, began and ended (nanoseconds, UTC)."""

    usage: Usage
    start: int
    first_token: int
    end: int
    id: str | None = None


class ProbeClock(Protocol):
    """The time of the endpoint that is asked."""

    def now(self) -> int:
        """Nanoseconds, UTC."""
        ...

    def wait_until(self, when: int) -> None:
        """Come back when it is so late."""
        ...

    def tick(self) -> None:
        """An answer began, or ended: time has passed."""
        ...

    def held(self) -> AbstractContextManager[object]:
        """While the block runs no answer makes time pass: what is asked in it is asked at the same time."""
        ...


class RealClock:
    """The clock on the wall. ``tell`` hears of each wait, in nanoseconds, before it begins."""

    def __init__(self, tell: Callable[[int], None] | None = None) -> None:
        self._tell = tell

    def now(self) -> int:
        """See :class:`ProbeClock`."""
        return time.time_ns()

    def wait_until(self, when: int) -> None:
        """See :class:`ProbeClock`."""
        left = when - self.now()
        if left > 0:
            if self._tell is not None:
                self._tell(left)
            time.sleep(left / SECOND)

    def tick(self) -> None:
        """Nothing to do: it goes by itself."""

    def held(self) -> AbstractContextManager[object]:
        """Nothing can hold it."""
        return nullcontext()


class EmulatedClock:
    """A clock that only goes when it is told to, for an endpoint that lives by it. Waiting takes no time. Mutable."""

    STEP = SECOND
    """How long an answer takes to begin, and then to end."""

    def __init__(self, start: int) -> None:
        self._now = start
        self._held = False

    def now(self) -> int:
        """See :class:`ProbeClock`."""
        return self._now

    def wait_until(self, when: int) -> None:
        """See :class:`ProbeClock`. A time that is over changes nothing."""
        self._now = max(self._now, when)

    def tick(self) -> None:
        """See :class:`ProbeClock`."""
        if not self._held:
            self._now += self.STEP

    @contextmanager
    def held(self) -> Iterator[None]:
        """See :class:`ProbeClock`."""
        self._held = True
        try:
            yield
        finally:
            self._held = False


class Asker(Protocol):
    """A client of one provider, for one model."""

    def ask(self, question: ProbePrompt, began: Callable[[], None] | None = None) -> ProbeAnswer:
        """Ask and read the answer to its end. ``began`` is called once, when its first piece has come.

        Raises :class:`agentsim.cache.endpoint_accounts.AskFailed`.
        """
        ...
