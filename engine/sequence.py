"""One request on its way through the engine."""

from __future__ import annotations

from enum import Enum

from agentsim.engine.token_chain import TokenChain


class SequenceState(Enum):
    """Where a sequence is. Only a running one holds pages."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    ABORTED = "aborted"


class Sequence:
    """Tokens that are to be continued, what was computed of them, and what that took. Mutable; the engine's alone.

    ``serial`` orders sequences by their arrival. ``start`` is the time of the request by the caller's calendar, which
    lifetimes of cached blocks go by; the measured times are nanoseconds of the engine's clock.
    """

    __slots__ = (
        "arrived",
        "chain",
        "computed",
        "computed_tokens",
        "first_token",
        "last_token",
        "new_tokens",
        "pages",
        "preemptions",
        "prompt_length",
        "registered",
        "restored",
        "reuse_limit",
        "reused",
        "seed",
        "serial",
        "start",
        "state",
        "stop",
        "stopped",
        "temperature",
        "token_times",
    )

    def __init__(
        self,
        serial: int,
        chain: TokenChain,
        new_tokens: int,
        *,
        temperature: float = 0.0,
        seed: int = 0,
        stop: frozenset[int] = frozenset(),
        start: int = 0,
        reuse_limit: int | None = None,
    ) -> None:
        self.serial = serial
        self.chain = chain
        """The prompt's tokens, and the generated ones after them."""
        self.prompt_length = len(chain)
        self.new_tokens = new_tokens
        """How many tokens to generate at most."""
        self.temperature = temperature
        self.seed = seed
        self.stop = stop
        self.start = start
        self.reuse_limit = reuse_limit
        """How many tokens may be found in the cache; ``None``: as many as are there."""
        self.state = SequenceState.WAITING
        self.pages: list[int] = []
        """Its block table."""
        self.computed = 0
        """How many of its tokens have their keys and values in its pages."""
        self.registered = 0
        """How many of its blocks the prefix cache knows."""
        self.reused = 0
        """Tokens of the prompt that were found in the cache when it was first admitted."""
        self.restored = 0
        """How many of those came back from the host's memory."""
        self.computed_tokens = 0
        """Tokens that were put through the model for it, those of a recomputation after a preemption included."""
        self.preemptions = 0
        self.stopped = False
        """Whether a token that ends a text was what finished it."""
        self.arrived: int | None = None
        self.first_token: int | None = None
        self.last_token: int | None = None
        self.token_times: list[int] = []

    @property
    def prompt(self) -> list[int]:
        """The tokens it began with."""
        return self.chain.tokens[: self.prompt_length].tolist()

    @property
    def generated(self) -> list[int]:
        """The tokens it has generated so far."""
        return self.chain.tokens[self.prompt_length :].tolist()

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in (SequenceState.FINISHED, SequenceState.ABORTED)

    @property
    def longest(self) -> int:
        """How many positions it may come to take; the last token generated is never computed."""
        return self.prompt_length + self.new_tokens - 1

    @property
    def time_to_first_token(self) -> int | None:
        """Nanoseconds from its arrival to its first token; ``None`` before that."""
        if self.first_token is None or self.arrived is None:
            return None
        return self.first_token - self.arrived

    @property
    def token_rate(self) -> float | None:
        """Tokens a second after the first one; ``None`` when there were fewer than two."""
        if self.first_token is None or self.last_token is None or len(self.token_times) < 2:
            return None
        return (len(self.token_times) - 1) * 1e9 / max(self.last_token - self.first_token, 1)

    def __repr__(self) -> str:
        return f"<Sequence {self.serial} {self.state.value}, {self.computed} of {len(self.chain)} tokens computed>"
