"""``guard.toml`` as its types, compiled to what a hook reads. Loaded once for each change of the file."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

import msgspec

from agentsim.budget.exact_amounts import count, dollars
from agentsim.core.written_files import WrittenFile
from agentsim.core.written_types import WrittenForm

Dollars = Annotated[int, WrittenForm(dollars)]
Tokens = Annotated[int, WrittenForm(count)]


class ActLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """From which price or size of one act on a level applies."""

    dollars: Dollars | None = None
    tokens: Tokens | None = None


class SpendingLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a session, and all sessions of a day, may cost."""

    session: Dollars | None = None
    day: Dollars | None = None


class LimitsFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """The whole file."""

    warn: ActLimits | None = None
    ask: ActLimits | None = None
    block: ActLimits | None = None
    budget: SpendingLimits | None = None


def compile_policy(text: str, file: str) -> dict[str, object]:
    """The limits that a policy states, in picodollars and tokens. Raises WrittenFileError."""
    made = WrittenFile(text, file, parse_float=Decimal).as_a(LimitsFile)
    found: dict[str, object] = msgspec.to_builtins(made)
    return found
