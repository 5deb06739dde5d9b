"""The one error of reading a request body."""

from __future__ import annotations


class BodyError(ValueError):
    """A request body that cannot be read: ``path`` says where in its JSON (``messages[3].content[1]``), ``reason`` why.

    Neither holds any content of the body.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason
