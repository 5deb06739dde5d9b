"""A recorded session sent again, to a real endpoint: Anthropic's, OpenAI's, or a server that speaks like one of them.

Requests go out one after the other, in the order of their start and with the recorded gaps between them, or shorter
ones. Each is sent once. What they ask for besides the prompt is left out: the answers do not matter.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from agentsim.bodies.body_rendering import RenderedBody, chat_body, messages_body
from agentsim.bodies.messages_usage import SentUsage, usage_of
from agentsim.bodies.openai_usage import OpenAIUsage, openai_usage
from agentsim.cache import CacheBackend, CacheLookup, CannotEvict, Served
from agentsim.cache.endpoint_accounts import AskFailed, EndpointAccount
from agentsim.cache.prompt_cache import ArrivalOrder, as_reported, unknown
from agentsim.core.dates import SECOND
from agentsim.core.session import Request, Usage
from agentsim.core.strict_decoding import BadRow


class LiveBackend(CacheBackend):
    """A :class:`agentsim.cache.CacheBackend` that asks an endpoint. Mutable; close it when it has done.

    ``speed`` is how many times as fast as recorded the session goes; ``output`` limits what each answer may be.
    ``wait`` comes back after so many seconds, and ``clock`` tells nanoseconds (UTC).
    """

    def __init__(
        self,
        account: EndpointAccount,
        *,
        output: int = 1,
        speed: float = 1.0,
        clock: Callable[[], int] = time.time_ns,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._account = account
        self._client: Any = account.anthropic() if account.api == "anthropic" else account.openai()
        self._output = output
        self._speed = speed
        self._clock = clock
        self._wait = wait
        self._order = ArrivalOrder()
        self._first: tuple[int, int] | None = None
        """When the first request was recorded, and when it was sent."""
        self.sent = 0
        """When the last request was sent."""

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def look_up(self, request: Request, now: int, *, keep: int | None = None) -> CacheLookup:
        """See :meth:`agentsim.cache.CacheBackend.look_up`: only the answer tells what was read. Raises NoText for a
        prompt without its words."""
        if request.prompt is None:
            return unknown(request, now)
        if keep is not None:
            raise CannotEvict("a live endpoint evicts what it wants")
        return CacheLookup(
            request=request,
            now=now,
            read=None,
            version=self._order.version,
            found=body_of(request, self._account),
        )

    def commit(self, lookup: CacheLookup, *, first_token: int | None = None, end: int | None = None) -> Served:
        """See :meth:`agentsim.cache.CacheBackend.commit`: the request is sent, and takes the time that it takes. Raises
        :class:`AskFailed`."""
        request = lookup.request
        if request.prompt is None:
            return as_reported(request)
        self._order.advance(lookup)
        self.sent = self._sent_at(lookup.now)
        if self._account.api == "anthropic":
            usage = self._ask_messages(request.model, lookup.found)
        else:
            usage = self._ask_chat(request.model, lookup.found)
        return Served(usage=usage, end=self._clock())

    def evict(self, request: Request, keep: int, now: int) -> None:
        """See :meth:`agentsim.cache.CacheBackend.evict`. Raises :class:`agentsim.cache.CannotEvict`."""
        raise CannotEvict("a live endpoint evicts what it wants")

    def _sent_at(self, now: int) -> int:
        if self._first is None:
            self._first = (now, self._clock())
        recorded, began = self._first
        due = began + round((now - recorded) / self._speed)
        late = due - self._clock()
        if late > 0:
            self._wait(late / SECOND)
        return self._clock()

    def _ask_messages(self, model: str, body: RenderedBody) -> Usage:
        headers = {"anthropic-beta": ",".join(body.betas)} if body.betas else {}
        fields = dict(body.fields)
        messages = fields.pop("messages")
        told = self._told(
            lambda: self._client.messages.with_raw_response.create(
                model=model, max_tokens=self._output, messages=messages, extra_body=fields, extra_headers=headers
            )
        )
        try:
            return usage_of(msgspec.convert(told, SentUsage, strict=False))
        except (BadRow, msgspec.MsgspecError) as error:
            raise AskFailed(f"its usage cannot be understood: {error}") from None

    def _ask_chat(self, model: str, body: RenderedBody) -> Usage:
        fields = dict(body.fields)
        messages = fields.pop("messages")
        # The provider's newer models take no other name; servers of others' models know the older one.
        limit = "max_completion_tokens" if self._account.is_official else "max_tokens"
        fields[limit] = self._output
        told = self._told(
            lambda: self._client.chat.completions.with_raw_response.create(
                model=model, messages=messages, extra_body=fields
            )
        )
        return chat_usage(told)

    def _told(self, send: Callable[[], Any]) -> dict[str, Any]:
        """The usage of an answer, as JSON."""
        try:
            answer = msgspec.json.decode(send().http_response.read())
        except Exception as error:  # each client has its own, and so has what is beneath it
            raise self._account.failure(error) from None
        usage = answer.get("usage") if isinstance(answer, dict) else None
        if not isinstance(usage, dict):
            raise AskFailed("the answer reports no usage")
        return usage


def body_of(request: Request, account: EndpointAccount) -> RenderedBody:
    """What would be sent for a request. Raises :class:`agentsim.bodies.block_parts.NoText`."""
    assert request.prompt is not None
    render = messages_body if account.api == "anthropic" else chat_body
    return render(request.prompt, request.settings)


def chat_usage(told: dict[str, Any]) -> Usage:
    """Usage in the form of chat completions. Servers that keep no count of what they read leave the details out, or
    say ``null``: then it is not known. Raises AskFailed for counters that contradict each other."""
    try:
        usage = openai_usage(msgspec.convert(told, OpenAIUsage))
    except (BadRow, msgspec.MsgspecError) as error:
        raise AskFailed(f"its usage cannot be understood: {error}") from None
    if usage.fresh is None:
        raise AskFailed("the answer does not report how long the prompt was")
    return usage
