"""Keeps credentials out of everything that is written: those that headers carried, and whatever looks like a key."""

from __future__ import annotations

import re

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

REMOVED = b"[removed]"
_SHORTEST = 8
_MOST = 64
_KEY = re.compile(rb"(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{16,}")


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
        return _KEY.sub(REMOVED, line) if b"sk-" in line else line
