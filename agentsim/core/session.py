"""The vocabulary: what a recorded, simulated or live agent session is made of.

Everything in agentsim speaks in these words. They are immutable records without behaviour; no module below this one
exists. Times are integer nanoseconds since the Unix epoch (UTC). Token counts are integers. A value that a log did not
report is ``None``, never 0.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from agentsim.core.prompt import Prompt

Purpose = Literal["main", "subagent", "summary", "keep_alive", "retry", "probe", "helper"]
"""What a request was for. ``helper`` is a title, quota or topic call on the side."""

Completeness = Literal["full", "messages", "usage"]
"""How much of its prompts a session knows: bodies with tools and system, messages only, or rows of usage."""

EventKind = Literal[
    "compaction",  # the history was replaced by a summary
    "clearing",  # old tool results or thinking were removed in place (micro-compaction, context editing, pruning)
    "model_change",
    "effort_change",
    "version_change",  # the harness itself was upgraded between two requests
    "resume",  # the harness was restarted on this history
    "rewind",  # the user went back to an earlier point
    "tools_delta",  # the harness announced tools that came or went
    "instructions_delta",  # the harness announced system text that came or went
    "api_error",
    "interrupted",  # the reply was cut short, by the user or by a limit
    "limit",  # a usage limit was reached
    "prompt_submitted",  # a person typed something: a new turn begins
    "tool_results",  # tools answered; which ones is the detail
    "skill_use",  # a skill was loaded into the conversation
    "skills_delta",  # the harness announced skills or agents that came or went
    "mode_change",  # another mode of working: of permissions, of planning
    "folder_change",  # the harness works in another folder
    "instructions_edit",  # a file of instructions (CLAUDE.md, AGENTS.md) was loaded or edited
    "hook_output",  # a hook of the harness added to the prompt
]

ASIDE: frozenset[EventKind] = frozenset(
    {
        "tool_results",
        "skill_use",
        "skills_delta",
        "mode_change",
        "folder_change",
        "instructions_edit",
        "hook_output",
    }
)
"""Events that may point to what was lost and decide no verdict. They are no news in a table of requests."""


class Usage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the provider says a request consumed, in tokens, without overlap between the fields.

    ``fresh`` is input that was neither read from nor written to a cache. ``write_other`` holds writes whose lifetime
    the log does not tell (it is not part of ``write_short`` or ``write_long``).
    """

    fresh: int | None = None
    write_short: int | None = None
    write_long: int | None = None
    write_other: int | None = None
    read: int | None = None
    output: int | None = None

    @property
    def write(self) -> int | None:
        """All tokens written to a cache, whatever their lifetime; ``None`` when no write counter was reported."""
        short, long, other = self.write_short, self.write_long, self.write_other
        if short is None and long is None and other is None:
            return None
        return (short or 0) + (long or 0) + (other or 0)

    @property
    def total_input(self) -> int | None:
        """The whole prompt: read + written + fresh; ``None`` unless at least one of them was reported."""
        fresh, write, read = self.fresh, self.write, self.read
        if fresh is None and write is None and read is None:
            return None
        return (fresh or 0) + (write or 0) + (read or 0)


