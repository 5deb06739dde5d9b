"""The engine's answers to prompts of text: what it says, and what saying it took."""

from __future__ import annotations

from dataclasses import dataclass

from agentsim.prompt import Prompt
from agentsim.session import Usage
from engine.engine import Engine
from engine.loading import Loaded
from engine.trace_tokens import Encoder, Spoken


class PromptTooLong(ValueError):
    """A prompt that the model's context cannot hold."""


@dataclass(frozen=True)
class Said:
    """An answer: its text, whether it was cut short by the limit of its length, and its counters. Times are
    nanoseconds after the request came."""

    text: str
    cut_short: bool
    usage: Usage
    first_token: int
    end: int


class Speaker:
    """Answers one prompt after the other, greedily. What one prompt computed, the next reads. Mutable.

    ``most`` is how many tokens an answer has at most, whatever is asked for. Raises ValueError for a model without a
    tokenizer.
    """

    def __init__(self, loaded: Loaded, *, pages: int, most: int = 256, paranoid: bool = False) -> None:
        if loaded.encoder is None:
            raise ValueError(f"{loaded.name} comes without a tokenizer: it can neither read nor write text")
        self.name = loaded.name
        self.engine = Engine(loaded.model, pages=pages, paranoid=paranoid)
        self._encoder: Encoder = loaded.encoder
        self._spoken = Spoken(loaded.encoder, loaded.model.config.vocab, marks=loaded.marks)
        self._most = most

    def say(self, prompt: Prompt, most: int | None, namespace: bytes = b"") -> Said:
        """The answer to a prompt, of at most ``most`` tokens. Raises PromptTooLong."""
        written = self._spoken.prompt(prompt, answer=True)
        context = self.engine.model.config.context
        room = min(context, self.engine.pool.size * self.engine.page_size) - len(written)
        if room < 1:
            raise PromptTooLong(f"prompt is too long: {len(written)} tokens > {context - 1} maximum")
        limit = min(self._most, room, self._most if most is None else most)
        sequence = self.engine.submit(written.tokens, max(limit, 1), namespace=namespace)
        self.engine.run()
        assert sequence.arrived is not None
        assert sequence.first_token is not None
        assert sequence.last_token is not None
        generated = sequence.generated
        words = generated[:-1] if sequence.stopped else generated
        return Said(
            text=self._encoder.decode(words),
            cut_short=not sequence.stopped,
            usage=Usage(fresh=sequence.prompt_length - sequence.reused, read=sequence.reused, output=len(generated)),
            first_token=sequence.first_token - sequence.arrived,
            end=sequence.last_token - sequence.arrived,
        )
