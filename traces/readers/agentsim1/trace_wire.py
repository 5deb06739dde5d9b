"""The rows of an ``agentsim/1`` file, as they are written and read, and their JSON Schema (:func:`schema`).

A field at its default is left out of the file. Fields that are not known are passed over.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from agentsim.core.prompt import CountOrigin, Section, Shape
from agentsim.core.session import Completeness, EventKind, Purpose
from agentsim.core.strict_decoding import BadRow, Count

FORMAT: Literal["agentsim/1"] = "agentsim/1"
NANOSECONDS = 10**9

Time = Annotated[
    str,
    Meta(
        pattern=r"^-?[0-9]{1,18}(\.[0-9]{1,9})?\Z",
        description="Seconds since 1970-01-01T00:00:00Z as a decimal number, to the nanosecond.",
        examples=["1748554707.332"],
    ),
]
"""In a string, so that no reader rounds nanoseconds away."""

Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z", description="16 bytes in hexadecimal digits.")]


class _Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What all parts of a row have in common: defaults are not written."""


class LaneRow(_Row, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A lane, in the header."""

    id: str
    title: str
    purpose: Purpose = "main"
    parent: str | None = None


class ProblemRow(_Row, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Something that could not be used of the log that the trace was made from."""

    file: str
    line: Count
    reason: str
    remedy: str
    note: bool = False


class AccountingRow(_Row, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Where the rows went of the log that the trace was made from."""

    rows: Count
    used: Count = 0
    duplicate: Count = 0
    not_billable: Count = 0
    skipped: Annotated[tuple[tuple[str, Count], ...], Meta(description="Pairs of reason and count.")] = ()


class SessionRow(_Row, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="record", tag="session"):
    """The header: a session begins, and lasts until the next header or the end of the file."""

    format: Literal["agentsim/1"]
    id: str
    source_format: Annotated[str, Meta(description="The format of the log that the trace was made from.")]
    completeness: Annotated[Completeness, Meta(description="How much of its prompts is known.")]
    digests: Annotated[Literal["plain", "keyed"], Meta(description="Keyed digests cannot be compared across files.")]
    text: Annotated[bool, Meta(description="Whether blocks carry their content.")]
    lanes: tuple[LaneRow, ...]
    requests: Annotated[
        Count | None, Meta(description="How many requests follow, if known: a cut file can be told.")
    ] = None
    harness: str | None = None
    title: str | None = None
    files: tuple[str, ...] = ()
    accounting: AccountingRow | None = None
    problems: tuple[ProblemRow, ...] = ()


class BlockRow(_Row, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A block of a prompt that the prompt it grew from does not have."""

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


class PromptRow(_Row, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A prompt as a difference: the first ``keep`` blocks of an earlier request's prompt, then ``blocks``."""

    grew_from: Annotated[str | None, Meta(description="Id of an earlier request of this session.")] = None
    keep: Count = 0
    blocks: tuple[BlockRow, ...] = ()
    breakpoints: Annotated[
        tuple[tuple[Count, Count], ...],
        Meta(description="Pairs of a block's position (from 0) and a lifetime in seconds. None is inherited."),
    ] = ()


class UsageRow(_Row, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Tokens as the provider reported them, without overlap. A counter that was not reported is absent, not 0."""

    fresh: Count | None = None
    write_short: Count | None = msgspec.field(default=None, name="write_5m")
    write_long: Count | None = msgspec.field(default=None, name="write_1h")
    write_other: Count | None = None
    read: Count | None = None
    output: Count | None = None


class DiagnosisRow(_Row, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The provider's own word on a lost prefix."""

    reported: bool = False
    reason: str | None = None
    missed_tokens: Count | None = None


class SourceRow(_Row, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Where the request stands in the log that the trace was made from."""

    file: str
    line: Count


class RequestRow(_Row, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="record", tag="request"):
    """One call of a model."""

    id: str
    lane: str
    model: str
    start: Time | None
    provider: str = "anthropic"
    parent: Annotated[
        str | None, Meta(description="The request whose prompt this one grew from, in the same lane.")
    ] = None
    purpose: Purpose = "main"
    first_token: Time | None = None
    end: Time | None = None
    prompt: PromptRow | None = None
    settings: Annotated[
        tuple[tuple[str, str], ...],
        Meta(description="Pairs of a parameter that may take part in a cache key and its value as JSON."),
    ] = ()
    usage: UsageRow | None = None
    iterations: tuple[UsageRow, ...] = ()
    diagnosis: DiagnosisRow | None = None
    stop_reason: str | None = None
    service_tier: str | None = None
    speed: str | None = None
    region: str | None = None
    host: str | None = None
    account: str | None = None
    logged_cost: Count | None = None
    harness_version: str | None = None
    appended_blocks: Count | None = None
    section_tokens: tuple[tuple[str, Count], ...] = ()
    output_final: bool = True
    counted: bool = True
    source: SourceRow | None = None


class EventRow(_Row, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="record", tag="event"):
    """Something between requests that bears on the cache."""

    kind: EventKind
    time: Time | None
    lane: str
    before: str | None = None
    detail: str | None = None


Row = SessionRow | RequestRow | EventRow


class Kind(msgspec.Struct, gc=False):
    """What a row says it is."""

    record: str | None = None
    format: str | None = None


ROWS = msgspec.json.Decoder(Row)
KINDS = msgspec.json.Decoder(Kind)
_TIME = re.compile(r"(-?)([0-9]{1,18})(?:\.([0-9]{1,9}))?")


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of one line of an ``agentsim/1`` file."""
    rows = msgspec.json.encode(msgspec.json.schema(Row))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:agentsim:trace:1",
        "title": "One line of an agentsim/1 trace",
        # A pattern of JSON Schema ends with "$", which to Python also means in front of a last line feed.
        **msgspec.json.decode(rows.replace(rb'\\Z"', b'$"')),
    }


def seconds(time: int | None) -> str | None:
    """Nanoseconds as decimal seconds, exactly, without trailing zeros."""
    if time is None:
        return None
    whole, rest = divmod(abs(time), NANOSECONDS)
    text = f"{whole}.{rest:09d}".rstrip("0").rstrip(".")
    return f"-{text}" if time < 0 else text


def nanoseconds(text: str | None) -> int | None:
    """The inverse of :func:`seconds`. Raises BadRow for what is no decimal number."""
    if text is None:
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise BadRow("bad field", "a time")
    time = int(match[2]) * NANOSECONDS + int((match[3] or "").ljust(9, "0"))
    return -time if match[1] else time
