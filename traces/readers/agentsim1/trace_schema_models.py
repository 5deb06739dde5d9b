"""The rows of ``agentsim/1`` as pydantic models, and the JSON Schema made of them.

This is the description for people and other programs; reading and writing go through the faster
:mod:`agentsim.traces.readers.agentsim1.trace_wire`. Tests hold that both accept and refuse the same rows.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from agentsim.core.prompt import CountOrigin, Section, Shape
from agentsim.core.session import Completeness, EventKind, Purpose
from agentsim.core.strict_decoding import MAX_COUNT

Count = Annotated[int, Field(ge=0, le=MAX_COUNT, strict=True)]
Time = Annotated[
    str,
    Field(
        pattern=r"^-?[0-9]{1,18}(\.[0-9]{1,9})?$",
        description="Seconds since 1970-01-01T00:00:00Z as a decimal number, to the nanosecond.",
        examples=["1748554707.332"],
    ),
]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$", description="16 bytes in hexadecimal digits.")]


class Row(BaseModel):
    """What all rows have in common. Unknown fields are passed over."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class Lane(Row):
    """One thread of requests that extend each other."""

    id: str
    title: str
    purpose: Purpose = "main"
    parent: str | None = None


class Problem(Row):
    """Something that could not be used of the log that the trace was made from."""

    file: str
    line: Count
    reason: str
    remedy: str
    note: bool = False


class Accounting(Row):
    """Where the rows went of the log that the trace was made from."""

    rows: Count
    used: Count = 0
    duplicate: Count = 0
    not_billable: Count = 0
    skipped: list[Annotated[tuple[str, Count], Field(strict=False)]] = Field(
        [], description="Pairs of reason and count."
    )


class SessionRow(Row):
    """The header: a session begins, and lasts until the next header or the end of the file."""

    record: Literal["session"]
    format: Literal["agentsim/1"]
    id: str
    source_format: str = Field(description="The format of the log that the trace was made from.")
    completeness: Completeness = Field(description="How much of its prompts is known.")
    digests: Literal["plain", "keyed"] = Field(description="Keyed digests cannot be compared across files.")
    text: bool = Field(description="Whether blocks carry their content.", strict=True)
    lanes: list[Lane]
    requests: Count | None = Field(None, description="How many requests follow, if known: a cut file can be told.")
    harness: str | None = None
    title: str | None = None
    files: list[str] = []
    accounting: Accounting | None = None
    problems: list[Problem] = []


class Block(Row):
    """A content block of a prompt."""

    section: Section
    kind: str
    digest: Digest
    role: str | None = None
    tokens: Count | None = None
    origin: CountOrigin = "estimated"
    name: str | None = None
    message: Count | None = None
    part: Count | None = None
    shape: Shape | None = None
    text: str | None = None


class Prompt(Row):
    """A prompt as a difference: the first ``keep`` blocks of an earlier request's prompt, then ``blocks``."""

    grew_from: str | None = Field(None, description="Id of an earlier request of this session.")
    keep: Count = 0
    blocks: list[Block] = []
    breakpoints: list[Annotated[tuple[Count, Count], Field(strict=False)]] = Field(
        [], description="Pairs of a block's position (from 0) and a lifetime in seconds. None is inherited."
    )


class Usage(Row):
    """Tokens as the provider reported them, without overlap. A counter that was not reported is absent, not 0."""

    fresh: Count | None = None
    write_5m: Count | None = None
    write_1h: Count | None = None
    write_other: Count | None = None
    read: Count | None = None
    output: Count | None = None


class Diagnosis(Row):
    """The provider's own word on a lost prefix."""

    reported: bool = False
    reason: str | None = None
    missed_tokens: Count | None = None


class Source(Row):
    """Where a request stands in the log that the trace was made from."""

    file: str
    line: Count


class RequestRow(Row):
    """One call of a model."""

    record: Literal["request"]
    id: str
    lane: str
    model: str
    start: Time | None
    provider: str = "anthropic"
    parent: str | None = Field(None, description="The request whose prompt this one grew from, in the same lane.")
    purpose: Purpose = "main"
    first_token: Time | None = None
    end: Time | None = None
    prompt: Prompt | None = None
    settings: list[Annotated[tuple[str, str], Field(strict=False)]] = Field(
        [], description="Pairs of a parameter that may take part in a cache key and its value as JSON."
    )
    usage: Usage | None = None
    iterations: list[Usage] = []
    diagnosis: Diagnosis | None = None
    stop_reason: str | None = None
    service_tier: str | None = None
    speed: str | None = None
    region: str | None = None
    host: str | None = None
    account: str | None = None
    logged_cost: Count | None = None
    harness_version: str | None = None
    appended_blocks: Count | None = None
    section_tokens: list[Annotated[tuple[str, Count], Field(strict=False)]] = []
    output_final: bool = True
    counted: bool = True
    source: Source | None = None


class EventRow(Row):
    """Something between requests that bears on the cache."""

    record: Literal["event"]
    kind: EventKind
    time: Time | None
    lane: str
    before: str | None = None
    detail: str | None = None


AnyRow = TypeAdapter[SessionRow | RequestRow | EventRow](
    Annotated[SessionRow | RequestRow | EventRow, Field(discriminator="record")]
)


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of one line of an ``agentsim/1`` file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:agentsim:trace:1",
        "title": "One line of an agentsim/1 trace",
        **AnyRow.json_schema(),
    }


def accepts(row: bytes) -> bool:
    """Whether the models take a line."""
    try:
        AnyRow.validate_python(from_json(row, allow_inf_nan=False))
    except (ValidationError, ValueError):
        return False
    return True