class ProviderDiagnosis(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The provider's own word on a lost prefix, as the log recorded it; or that of the harness (``by``), which compares
    requests by itself.

    ``reported`` is False when the log holds no such field. ``reason`` is ``None`` when the provider compared the two
    requests and found no difference (or had nothing to compare with).
    """

    reported: bool = False
    reason: str | None = None
    missed_tokens: int | None = None
    by: Literal["provider", "harness"] = "provider"


class Source(msgspec.Struct, frozen=True, gc=False):
    """Where a record was read: a file and a line number, counted from 1."""

    file: str
    line: int


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a model, as far as it is known.

    ``parent`` is the id of the request whose prompt this one grew from, in the same lane. ``prompt`` is ``None`` for a
    usage-only row. ``settings`` are the parameters that may take part in a cache key, as sorted (name, value) pairs;
    values are canonical JSON text. ``appended_blocks`` counts the content blocks (thinking not counted) that came
    after the parent's prompt, where the log shows them and no prompt is kept. ``section_tokens`` are sizes of
    sections that are known without their content. ``host`` is which upstream or server answered, where a provider has
    several and the log names it. ``account`` is whose key or organisation it was sent under, where that is told.
    ``logged_cost`` is what the log itself says the request cost, in picodollars: the word of the program that wrote
    it, and no price of ours. ``output_final`` is False where the log holds a placeholder instead of the final output
    count. ``counted`` is False for a copy of a request that belongs to another session (a
    fork or a resume copies the history it starts from): it stays as the context of the rows after it, and is in no
    total.
    """

    id: str
    lane: str
    model: str
    start: int | None
    provider: str = "anthropic"
    parent: str | None = None
    purpose: Purpose = "main"
    first_token: int | None = None
    end: int | None = None
    prompt: Prompt | None = None
    settings: tuple[tuple[str, str], ...] = ()
    usage: Usage | None = None
    iterations: tuple[Usage, ...] = ()
    diagnosis: ProviderDiagnosis = ProviderDiagnosis()
    stop_reason: str | None = None
    service_tier: str | None = None
    speed: str | None = None
    region: str | None = None
    host: str | None = None
    account: str | None = None
    logged_cost: int | None = None
    harness_version: str | None = None
    appended_blocks: int | None = None
    section_tokens: tuple[tuple[str, int], ...] = ()
    output_final: bool = True
    counted: bool = True
    source: Source | None = None


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something between requests that bears on the cache. ``before`` is the id of the request that came after it."""

    kind: EventKind
    time: int | None
    lane: str
    before: str | None = None
    detail: str | None = None


class Lane(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thread of requests that extend each other. Misses are judged inside a lane."""

    id: str
    title: str
    purpose: Purpose = "main"
    parent: str | None = None


class Problem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line of input that could not be used, or not wholly: where, why, and what a person can do about it.

    ``line`` is 0 for a whole file. ``note`` says that nothing was left out: something is to be known of what was used.
    """

    file: str
    line: int
    reason: str
    remedy: str
    note: bool = False


class Accounting(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where each row of the input went. The four classes add up to ``rows``."""

    rows: int = 0
    used: int = 0
    duplicate: int = 0
    not_billable: int = 0
    skipped: tuple[tuple[str, int], ...] = ()

    @property
    def adds_up(self) -> bool:
        """True when used + duplicate + not billable + skipped equals the rows read."""
        return self.rows == self.used + self.duplicate + self.not_billable + sum(n for _, n in self.skipped)


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A run of an agent: its lanes, its requests in order of their start, and what happened between them."""

    id: str
    format: str
    completeness: Completeness
    lanes: tuple[Lane, ...]
    requests: tuple[Request, ...]
    events: tuple[Event, ...] = ()
    files: tuple[str, ...] = ()
    harness: str | None = None
    title: str | None = None
    accounting: Accounting = Accounting()
    problems: tuple[Problem, ...] = ()


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to one request at a cache: the split of its input, its times and its price.

    ``cost`` is in picodollars, ``None`` where the model has no known price. ``equivalents`` is the input part of the
    bill in micro-tokens of ordinary input (10**6 = one ordinary input token), ``None`` likewise. ``stored`` is what the
    request asked to be kept at a price, in token-seconds; ``storage_cost`` is its price, which is part of ``cost``.
    ``host`` is which of several caches answered, where that is known.
    """

    request: Request
    usage: Usage
    start: int | None
    first_token: int | None
    end: int | None
    cost: int | None = None
    equivalents: int | None = None
    stored: int = 0
    storage_cost: int | None = 0
    host: str | None = None


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of a session, in order of their start."""

    session: Session
    rows: tuple[Row, ...]
