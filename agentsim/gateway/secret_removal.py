"""Keeps credentials out of everything that is written: those that headers carried, and whatever looks like a key."""

from __future__ import annotations

from agentsim.core.key_shapes import REMOVED, without_keys

HEADERS = frozenset(
    (
        b"authorization",
        b"x-api-key",
        b"api-key",
        b"cookie",
        b"proxy-authorization",
        b"x-goog-api-key",
        b"openai-organization",
        b"openai-project",
        b"chatgpt-account-id",
        b"anthropic-organization-id",
    )
)
"""Headers whose values are never written anywhere."""

_SHORTEST = 8
_MOST = 64


class Secrets:
    """Credentials seen so far. They stay in memory, and are looked for in each line before it is written. Mutable."""

    def __init__(self) -> None:
        self._seen: dict[bytes, None] = {}

    def see(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Remember the credentials in a request's headers."""
        for name, value in headers:
            if name in HEADERS:
                secret = value.strip().rpartition(b" ")[2]
                if len(secret) >= _SHORTEST and secret not in self._seen and len(self._seen) < _MOST:
                    self._seen[secret] = None

    def redact(self, line: bytes) -> bytes:
        """The line without any of them."""
        for secret in self._seen:
            if secret in line:
                line = line.replace(secret, REMOVED)
        return without_keys(line)
