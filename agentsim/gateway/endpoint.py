"""An emulated endpoint put together: its cache, what it says, where its requests land."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

import msgspec

from agentsim.backends import CacheBackend
from agentsim.backends.modeled import ModeledProvider
from agentsim.backends.routed import RoutedProvider
from agentsim.gateway.application import application
from agentsim.gateway.emulator import Clock, Emulator, Replier, Sessions
from agentsim.gateway.faults import Faults
from agentsim.gateway.guarded import Guarded
from agentsim.gateway.live import LiveAnswers
from agentsim.gateway.pace import Pace
from agentsim.gateway.recorder import Recorder
from agentsim.gateway.relay import Relay
from agentsim.gateway.secrets import Secrets
from agentsim.gateway.serving import Running, loopback_sockets
from agentsim.gateway.tracing import Trace
from agentsim.gateway.voice import Voice

ENGINE_RULES = "vllm"
"""Whose rules describe the cache of a real model here: the longest prefix, in pages of 16 tokens."""


class Endpoint(msgspec.Struct, frozen=True):
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
) -> Endpoint:
    """An endpoint that emulates providers, and lives by ``clock``. With a ``voice`` a real model answers, whose cache
    takes the place of theirs. Raises PortTaken."""
    secrets = Secrets()
    modeled: Mapping[str, CacheBackend] = {"anthropic": ModeledProvider(forgets=True), "openai": RoutedProvider()}
    emulator = Emulator(
        backends=modeled,
        replier=replier,
        recorded_as=None if voice is None else ENGINE_RULES,
        clock=clock,
        trace=None if trace is None else Trace(trace, fingerprint=fingerprint, redact=secrets.redact),
        pace=pace,
        faults=faults,
    )
    if voice is None:
        return Endpoint(Running(application(emulator, secrets), loopback_sockets(port)), emulator.sessions)
    app = application(emulator, secrets, LiveAnswers(emulator, voice))

    async def closing() -> None:
        await asyncio.to_thread(voice.close)  # it waits for the step that is being computed

    return Endpoint(Running(app, loopback_sockets(port), closing), emulator.sessions)


class RecordingEndpoint(msgspec.Struct, frozen=True):
    """A server that passes requests on, not yet serving, and what records them."""

    server: Running
    recorder: Recorder


def recording(upstream: str, *, port: int = 0, trace: str, fingerprint: bool = False) -> RecordingEndpoint:
    """An endpoint that records what it passes on to ``upstream``, the address of a real provider. Raises PortTaken."""
    secrets = Secrets()
    recorder = Recorder(Trace(trace, fingerprint=fingerprint, redact=secrets.redact))
    relay = Relay(upstream, recorder)
    app = Guarded(relay, secrets, only_json=False)
    return RecordingEndpoint(Running(app, loopback_sockets(port), relay.close), recorder)
