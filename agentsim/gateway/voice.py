"""A real model behind the endpoint: it says the answers, and its cache says what they cost."""

from __future__ import annotations

from typing import Protocol

from agentsim.backends import Served
from agentsim.gateway.reply import Asked, Reply, Say
from agentsim.prompt import Prompt
from agentsim.session import Request, Usage


class Spoken(Protocol):
    """An answer: its text, whether its length was limited, its counters, and nanoseconds after the request came."""

    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def cut_short(self) -> bool: ...  # noqa: D102
    @property
    def usage(self) -> Usage: ...  # noqa: D102
    @property
    def first_token(self) -> int: ...  # noqa: D102
    @property
    def end(self) -> int: ...  # noqa: D102


class Speaks(Protocol):
    """What answers prompts."""

    def say(self, prompt: Prompt, most: int | None, namespace: bytes = b"") -> Spoken:
        """The answer to a prompt, of at most ``most`` tokens. Raises ValueError for a prompt that it cannot hold."""
        ...


class Voice:
    """What is said and the cache behind it, of one model: a Replier and a CacheBackend. Mutable.

    The endpoint asks for the reply first and for its counters after that; both come from one run of the model.
    """

    def __init__(self, speaker: Speaks) -> None:
        self._speaker = speaker
        self._said: tuple[bytes, Spoken] | None = None
        self._refused: str | None = None

    def reply(self, asked: Asked) -> Reply:
        """What the model says."""
        self._said, self._refused = None, None
        try:
            said = self._speaker.say(asked.prompt, asked.max_tokens, asked.model.encode("utf-8", "replace"))
        except ValueError as error:
            self._refused = str(error)
            return Reply((), "end_turn", 0)
        self._said = (asked.prompt.digest, said)
        return Reply((Say(said.text),), "max_tokens" if said.cut_short else "end_turn", said.usage.output or 0)

    def serve(self, request: Request, now: int) -> Served:
        """What the answer took."""
        assert request.prompt is not None
        if self._refused is not None:
            reason, self._refused = self._refused, None
            return Served(usage=Usage(), rejected=reason)
        if self._said is None or self._said[0] != request.prompt.digest:
            return self._filled(request, now)
        said, self._said = self._said[1], None
        return Served(usage=said.usage, first_token=now + said.first_token, end=now + said.end)

    def _filled(self, request: Request, now: int) -> Served:
        """The client wants no answer, only that its prompt is cached."""
        assert request.prompt is not None
        try:
            said = self._speaker.say(request.prompt, 1, request.model.encode("utf-8", "replace"))
        except ValueError as error:
            return Served(usage=Usage(), rejected=str(error))
        usage = Usage(fresh=said.usage.fresh, read=said.usage.read, output=0)
        return Served(usage=usage, first_token=now + said.first_token, end=now + said.end)
