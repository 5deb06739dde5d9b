"""Summaries that read the conversation instead of being told it again."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from agentsim.core.session import Request, Session
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import from_outside
from agentsim.whatif.policies.summary_policy import summary_request


class CompactWarm(Policy, frozen=True, kw_only=True):
    """The request for a summary is the conversation with one more message, so that it reads its prefix."""

    name: ClassVar[str] = "compact-warm"
    summary: ClassVar[str] = "Ask for summaries with the conversation's own prefix, instead of a prompt of their own."
    assumes: ClassVar[str] = "The conversation's model, asked at the end of the conversation, sums up as well."
    changes: ClassVar[str | None] = "the conversation itself instead of a retelling"
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Built in.",
        "pi": "Write an extension that asks for the summary in the conversation.",
        "own-code": "Send the last request again with one more user message that asks for the summary; same tools.",
    }
    stage: ClassVar[int] = 32
    slots: ClassVar[tuple[str, ...]] = ("summaries",)

    instruction_tokens: int = 500
    """Size of the message that asks for the summary."""

    def unsuited(self, session: Session) -> str | None:
        """There is no summary that goes its own way."""
        return None if self._found(session) else "no summary is asked for with a prompt of its own"

    def rewrite(self, session: Session) -> Session:
        """Give the summaries the conversation's prompt."""
        found = self._found(session)
        return msgspec.structs.replace(
            session,
            requests=tuple(
                self._warm(request, found[request.id]) if request.id in found else request
                for request in session.requests
            ),
        )

    def _found(self, session: Session) -> dict[str, Request]:
        """The main request that each such summary came after."""
        found: dict[str, Request] = {}
        last: Request | None = None
        for request in session.requests:
            prompt = request.prompt
            if prompt is None or from_outside(request):
                continue
            if request.purpose == "main":
                last = request
            elif request.purpose == "summary" and last is not None and last.prompt is not None and self.wants(request):
                shared = last.prompt.common_length(prompt)
                if shared <= last.prompt.section_end("system"):
                    found[request.id] = last
        return found

    def _warm(self, request: Request, main: Request) -> Request:
        assert main.prompt is not None
        when = request.start if request.start is not None else 0
        asked = summary_request(main, main.prompt, when, 0, self.instruction_tokens)
        return msgspec.structs.replace(
            request, prompt=asked.prompt, model=main.model, settings=main.settings, parent=main.id
        )
