"""What is simulated: the prompt layout, the steps, the service and the mechanisms of a harness. Immutable.

Sizes are tokens, times and durations nanoseconds, lifetimes seconds, probabilities millionths. A
:class:`agentsim.harness.random_draws.Draw` stands where a plan leaves a number to chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Protocol

import msgspec

from agentsim.core.dates import SECOND
from agentsim.harness.agent_steps import Calls, Step
from agentsim.harness.prompt_part import PromptPart
from agentsim.harness.random_draws import Draw, FixedNumber
from agentsim.harness.random_streams import Stream

Mark = Literal["tools", "system", "project", "previous", "last"]
"""Where a breakpoint stands: at the end of a section or of the project files, where the request before ended, or at
the end of the prompt."""

Strategy = Literal["rewrite", "deferred", "deferred_late", "fixed", "all"]
Method = Literal["reuse_prefix", "separate", "server"]
Wait = Literal["none", "first_token", "end"]


class PromptLayout(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in front of the conversation, in this order."""

    tools: tuple[PromptPart, ...] = ()
    system: tuple[PromptPart, ...] = ()
    project: tuple[PromptPart, ...] = ()


class Marks(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The breakpoints of each request. A lifetime of 0 sets none. ``subagent_ttl`` is for subagents that start fresh
    as well as for forks."""

    at: tuple[Mark, ...] = ("system", "last")
    ttl: int = 300
    subagent_ttl: int = 300


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """How long an answer takes: a wait, time for what is not read from the cache at ``uncached_rate`` tokens a second
    (``None``: no time), and time for the output at ``output_rate``. A step may set the times of its own request
    instead."""

    first_token: Draw = FixedNumber(2 * SECOND)
    uncached_rate: int | None = None
    output_rate: int = 60


class ToolLoading(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a tool that is needed later reaches the model.

    ``rewrite`` puts it into the list of tools. ``deferred`` appends its definition to the messages; what the provider
    adds to the prompt for that (``scaffolding``) stands there from the first request, because a placeholder does.
    ``deferred_late`` has no placeholder: the scaffolding appears in front of everything at the first load. ``fixed``
    has two tools from the start, one to search and one to call; a search appends the definition it finds. ``all`` has
    every tool of ``catalogue``, and every one that the task will need, in the list from the first request on.

    Where a tool is looked for (``deferred``, ``deferred_late``, ``fixed``), that is a request of its own, which the
    model answers with a call of ``search`` tokens; 0: it is there without being asked for.
    """

    strategy: Strategy = "rewrite"
    placeholder: int = 30
    scaffolding: int = 300
    search_tool: int = 220
    call_tool: int = 180
    search: int = 60
    catalogue: tuple[PromptPart, ...] = ()


class CallStyle(msgspec.Struct, frozen=True, kw_only=True):
    """How a round of tool calls is made: all in one round, a round for each, or one script that makes them, be it only
    one, and returns ``selected`` tokens of their results. The script itself stays in the history."""

    style: Calls = "parallel"
    script: Draw = FixedNumber(400)
    selected: Draw = FixedNumber(800)


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """Replace the history by a summary once a prompt has ``trigger`` tokens.

    ``reuse_prefix`` asks for the summary at the end of the conversation itself. ``separate`` sends the transcript, cut
    to ``transcript`` millionths of the history, with a system prompt of its own and no breakpoint. ``server`` lets the
    provider do it inside a request. The last ``keep`` tokens of the history stay as they are, and ``attached`` tokens
    (files that were read) are put back behind it. In ``rereads`` requests after it the agent reads ``reread`` tokens
    again. ``model`` writes the summary; ``None``: the one that is compacted for.
    """

    method: Method = "reuse_prefix"
    trigger: int = 150_000
    keep: int = 0
    attached: int = 0
    reread: int = 0
    rereads: int = 0
    summary: Draw = FixedNumber(2_000)
    instruction: int = 800
    system: int = 600
    transcript: int = 300_000
    model: str | None = None


class Clearing(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Replace old tool results by a stub of ``stub`` tokens once a prompt has ``trigger`` tokens, when at least
    ``at_least`` tokens come free. The last ``keep`` results and the last ``protect`` tokens are left alone."""

    trigger: int
    keep: int = 3
    protect: int = 0
    at_least: int = 0
    stub: int = 12


class KeepAlivePlan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Which keep-alive policy runs: a policy of :mod:`agentsim.whatif.policies` as a command line names it, with
    parameters (``keep-alive-priced``, ``keep-alive:most=3``)."""

    preset: str


class FanOutStyle(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How subagents start: on the parent's prompt (``fork``) or on a fresh one; whether a breakpoint stands at the end
    of the brief that they share; what the others wait for before they start, and for how long at most; how long after
    one the next one starts (nanoseconds); how many run at a time; which model they ask (``None``: the parent's)."""

    fork: bool = True
    mark: bool = False
    wait: Wait = "none"
    wait_at_most: int | None = None
    stagger: int = 0
    limit: int | None = None
    model: str | None = None


class Failures(msgspec.Struct, frozen=True, kw_only=True):
    """What goes wrong. Refusals (429, 529) come before anything is processed: they cost time only. A timeout comes
    after the answer began: its input is billed and its entries are kept, and ``retry`` says whether the next attempt
    sends the same prompt (it reads them) or one that begins differently (it does not)."""

    rate_limited: int = 0
    overloaded: int = 0
    timed_out: int = 0
    retry_after: Draw = FixedNumber(20 * SECOND)
    backoff: int = SECOND
    timeout: int = 600 * SECOND
    attempts: int = 5
    retry: Literal["same_prompt", "new_prefix"] = "same_prompt"


class Helper(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A call of another model at the start of each turn, for a title or a topic."""

    model: str
    tokens: int
    output: int
    seconds: int = SECOND


class Harness(msgspec.Struct, frozen=True, kw_only=True):
    """The mechanisms. Each is off where it is ``None``."""

    tools: ToolLoading = ToolLoading()
    calls: CallStyle = CallStyle()
    fan_out: FanOutStyle = FanOutStyle()
    compaction: Compaction | None = None
    clearing: Clearing | None = None
    keep_alive: KeepAlivePlan | None = None
    helper: Helper | None = None


class StepSource(Protocol):
    """Where the steps of a task come from: a script, or distributions."""

    def steps(self, stream: Stream) -> Iterator[Step]:
        """The steps of one task, in order, drawn from the stream of its agent."""
        ...

    @property
    def written(self) -> tuple[Step, ...]:
        """The steps that are known beforehand, in order."""
        ...


class Population(msgspec.Struct, frozen=True, kw_only=True):
    """How many agents run, and how long after one the next one starts."""

    agents: int = 1
    gap: Draw = FixedNumber(0)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a simulation needs. The same plan gives the same bytes.

    ``passes`` is the probability that a finished task is accepted; ``None`` where nobody said so: nothing can then be
    said about the price of an accepted task. ``window`` is the model's context window. ``subagent_layout`` is what
    stands in front of subagents that start fresh; ``None``: the same as in front of the main loop.
    """

    name: str
    source: StepSource
    model: str
    provider: str = "anthropic"
    seed: int = 1
    start: int = 0
    layout: PromptLayout = PromptLayout()
    subagent_layout: PromptLayout | None = None
    marks: Marks = Marks()
    service: Service = Service()
    harness: Harness = Harness()
    failures: Failures | None = None
    population: Population = Population()
    settings: tuple[tuple[str, str], ...] = ()
    window: int | None = None
    passes: int | None = None
    title: str | None = None
