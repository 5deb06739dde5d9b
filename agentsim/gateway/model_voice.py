"""A real model behind the endpoint: it says the answers, and its cache says what they cost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Protocol

from agentsim.cache import Served
from agentsim.core.prompt import Prompt
from agentsim.core.session import Usage
from agentsim.gateway.scripted_reply import ChatRequest


class AnswerDelta(Protocol):
    """What was said since the last time, and how the answer stands: see
    :class:`agentsim.engine.model_answers.TokenDelta`."""

    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def usage(self) -> Usage: ...  # noqa: D102
    @property
    def first_token(self) -> int: ...  # noqa: D102
    @property
    def end(self) -> int: ...  # noqa: D102
    @property
    def is_over(self) -> bool: ...  # noqa: D102
    @property
    def cut_short(self) -> bool: ...  # noqa: D102
    @property
    def failure(self) -> str | None: ...  # noqa: D102


class Speaks(Protocol):
    """What answers prompts, several at once."""

    def say(
        self, prompt: Prompt, most: int | None, namespace: bytes, hear: Callable[[AnswerDelta], None]
    ) -> Callable[[], None]:
        """Begin to answer a prompt, with at most ``most`` tokens. ``hear`` is called from another thread; what is
        returned ends the answer. Raises ValueError for a prompt that cannot be held."""
        ...

    def close(self) -> None:
        """Stop. Answers under way fail."""
        ...


class Listening:
    """An answer under way, heard in the event loop that asked for it. Mutable; for that loop alone."""

    def __init__(self) -> None:
        self.stop: Callable[[], None] = lambda: None
        """End the answer. Safe to call twice, and when it is over."""
        self._loop = asyncio.get_running_loop()
        self._is_new = asyncio.Event()
        self._text: list[str] = []
        self._heard: AnswerDelta | None = None

    def hear(self, heard: AnswerDelta) -> None:
        """Something was said. May be called from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._take, heard)

    def wake(self) -> None:
        """Let :meth:`more` return, though nothing was said."""
        self._is_new.set()

    async def more(self) -> tuple[str, AnswerDelta | None]:
        """Wait for something new: all that was said since the last time, and how the answer stands now (``None``:
        nothing was said yet)."""
        await self._is_new.wait()
        self._is_new.clear()
        text = "".join(self._text)
        self._text.clear()
        return text, self._heard

    def _take(self, heard: AnswerDelta) -> None:
        self._text.append(heard.text)
        self._heard = heard
        self._is_new.set()


class Voice:
    """What a model says, and what its cache says that it cost."""

    def __init__(self, speaker: Speaks) -> None:
        self._speaker = speaker

    def begin(self, asked: ChatRequest) -> Listening:
        """Begin an answer, to be heard in the running event loop. Raises ValueError for a prompt that does not fit."""
        listening = Listening()
        most = 1 if is_silent(asked) else asked.max_tokens
        listening.stop = self._speaker.say(asked.prompt, most, _namespace(asked.model), listening.hear)
        return listening

    def close(self) -> None:
        """Stop the model."""
        self._speaker.close()


def is_silent(asked: ChatRequest) -> bool:
    """Whether a request wants its prompt cached, and nothing said."""
    return asked.silent or asked.max_tokens == 0


def served(heard: AnswerDelta, now: int, *, silent: bool = False) -> Served:
    """What an answer took that began at ``now``. A ``silent`` one wanted its prompt cached, and nothing said."""
    usage = heard.usage
    if silent:
        usage = Usage(fresh=usage.fresh, read=usage.read, output=0)
    return Served(usage=usage, first_token=now + heard.first_token, end=now + heard.end)


def _namespace(model: str) -> bytes:
    return model.encode("utf-8", "replace")
