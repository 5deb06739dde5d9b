"""What backends that go by prompts alone have in common: who is answered, in which order, and when it can be read."""

from __future__ import annotations

from agentsim.cache import Served
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Usage
from agentsim.rules.providers import ProviderRules

SECOND = 10**9


class InOrder:
    """A :class:`agentsim.cache.CacheBackend` whose cache is asked for each prompt, never for an earlier time."""

    _now: int | None = None

    def serve(self, request: Request, now: int) -> Served:
        """See :meth:`agentsim.cache.CacheBackend.serve`. Raises ValueError for a provider without known rules."""
        prompt = request.prompt
        if prompt is None:
            return Served(usage=request.usage or Usage())
        if self._now is not None and now < self._now:
            raise ValueError("requests must be served in the order of their start")
        self._now = now
        return self._answer(request, prompt, now)

    def _answer(self, request: Request, prompt: Prompt, now: int) -> Served:
        """What became of a request with a prompt. Changes the cache."""
        raise NotImplementedError


def output_of(request: Request) -> int | None:
    """Output tokens that the log reports: no cache changes them."""
    return None if request.usage is None else request.usage.output


def readable_from(request: Request, now: int, rules: ProviderRules) -> int:
    """When what a request arriving at ``now`` leaves behind can be read (nanoseconds)."""
    if rules.readable == "request_start":
        return now
    time = request.end if rules.readable == "response_end" else request.first_token
    return now + rules.first_token_after * SECOND if time is None else time
