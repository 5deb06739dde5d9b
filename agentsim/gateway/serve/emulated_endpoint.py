"""An emulated endpoint put together: its cache, what it says, where its requests land."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

import msgspec

from agentsim.cache import CacheBackend
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.routed_backend import RoutedProvider
from agentsim.gateway.answer_pace import Pace
from agentsim.gateway.emulator import Clock, Emulator, Replier, Sessions
from agentsim.gateway.injected_faults import Faults
from agentsim.gateway.model_voice import Voice
from agentsim.gateway.record.exchange_recorder import ExchangeRecorder
from agentsim.gateway.record.relay import Relay
from agentsim.gateway.secret_removal import Secrets
from agentsim.gateway.serve.application import application
from agentsim.gateway.serve.guarded_application import GuardedApplication
from agentsim.gateway.serve.loopback_server import Running, loopback_sockets
from agentsim.gateway.streamed_answers import LiveAnswers
from agentsim.gateway.trace_writing import TraceFile

ENGINE_RULES = "vllm"
"""Whose rules describe the cache of a real model here: the longest prefix, in pages of 16 tokens."""


class EmulatedEndpoint(msgspec.Struct, frozen=True):
    """A server on its sockets, not yet serving, and the sessions that it will hold."""

    server: Running
    sessions: Sessions


def emulated(
    replier: Replier,
    *,
    port: int = 0,
    trace: str | None = None,
    fingerprint: bool = False,
    pace: Pace | None = None,
    faults: Faults | None = None,
    clock: Clock = time.time_ns,
    voice: Voice | None = None,
    window: int | None = None,
    overwrite: bool = False,
) -> EmulatedEndpoint:
    """An endpoint that emulates providers, and lives by ``clock``. With a ``voice`` a real model answers, whose cache
    takes the place of theirs. Raises PortTaken, and OSError for a trace that cannot be begun."""
    secrets = Secrets()
    modeled: Mapping[str, CacheBackend] = {
        "anthropic": ModeledProvider(forgets=True),
        "openai": RoutedProvider(),
        "gemini": RoutedProvider(),
    }
    emulator = Emulator(
        backends=modeled,
        replier=replier,
        recorded_as=None if voice is None else ENGINE_RULES,
        clock=clock,
        trace=None
        if trace is None
        else TraceFile(trace, fingerprint=fingerprint, redact=secrets.redact, overwrite=overwrite),
        pace=pace,
        faults=faults,
        window=window,
    )
    if voice is None:
        return EmulatedEndpoint(Running(application(emulator, secrets), loopback_sockets(port)), emulator.sessions)
    app = application(emulator, secrets, LiveAnswers(emulator, voice))

    async def closing() -> None:
        await asyncio.to_thread(voice.close)  # it waits for the step that is being computed

    return EmulatedEndpoint(Running(app, loopback_sockets(port), closing), emulator.sessions)


class RecordingEndpoint(msgspec.Struct, frozen=True):
    """A server that passes requests on, not yet serving, and what records them."""

    server: Running
    recorder: ExchangeRecorder


def recording(
    upstream: str, *, port: int = 0, trace: str, fingerprint: bool = False, overwrite: bool = False
) -> RecordingEndpoint:
    """An endpoint that records what it passes on to ``upstream``, the address of a real provider. Raises PortTaken."""
    secrets = Secrets()
    file = TraceFile(trace, fingerprint=fingerprint, redact=secrets.redact, overwrite=overwrite)
    recorder = ExchangeRecorder(file, upstream)
    relay = Relay(upstream, recorder)
    app = GuardedApplication(relay, secrets, recorder.turn_away, only_json=False)
    return RecordingEndpoint(Running(app, loopback_sockets(port), relay.close), recorder)
