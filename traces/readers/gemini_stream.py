"""What ``gemini --output-format stream-json`` prints: messages as they come, and the sums of the run at the end.

Usage convention: ``input_tokens`` includes ``cached``. Only the run is counted. Its sums are those of its call where it
had one alone; otherwise its calls have times and no counters, and the sums are told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies.input_conventions import input_includes_cached
from agentsim.bodies.serving_provider import provider_of
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow, Count
from agentsim.traces.session_assembly import MAIN, Assembly, read_each, take_events
from agentsim.traces.time_stamps import nanoseconds

NAME = "gemini-stream-json"
DESCRIPTION = "output of gemini --output-format stream-json (from descriptions)"
VERIFIED = False


class _Stats(msgspec.Struct, gc=False):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cached: Count | None = None
    tool_calls: Count | None = None


class _Line(msgspec.Struct, gc=False):
    type: str | None = None
    timestamp: str | None = None
    session_id: str | None = None
    model: str | None = None
    role: str | None = None
    stats: _Stats | None = None


_lines = msgspec.json.Decoder(_Line)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins with the first line of such an output."""
    first = head.lstrip().split(b"\n", 1)[0].replace(b" ", b"")
    return (
        first.startswith(b"{")
        and b'"type":"init"' in first
        and b'"session_id":' in first
        and b'"model":' in first
        and b'"timestamp":' in first
    )


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file. What is wrong with a file is told in ``problems``; without that list OSError is raised
    for it."""
    seen: set[str] = set()
    yield from read_each(paths, problems, lambda path: _Output(path, seen).session(), "answer of a model")


class _Output:
    """Reads one file."""

    def __init__(self, path: str, seen: set[str]) -> None:
        self.path = path
        self.seen = seen
        self.assembly = Assembly.of_file(path, NAME)
        self.assembly.harness = "gemini-cli"
        self.model = ""
        self.begun: int | None = None
        self.open: tuple[int, int | None, int | None] | None = None
        """The answer being given: its line, its beginning and its end."""
        self.stats: tuple[int, _Stats] | None = None

    def session(self) -> Session:
        """The session of the file."""
        take_events(self.path, _lines, self.assembly.tally, self._take)
        self._close()
        self._count()
        return self.assembly.build("messages")

    def _take(self, line: int, row: _Line) -> None:
        time = nanoseconds(row.timestamp)
        if row.type == "init":
            self.assembly.id, self.model = row.session_id or self.assembly.id, row.model or self.model
            self.begun = time
        elif row.type == "message" and row.role == "user":
            self._close()
            self.assembly.note("prompt_submitted", time)
            self.begun = time
        elif row.type == "tool_result":
            self._close()
            self.begun = time
        elif row.type == "tool_use" or (row.type == "message" and row.role == "assistant"):
            first, start, _ = self.open or (line, self.begun, None)
            self.open = (first, start, time)
        elif row.type == "result" and row.stats is not None:
            self.stats = line, row.stats

    def _close(self) -> None:
        if self.open is None:
            return
        line, start, end = self.open
        self.open = None
        tally = self.assembly.tally
        tally.rows += 1
        id = f"{self.assembly.id}#{line}"
        if id in self.seen:
            tally.duplicate += 1
            return
        self.seen.add(id)
        self.assembly.add(
            Request(
                id=id,
                lane=MAIN,
                model=self.model,
                provider=provider_of(api="generate", model=self.model),
                start=start,
                end=end,
                source=Source(self.path, line),
            )
        )

    def _count(self) -> None:
        if self.stats is None:
            return
        line, stats = self.stats
        try:
            usage = input_includes_cached(stats.input_tokens, stats.cached, None, stats.output_tokens)
        except BadRow as bad:
            self.assembly.tally.tell(line, bad, note=True)
            return
        requests = self.assembly.requests
        if len(requests) == 1:
            self.assembly.requests = [msgspec.structs.replace(requests[0], usage=usage)]
        elif usage != Usage():
            words = (
                f"{stats.input_tokens} tokens of input, {stats.cached} of them cached, {stats.output_tokens} of output"
            )
            self.assembly.tally.tell(line, BadRow("counted as a whole", words), note=True)
