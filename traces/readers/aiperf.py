"""AIPerf's input traces: requests to be sent, with block identities, with text, or with whole messages.

Convention: nothing is said about hits. ``input_length`` is the whole prompt of a row that stands alone. The rows of
one ``session_id`` are the turns of a conversation: each adds its blocks or its text to what was said before, and so
does the reply to the turn before, of which only the length is known. ``messages`` and ``payload`` are whole prompts.
Sizes of text are estimated. ``timestamp`` is in milliseconds from the trace's beginning; a ``delay`` counts from a
reply whose time is not known. There are no prices: the provider is ``engine``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from agentsim.bodies.messages_usage import ABSENT
from agentsim.core.prompt import Prompt
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow, Count
from agentsim.traces.block_prompts import BlockPrompts
from agentsim.traces.body_prompts import BodyPrompts
from agentsim.traces.hostile_records import calls_in, rows_of
from agentsim.traces.readers.mooncake import MOONCAKE_BLOCK
from agentsim.traces.session_assembly import MAIN, Assembly, read_each
from agentsim.traces.text_prompts import TextPrompts

NAME = "aiperf"
DESCRIPTION = "AIPerf input traces: sessions of turns, text, messages (from descriptions)"
VERIFIED = False

MILLISECOND = 10**6
LONGEST = 10**13


class _Row(msgspec.Struct, gc=False):
    session_id: str | int | None = None
    timestamp: int | float | None = None
    input_length: Count | None = None
    output_length: Count | None = None
    hash_ids: list[Count] | None = None
    block_size: Annotated[int, msgspec.Meta(ge=1, le=2**20)] | None = None
    text_input: str | None = None
    messages: msgspec.Raw = ABSENT
    tools: msgspec.Raw = ABSENT
    payload: msgspec.Raw = ABSENT
    model: str = ""


_rows = msgspec.json.Decoder(_Row)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like such a trace."""
    first = head.lstrip().split(b"\n", 1)[0]
    if not first.startswith(b"{") or b'"custom_id"' in first:
        return False
    if b'"session_id"' in first and (b'"input_length"' in first or b'"text_input"' in first):
        return True
    return b'"text_input"' in first or (
        b'"output_length"' in first and (b'"messages"' in first or b'"payload"' in first)
    )


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each trace; each conversation in it is a lane. What is wrong with a file is told in ``problems``;
    without that list OSError is raised for it."""
    yield from read_each(paths, problems, lambda path: _Trace(path).session(), "request with its prompt")


class _Trace:
    """Reads one trace. Mutable."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.assembly = Assembly.of_file(path, NAME)
        self._blocks: dict[int, BlockPrompts] = {}
        self._texts = TextPrompts()
        self._bodies = BodyPrompts()
        self._before: dict[str, tuple[Prompt, int]] = {}
        """The prompt of each conversation's last turn, and how many tokens its reply has."""
        self._replies = 0

    def session(self) -> Session:
        """The session of the file."""
        for request, is_turn in calls_in(rows_of(self.path, _rows), self.assembly.tally, self._request):
            self.assembly.add(request, parent="" if is_turn else None)
        return self.assembly.build("messages")

    def _request(self, row: _Row, line: int) -> tuple[Request, bool]:
        """A row's request, and whether it is a turn of a conversation."""
        is_turn = row.session_id is not None
        lane = f"{row.session_id}" if is_turn else MAIN
        prompt = self._prompt(row, lane)
        if is_turn:
            self._before[lane] = (prompt, row.output_length or 0)
        request = Request(
            id=f"#{line}",
            lane=lane,
            model=row.model,
            provider="engine",
            start=_time(row.timestamp),
            prompt=prompt,
            usage=Usage(output=row.output_length),
            source=Source(self.path, line),
        )
        return request, is_turn

    def _prompt(self, row: _Row, lane: str) -> Prompt:
        if row.payload or row.messages:
            return self._said(row, lane)
        if row.hash_ids is not None and row.input_length is not None:
            size = row.block_size or MOONCAKE_BLOCK
            added = self._blocks.setdefault(size, BlockPrompts(size)).prompt(row.hash_ids, row.input_length)
        elif row.text_input is not None:
            added = self._texts.prompt(row.text_input, "")
        else:
            raise BadRow("bad field", "neither hash_ids with input_length, nor text_input, nor messages")
        if lane not in self._before or row.session_id is None:
            return added
        before, reply = self._before[lane]
        if reply:
            self._replies += 1
            before = before.extend(BlockPrompts.unknown(f"reply {self._replies}", reply))
        return before.extend(added)

    def _said(self, row: _Row, lane: str) -> Prompt:
        body = bytes(row.payload) or msgspec.json.encode(
            {"model": row.model, "messages": row.messages, **({"tools": row.tools} if row.tools else {})}
        )
        if b'"model"' not in body:
            body = b'{"model":"",' + body.lstrip()[1:]
        prompt, _ = self._bodies.read(body, lane, messages_api=False, total=row.input_length)
        if prompt is None:
            raise BadRow("prompt unknown", "it continues a conversation that the server holds")
        return prompt


def _time(milliseconds: int | float | None) -> int | None:
    return round(milliseconds * MILLISECOND) if milliseconds is not None and 0 <= milliseconds < LONGEST else None
