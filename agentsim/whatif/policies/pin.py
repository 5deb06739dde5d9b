"""One value for a setting that is in the key: a lane's first one, for all its requests."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from agentsim.core.session import Request, Session
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import each, from_outside


class _Pin(Policy, frozen=True, kw_only=True):
    """A setting keeps the value of its lane's first request."""

    setting: ClassVar[str] = ""
    stage: ClassVar[int] = 41
    needs_bodies: ClassVar[bool] = True

    def unsuited(self, session: Session) -> str | None:
        """The setting never changes within a lane."""
        firsts = self._firsts(session)
        if all(self._value(r) == firsts[r.lane] for r in session.requests if not from_outside(r)):
            return f"the {self.setting} of no lane changes"
        return None

    def rewrite(self, session: Session) -> Session:
        """Give each request the value of its lane's first one."""
        firsts = self._firsts(session)
        return each(
            session,
            lambda request: self._with(request, firsts[request.lane]) if self.wants(request) else request,
        )

    def _firsts(self, session: Session) -> dict[str, str | None]:
        firsts: dict[str, str | None] = {}
        for request in session.requests:
            if not from_outside(request):
                firsts.setdefault(request.lane, self._value(request))
        return firsts

    def _value(self, request: Request) -> str | None:
        return dict(request.settings).get(self.setting)

    def _with(self, request: Request, value: str | None) -> Request:
        if self._value(request) == value:
            return request
        settings = dict(request.settings)
        settings.pop(self.setting, None)
        if value is not None:
            settings[self.setting] = value
        return msgspec.structs.replace(request, settings=tuple(sorted(settings.items())))


class PinEffort(_Pin, frozen=True, kw_only=True):
    """The effort of a lane never changes."""

    name: ClassVar[str] = "pin-effort"
    summary: ClassVar[str] = "Keep the effort of a lane's first request: each value has entries of its own."
    assumes: ClassVar[str] = "The first effort would have been enough, and answers would have been as long."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Choose the effort before the first message, or start a new session for another one.",
        "pi": "Keep the thinking level; newer models take it as a message without losing the cache.",
        "own-code": "Keep output_config.effort constant.",
    }
    setting: ClassVar[str] = "effort"


class PinThinking(_Pin, frozen=True, kw_only=True):
    """The thinking mode and budget of a lane never change."""

    name: ClassVar[str] = "pin-thinking"
    summary: ClassVar[str] = "Keep the thinking mode and budget of a lane's first request."
    assumes: ClassVar[str] = "The first budget would have been enough, and answers would have been as long."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Do not switch thinking on or off in mid-session.",
        "pi": "Keep the thinking level.",
        "own-code": "Keep thinking constant; send warm-up requests with the same one.",
    }
    setting: ClassVar[str] = "thinking"


class PinModel(_Pin, frozen=True, kw_only=True):
    """A lane stays with its first model."""

    name: ClassVar[str] = "pin-model"
    summary: ClassVar[str] = "Stay with a lane's first model: each model has a cache of its own, and its own price."
    assumes: ClassVar[str] = "The first model would have done the work with as many requests and as long answers."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Choose the model before the first message; a plan mode that switches it costs a full miss.",
        "pi": "Switch models between sessions, not within one.",
        "own-code": "Give side jobs to another model in lanes of their own.",
    }
    setting: ClassVar[str] = "model"
    needs_bodies: ClassVar[bool] = False

    def unsuited(self, session: Session) -> str | None:
        """The model never changes within a lane, or its provider does too."""
        providers: dict[str, str] = {}
        for request in session.requests:
            if providers.setdefault(request.lane, request.provider) != request.provider and self.wants(request):
                return "a lane changes its provider with its model"
        return super().unsuited(session)

    def _value(self, request: Request) -> str | None:
        return request.model

    def _with(self, request: Request, value: str | None) -> Request:
        return request if value is None or value == request.model else msgspec.structs.replace(request, model=value)
