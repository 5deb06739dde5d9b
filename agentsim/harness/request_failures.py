"""Requests that are refused or time out, and what the harness does about it."""

from __future__ import annotations

from typing import Literal

from agentsim.harness.plan import Failures
from agentsim.harness.random_streams import Stream

Fate = Literal["rate_limited", "overloaded", "timed_out"]

STATUS: dict[Fate, str] = {"rate_limited": "429", "overloaded": "529", "timed_out": "timeout"}


def fate(rule: Failures, stream: Stream) -> Fate | None:
    """What becomes of one attempt; ``None`` when it is answered. One number is drawn, whatever happens."""
    place = (stream.bits() * 1_000_000) >> 32
    if place < rule.rate_limited:
        return "rate_limited"
    if place < rule.rate_limited + rule.overloaded:
        return "overloaded"
    if place < rule.rate_limited + rule.overloaded + rule.timed_out:
        return "timed_out"
    return None


def wait_before_retry(rule: Failures, fate: Fate, attempt: int, stream: Stream) -> int:
    """How long the harness waits: what the provider asked for, or a time that doubles with each attempt."""
    if fate == "rate_limited":
        return rule.retry_after.draw(stream)
    return rule.backoff << min(attempt - 1, 10)
