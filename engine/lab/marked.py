"""An engine whose pages are read as a provider with breakpoints would: up to a marked place, once it is readable."""

from __future__ import annotations

from collections.abc import Sequence as Row
from dataclasses import dataclass

from agentsim.engine.inference_engine import Engine, EngineModel
from agentsim.engine.prefix_cache import Match, PrefixCache
from agentsim.engine.sequence import Sequence
from agentsim.engine.token_chain import TokenChain


class MarkedCache(PrefixCache):
    """Finds a prefix only where it was marked, and only after it was."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.pool)
        self._marked: set[bytes] = set()

    def mark(self, chain: TokenChain, tokens: int) -> None:
        """The first ``tokens`` of a chain, whole pages, can be read from now on."""
        pages, rest = divmod(tokens, self.pool.page_size)
        if rest or not pages:
            raise ValueError(f"{tokens} tokens do not end with a page")
        self._marked.add(chain.digests[pages - 1])

    def match(self, chain: TokenChain, most: int | None = None, now: int = 0) -> Match:
        """The longest marked prefix that is there."""
        places = super().match(chain, most, now).places
        while places and chain.digests[len(places) - 1] not in self._marked:
            places = places[:-1]
        return Match(places)


@dataclass(frozen=True, slots=True)
class MarkedRequest:
    """What became of a request: tokens of its prompt, how many were read, and the time to its first token."""

    tokens: int
    read: int
    first_token_ms: float
    answer: tuple[int, ...]

    @property
    def written(self) -> int:
        """Tokens that were computed."""
        return self.tokens - self.read


class MarkedEngine:
    """An engine for prompts with breakpoints. ``longest_prefix``: as engines do by themselves, without breakpoints."""

    def __init__(self, model: EngineModel, pages: int, *, longest_prefix: bool = False) -> None:
        # Steps large enough that requests sent together are admitted together.
        self.engine = Engine(model, pages=pages, step_tokens=1 << 20, keep_generated=False)
        self._marks: MarkedCache | None = None
        if not longest_prefix:
            self._marks = MarkedCache(self.engine)
            self.engine.cache = self.engine.scheduler.cache = self._marks

    def ask(self, prompts: Row[tuple[Row[int], Row[int]]], new_tokens: int) -> list[MarkedRequest]:
        """Send prompts (tokens, and the lengths that are marked) at the same time, and wait for all answers. Marked
        prefixes can be read once their request has begun to answer, and so by none of these."""
        sequences = [self.engine.submit(tokens, new_tokens, stop=()) for tokens, _ in prompts]
        self.engine.run()
        if self._marks is not None:
            for tokens, marks in prompts:
                for length in marks:
                    self._marks.mark(self.engine.chain(tokens), length)
        return [_asked(sequence) for sequence in sequences]


def _asked(sequence: Sequence) -> MarkedRequest:
    assert sequence.first_token is not None
    assert sequence.arrived is not None
    waited = (sequence.first_token - sequence.arrived) / 1e6
    return MarkedRequest(sequence.prompt_length, sequence.reused, waited, tuple(sequence.generated))
