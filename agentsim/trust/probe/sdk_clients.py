"""The official clients as askers. Answers are streamed, to know when they begin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from agentsim.bodies.messages_usage import SentUsage, usage_of
from agentsim.bodies.openai_usage import OpenAIUsage, openai_usage
from agentsim.cache.endpoint_accounts import AskFailed, EndpointAccount
from agentsim.core.session import Usage
from agentsim.core.strict_decoding import BadRow
from agentsim.trust.probe.probe_questions import Lifetime, ProbeAnswer, ProbeClock, ProbePrompt

if TYPE_CHECKING:
    import anthropic
    import openai

    from agentsim.trust.probe.probe_questions import Asker


_TTLS: dict[Lifetime, str] = {"short": "5m", "long": "1h"}
_MARK_TTLS: dict[Lifetime, str] = {"short": "30m", "long": "12h"}
"""The lifetimes of breakpoints, in the words of Anthropic and of OpenAI."""


@contextmanager
def asker_for(account: EndpointAccount, model: str, clock: ProbeClock, *, marks: bool = False) -> Iterator[Asker]:
    """The asker that speaks the account's API, while the block runs. ``marks``: an OpenAI model with breakpoints."""
    if account.api == "anthropic":
        with account.anthropic() as client:
            yield AnthropicAsker(account, client, model, clock)
    else:
        with account.openai() as other:
            yield OpenAIAsker(account, other, model, clock, marks=marks)


class AnthropicAsker:
    """Asks through the ``anthropic`` package."""

    def __init__(self, account: EndpointAccount, client: anthropic.Anthropic, model: str, clock: ProbeClock) -> None:
        self._account = account
        self._client = client
        self._model = model
        self._clock = clock

    def ask(self, question: ProbePrompt, began: Callable[[], None] | None = None) -> ProbeAnswer:
        """See :class:`agentsim.trust.probe.probe_questions.Asker`."""
        content: list[dict[str, Any]] = [{"type": "text", "text": part} for part in question.parts]
        content[question.marked]["cache_control"] = {"type": "ephemeral", "ttl": _TTLS[question.lifetime]}
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": question.output,
            "messages": [{"role": "user", "content": content}],
            "stream": True,
        }
        return _heard(self._account, self._clock, lambda: self._client.messages.create(**body), _anthropic, began)


class OpenAIAsker:
    """Asks through the ``openai`` package, by its Responses API."""

    def __init__(
        self, account: EndpointAccount, client: openai.OpenAI, model: str, clock: ProbeClock, *, marks: bool = False
    ) -> None:
        self._account = account
        self._client = client
        self._model = model
        self._clock = clock
        self._marks = marks

    def ask(self, question: ProbePrompt, began: Callable[[], None] | None = None) -> ProbeAnswer:
        """See :class:`agentsim.trust.probe.probe_questions.Asker`."""
        content: list[dict[str, Any]] = [{"type": "input_text", "text": part} for part in question.parts]
        body: dict[str, Any] = {
            "model": self._model,
            "max_output_tokens": question.output,
            "input": [{"role": "user", "content": content}],
            "stream": True,
            "store": False,
        }
        if self._marks:
            for part in content if question.every else (content[question.marked],):
                part["prompt_cache_breakpoint"] = {"mode": "explicit"}
            body["prompt_cache_options"] = {"mode": "explicit", "ttl": _MARK_TTLS[question.lifetime]}
            body["prompt_cache_key"] = question.parts[0].split("\n", 1)[0][:64]
        if question.retention is not None:
            body["prompt_cache_retention"] = question.retention
        return _heard(self._account, self._clock, lambda: self._client.responses.create(**body), _openai, began)


Told = tuple[str | None, Mapping[str, Any] | None, bool]
"""What an event says: an id, usage, and whether it is a piece of the answer."""


def _heard(
    account: EndpointAccount,
    clock: ProbeClock,
    send: Callable[[], Iterable[Any]],
    read: Callable[[Any], Told],
    began: Callable[[], None] | None,
) -> ProbeAnswer:
    """Send, and hear the answer to its end. Usage is cumulative: what an event reports replaces what was reported."""
    start = clock.now()
    first: int | None = None
    id: str | None = None
    usage: dict[str, Any] = {}
    try:
        for event in send():
            named, counted, is_piece = read(event)
            id = named or id
            usage |= {name: value for name, value in (counted or {}).items() if value is not None}
            if is_piece and first is None:
                clock.tick()
                first = clock.now()
                if began is not None:
                    began()
    except AskFailed:
        raise
    except Exception as error:  # each client has its own, and so has what is beneath it
        raise account.failure(error) from None
    clock.tick()
    end = clock.now()
    try:
        found = _usage(account, usage)
    except (BadRow, msgspec.MsgspecError) as error:
        raise AskFailed(f"its usage cannot be understood: {error}") from None
    return ProbeAnswer(usage=found, start=start, first_token=end if first is None else first, end=end, id=id)


def _anthropic(event: Any) -> Told:
    if event.type == "message_start":
        return event.message.id, event.message.usage.model_dump(), False
    if event.type == "message_delta":
        return None, event.usage.model_dump(), False
    return None, None, event.type == "content_block_start"


def _openai(event: Any) -> Told:
    response = getattr(event, "response", None)
    if event.type in ("response.failed", "error"):
        raise AskFailed(f"the answer failed: {getattr(getattr(response, 'error', event), 'message', event.type)}")
    usage = None if response is None or response.usage is None else response.usage.model_dump()
    return (None if response is None else response.id), usage, event.type == "response.output_item.added"


def _usage(account: EndpointAccount, told: Mapping[str, Any]) -> Usage:
    if not told:
        raise BadRow("no usage", "the answer reported none")
    if account.api == "anthropic":
        return usage_of(msgspec.convert(told, SentUsage, strict=False))
    return openai_usage(msgspec.convert(told, OpenAIUsage))
