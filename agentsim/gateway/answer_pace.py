"""How long an emulated answer takes: decided when the request arrives, so that its times in the trace are exact."""

from __future__ import annotations

import msgspec

from agentsim.core.dates import SECOND


class Pace(msgspec.Struct, frozen=True):
    """Nanoseconds until the first token, and nanoseconds between tokens. The default is as fast as possible."""

    first_token: int = 0
    per_token: int = 0

    @classmethod
    def of(cls, first_token_ms: float, tokens_per_second: float | None) -> Pace:
        """A pace from milliseconds and a rate. No rate: all tokens at once."""
        gap = round(SECOND / tokens_per_second) if tokens_per_second else 0
        return cls(round(first_token_ms * 1_000_000), gap)

    @property
    def is_instant(self) -> bool:
        """Whether nothing ever waits."""
        return not self.first_token and not self.per_token

    def after(self, tokens: int) -> int:
        """When so many tokens are out, in nanoseconds after the request arrived; less than none are out at once."""
        return 0 if tokens < 0 else self.first_token + self.per_token * max(tokens - 1, 0)
