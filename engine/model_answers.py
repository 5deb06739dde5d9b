"""The engine's answers to prompts of text: what it says, as it says it, and what saying it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from agentsim.core.prompt import Prompt
from agentsim.core.session import Usage
from agentsim.engine.engine_thread import Stepper
from agentsim.engine.inference_engine import Engine
from agentsim.engine.model_loading import LoadedModel
from agentsim.engine.sequence import Sequence
from agentsim.engine.trace_tokens import Encoder, SpokenTokens


class PromptTooLong(ValueError):
    """A prompt that the model's context cannot hold."""


@dataclass(frozen=True)
class TokenDelta:
    """What was said since the last time, and how the answer stands: its counters so far, whether it is over, and
    whether the limit of its length is what ended it. ``failure`` is why there will be no more of it. Times are
    nanoseconds after the request came."""

    text: str = ""
    usage: Usage = field(default_factory=Usage)
    first_token: int = 0
    end: int = 0
    is_over: bool = True
    cut_short: bool = False
    failure: str | None = None


Hear = Callable[[TokenDelta], None]
"""Called by the engine's thread, for every step that brings something new. It must be quick, and not raise."""


class Speaker:
    """Answers prompts greedily, all of those that are there at once in one batch. What one prompt computed, the next
    reads, even while the first is still being answered. Mutable; its methods are for one thread.

    ``most`` is how many tokens an answer has at most, whatever is asked for. Raises ValueError for a model without a
    tokenizer.
    """

    def __init__(self, loaded: LoadedModel, *, pages: int, most: int = 256, paranoid: bool = False) -> None:
        if loaded.encoder is None:
            raise ValueError(f"{loaded.name} comes without a tokenizer: it can neither read nor write text")
        self.name = loaded.name
        self.engine = Engine(loaded.model, pages=pages, await_prefixes=True, paranoid=paranoid)
        self._stepper = Stepper(self.engine)
        self._encoder: Encoder = loaded.encoder
        self._spoken = SpokenTokens(loaded.encoder, loaded.model.config.vocab, marks=loaded.marks)
        self._most = most

    def say(self, prompt: Prompt, most: int | None, namespace: bytes, hear: Hear) -> Callable[[], None]:
        """Begin to answer a prompt, with at most ``most`` tokens. What is returned ends the answer early: its pages are
        free at once, and nothing more is heard. Raises PromptTooLong."""
        arrived = time.perf_counter_ns()
        written = self._spoken.prompt(prompt, answer=True)
        context = self.engine.model.config.context
        room = min(context, self.engine.pool.size * self.engine.page_size) - len(written)
        if room < 1:
            raise PromptTooLong(f"prompt is too long: {len(written)} tokens > {context - 1} maximum")
        limit = min(self._most, room, self._most if most is None else most)
        chain = self.engine.chain(written.tokens, namespace)
        ticket = self._stepper.submit(chain, max(limit, 1), _Words(self._encoder, hear), arrived)
        return lambda: self._stepper.drop(ticket)

    def close(self) -> None:
        """Stop. Answers under way fail."""
        self._stepper.close()


class _Words:
    """Makes text of a sequence's tokens. Mutable."""

    def __init__(self, encoder: Encoder, hear: Hear) -> None:
        self._decoder = encoder.streamed()
        self._hear = hear
        self._read = 0

    def moved(self, sequence: Sequence) -> None:
        """See :class:`agentsim.engine.engine_thread.Follower`."""
        assert sequence.arrived is not None
        assert sequence.first_token is not None
        assert sequence.last_token is not None
        new = sequence.chain.tokens[sequence.prompt_length + self._read :]
        self._read += len(new)
        # The token that ends a text is none of its words.
        words = new[:-1] if sequence.stopped else new
        text = "".join(self._decoder.add(token) for token in words)
        if sequence.is_over:
            text += self._decoder.end()
        fresh = sequence.prompt_length - sequence.reused
        self._hear(
            TokenDelta(
                text=text,
                usage=Usage(fresh=fresh, read=sequence.reused, output=self._read),
                first_token=sequence.first_token - sequence.arrived,
                end=sequence.last_token - sequence.arrived,
                is_over=sequence.is_over,
                cut_short=sequence.is_over and not sequence.stopped,
            )
        )

    def failed(self, error: Exception) -> None:
        """See :class:`agentsim.engine.engine_thread.Follower`."""
        self._hear(TokenDelta(failure=f"the engine failed: {type(error).__name__}"))
