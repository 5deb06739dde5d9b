"""Whom to ask for real, and with which key. The official clients are made here, and nowhere else.

A client never retries: each request that is sent is one that somebody agreed to pay for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import anthropic
    import openai

Api = Literal["anthropic", "openai"]
"""How an endpoint is spoken to: as Anthropic's Messages API, or as OpenAI's."""

OFFICIAL: dict[Api, str] = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
KEY_VARIABLES: dict[Api, str] = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
ADDRESS_VARIABLES: dict[Api, str] = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"}

NO_KEY = "none"
"""What is sent to a server that asks for no key."""

TIMEOUT = 600.0
"""Seconds that an answer may take."""

REMOVED = "[removed]"
_LONGEST_REASON = 300


class AskFailed(Exception):
    """A request that was not answered. ``reason`` never holds the key; ``status`` is ``None`` without an answer."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status


class EndpointAccount:
    """An endpoint and the key for it. The key is shown by nothing: not by ``repr``, and not by an error."""

    __slots__ = ("_key", "api", "base_url")

    def __init__(self, api: Api, base_url: str, key: str) -> None:
        self.api: Api = api
        self.base_url = base_url
        self._key = key

    def __repr__(self) -> str:
        return f"<Account {self.api} at {self.host}>"

    @property
    def host(self) -> str:
        """The host that is asked, as people recognize it."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    @property
    def is_official(self) -> bool:
        """Whether this is the provider's own endpoint."""
        return is_official(self.api, self.base_url)

    def anthropic(self) -> anthropic.Anthropic:
        """The official client of the Messages API."""
        import anthropic

        http = anthropic.DefaultHttpxClient(trust_env=not self._is_here)
        return anthropic.Anthropic(
            base_url=self.base_url, api_key=self._key, max_retries=0, timeout=TIMEOUT, http_client=http
        )

    def openai(self) -> openai.OpenAI:
        """The official client of the OpenAI APIs."""
        import openai

        http = openai.DefaultHttpxClient(trust_env=not self._is_here)
        client = openai.OpenAI(
            base_url=self.base_url, api_key=self._key, max_retries=0, timeout=TIMEOUT, http_client=http
        )
        if not self.is_official:
            client.organization = client.project = None  # found in the environment, and nobody else's business
        return client

    def failure(self, error: Exception) -> AskFailed:
        """What an exception of a client says, without the key."""
        status = getattr(error, "status_code", None)
        text = str(error) or type(error).__name__
        if len(self._key) > len(NO_KEY):
            text = text.replace(self._key, REMOVED)
        name = type(error).__name__
        return AskFailed(f"{name}: {text[:_LONGEST_REASON]}", status if isinstance(status, int) else None)

    @property
    def _is_here(self) -> bool:
        """Whether it is on this machine, where no proxy is wanted."""
        return urlsplit(self.base_url).hostname in ("127.0.0.1", "::1", "localhost")


def is_official(api: Api, base_url: str) -> bool:
    """Whether an address is that of the provider itself: only such a one gets the usual key unasked."""
    parts, own = urlsplit(base_url), urlsplit(OFFICIAL[api])
    return parts.scheme == "https" and parts.hostname == own.hostname and parts.username is None
