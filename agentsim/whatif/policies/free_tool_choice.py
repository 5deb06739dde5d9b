"""No forced tool: the model is asked in words to use one."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from agentsim.core.session import Request, Session
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import from_outside, with_requests

Mode = Literal["complies", "retry", "forced"]


class FreeToolChoice(Policy, frozen=True, kw_only=True):
    """tool_choice stays auto, so that the messages stay readable; a refusal may cost a forced request afterwards."""

    name: ClassVar[str] = "free-tool-choice"
    summary: ClassVar[str] = "Leave tool_choice at auto instead of forcing a tool."
    assumes: ClassVar[str] = (
        "The model calls the tool when it is asked to in words (then=retry: it never does, and each such request is "
        "sent once more, forced, before the next one)."
    )
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Do not force structured output in mid-session; ask for it in the prompt.",
        "pi": "Leave tool_choice out of custom requests.",
        "own-code": "Leave tool_choice out, name the tool in the last message, and check stop_reason.",
    }
    stage: ClassVar[int] = 40
    slots: ClassVar[tuple[str, ...]] = ("tool-choice",)
    needs_bodies: ClassVar[bool] = True

    then: Mode = "complies"
    """What the model does at auto: it complies, or a forced retry follows; forced: it is forced at once."""

    def unsuited(self, session: Session) -> str | None:
        """No request forces a tool."""
        forced = any(_is_forced(request) for request in session.requests if not from_outside(request))
        return None if forced else "no request forces a tool"

    def rewrite(self, session: Session) -> Session:
        """Free the choice of each forced request, and add its retry where one follows."""
        if self.then == "forced":
            return session
        requests: list[Request] = []
        for request in session.requests:
            if from_outside(request) or not _is_forced(request) or not self.wants(request):
                requests.append(request)
                continue
            settings = tuple(pair for pair in request.settings if pair[0] != "tool_choice")
            requests.append(msgspec.structs.replace(request, settings=settings))
            if self.then == "retry":
                requests.append(_retry(request))
        return with_requests(session, requests)


def _is_forced(request: Request) -> bool:
    value = dict(request.settings).get("tool_choice", "")
    return '"type":"any"' in value or '"type":"tool"' in value


def _retry(request: Request) -> Request:
    """The same request, forced, sent when the answer to the free one is there."""
    start, end, first = request.start, request.end, request.first_token
    times: dict[str, int | None] = {}
    if start is not None and end is not None:
        times = {"start": end, "end": 2 * end - start, "first_token": None if first is None else end + first - start}
    return msgspec.structs.replace(request, id=f"{request.id}/forced", parent=request.id, purpose="retry", **times)
