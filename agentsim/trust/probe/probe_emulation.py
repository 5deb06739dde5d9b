"""The emulated endpoint, started for an experiment: it lives by a clock that the experiment moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agentsim.cache.endpoint_accounts import NO_KEY, Api, EndpointAccount
from agentsim.trust.probe.probe_questions import EmulatedClock

FIRST_TOKEN = 20_000_000
"""Nanoseconds until an emulated answer begins: until then its entry cannot be read."""


@contextmanager
def emulated_account(api: Api, start: int) -> Iterator[tuple[EndpointAccount, EmulatedClock]]:
    """An account at an endpoint on loopback, and the clock that it lives by, while the block runs."""
    from agentsim.gateway.answer_pace import Pace
    from agentsim.gateway.answer_script import AnswerScript
    from agentsim.gateway.serve.emulated_endpoint import emulated

    clock = EmulatedClock(start)
    # Longer than any answer is asked to be, so that each is as long as it may be.
    endpoint = emulated(AnswerScript(after="word " * 200), pace=Pace(first_token=FIRST_TOKEN), clock=clock.now)
    with endpoint.server.beside():
        url = endpoint.server.url
        yield EndpointAccount(api, f"{url}/v1" if api == "openai" else url, NO_KEY), clock
