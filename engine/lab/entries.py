"""How fine the entries of a prefix cache are: what they cost to make, and what they save."""

from __future__ import annotations

from dataclasses import dataclass

ID_BYTES = 32
"""Bytes of one entry's identity (a digest of 256 bits)."""


@dataclass(frozen=True, slots=True)
class Granularity:
    """Entries of ``group`` tokens each."""

    group: int

    def __post_init__(self) -> None:
        if self.group < 1:
            raise ValueError(f"an entry of {self.group} tokens holds nothing")

    def entries(self, tokens: int) -> int:
        """Entries made for so many tokens: of full groups only."""
        return tokens // self.group

    def reused(self, matching: int) -> int:
        """Tokens reused when so many leading tokens match: full groups only."""
        return matching - matching % self.group

    def repeated(self, matching: int) -> int:
        """Matching tokens that are computed again all the same."""
        return matching % self.group

    @property
    def most_repeated(self) -> int:
        """The most that one request can lose to groups."""
        return self.group - 1

    @property
    def mean_repeated(self) -> float:
        """What a request loses on average, where prefixes end anywhere."""
        return (self.group - 1) / 2
