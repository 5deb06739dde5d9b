"""What is answered instead of a reply: an error, in the shape of whichever API was spoken."""

from __future__ import annotations

from typing import Any

_ANTHROPIC_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
_GEMINI_KINDS = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_OPENAI_KINDS = {401: "authentication_error", 429: "rate_limit_exceeded", 500: "server_error", 503: "server_error"}


class Refusal(Exception):
    """A request that is not served: the HTTP status, the reason in words, and how many seconds to wait.

    ``path`` names the offending part of the body (``messages[3].content[1]``), ``code`` the kind of error where the
    provider has a word for it, ``details`` what it says beside. None of them holds any content of a body. ``injected``
    says that it was asked for. Mutable in one thing: ``is_told`` says that the trace has it.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        *,
        path: str | None = None,
        retry_after: int | None = None,
        close: bool = False,
        code: str | None = None,
        details: dict[str, Any] | None = None,
        injected: bool = False,
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.path = path
        self.retry_after = retry_after
        self.close = close
        self.code = code
        self.details = details
        self.injected = injected
        self.is_told = False

    @property
    def message(self) -> str:
        """The reason, after the place it is about."""
        return f"{self.path}: {self.reason}" if self.path else self.reason

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer."""
        found = {} if self.retry_after is None else {"retry-after": str(self.retry_after)}
        return found | ({"connection": "close"} if self.close else {})

    def body(self, path: str, request_id: str | None = None) -> dict[str, Any]:
        """The answer's body, in the shape of the API that serves a path."""
        if is_gemini(path):
            status = _GEMINI_KINDS.get(self.status, "INVALID_ARGUMENT" if self.status < 500 else "INTERNAL")
            return {"error": {"code": self.status, "message": self.message, "status": status}}
        if is_openai(path):
            kind = _OPENAI_KINDS.get(self.status, "invalid_request_error")
            return {"error": {"message": self.message, "type": kind, "param": self.path, "code": self.code}}
        kind = _ANTHROPIC_KINDS.get(self.status, "invalid_request_error" if self.status < 500 else "api_error")
        error: dict[str, Any] = {"type": kind, "message": self.message}
        if self.details is not None:
            error["details"] = self.details
        found: dict[str, Any] = {"type": "error", "error": error}
        return found if request_id is None else found | {"request_id": request_id}


def is_gemini(path: str) -> bool:
    """Whether a path belongs to the Gemini side of the endpoint."""
    return path.startswith(("/v1beta/", "/v1/cachedContents")) or (path.startswith("/v1/models/") and ":" in path)


def is_openai(path: str) -> bool:
    """Whether a path belongs to the OpenAI side of the endpoint."""
    return path.startswith(("/v1/chat/", "/v1/responses", "/v1/conversations"))
