"""Serving traces of Mooncake and Bailian: a row a request, with the identities of its KV blocks.

Convention: ``input_length`` is the whole prompt, cached or not; nothing is said about hits. Blocks hold 512 tokens
(Mooncake) or 16 (Bailian), the last one what is left; equal leading ids are a shared prefix. Mooncake counts
milliseconds from the trace's beginning, Bailian seconds. There are no prices: the provider is ``engine``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Annotated

import msgspec

from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow, Count
from agentsim.traces.block_prompts import BlockPrompts
from agentsim.traces.block_rows import BlockTrace, ServingRow, checked
from agentsim.traces.hostile_records import Tally, rows_of
from agentsim.traces.session_assembly import MAIN, Assembly, read_each

NAME = "mooncake"
DESCRIPTION = "Mooncake serving traces (512-token blocks), and those of Qwen-Bailian (from descriptions)"
VERIFIED = True

MOONCAKE_BLOCK, BAILIAN_BLOCK = 512, 16
_LATEST = 10**20


class _Row(msgspec.Struct, gc=False):
    input_length: Count
    hash_ids: list[Count]
    timestamp: msgspec.Raw = msgspec.Raw(b"")
    output_length: Count | None = None
    chat_id: int | str | None = None
    parent_chat_id: int | str | None = None
    session_id: int | str | None = None
    block_size: Annotated[int, msgspec.Meta(ge=1, le=2**20)] | None = None


_rows = msgspec.json.Decoder(_Row)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like such a trace."""
    start = head.lstrip()[:4096]
    return start.startswith(b"{") and b'"hash_ids"' in head and b'"input_length"' in start and b'"timestamp"' in start


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each trace. What is wrong with a file is told in ``problems``; without that list OSError is
    raised for it."""
    yield from read_each(paths, problems, _session, "request with its block ids")


def read_blocks(path: str, size: int | None = None) -> BlockTrace:
    """The requests of one trace as rows. ``size`` overrides the tokens of a block. Raises OSError when the file cannot
    be read."""
    tally = Tally(path)
    rows: list[ServingRow] = []
    found = 0
    for line, row, found in _rows_of(path, size, tally):
        try:
            checked(row.hash_ids, row.input_length, found)
        except BadRow as bad:
            tally.skip(line, bad)
            continue
        rows.append(ServingRow(row.hash_ids, row.input_length, _start(row), line))
    tally.used = len(rows)
    return BlockTrace(path, found or size or MOONCAKE_BLOCK, rows, tally)


def _rows_of(path: str, size: int | None, tally: Tally) -> Iterator[tuple[int, _Row, int]]:
    """Each row with its line, and the tokens of a block, which the first row decides for all."""
    for raw in rows_of(path, _rows):
        tally.rows += 1
        if raw.bad is not None or raw.value is None:
            tally.skip(raw.line, raw.bad or BadRow("not an object"))
            continue
        row = raw.value
        if size is None:
            size = row.block_size or (MOONCAKE_BLOCK if row.chat_id is None else BAILIAN_BLOCK)
        yield raw.line, row, size


def _session(path: str) -> Session:
    assembly = Assembly.of_file(path, NAME)
    tally = assembly.tally
    made: BlockPrompts | None = None
    for line, row, size in _rows_of(path, None, tally):
        if made is None:
            made = BlockPrompts(size)
        try:
            prompt = made.prompt(row.hash_ids, row.input_length)
        except BadRow as bad:
            tally.skip(line, bad)
            continue
        assembly.add(
            Request(
                id=f"#{line}" if row.chat_id is None else f"{row.chat_id}",
                lane=MAIN,
                model="",
                provider="engine",
                start=_start(row),
                prompt=prompt,
                usage=Usage(output=row.output_length),
                source=Source(path, line),
            ),
            parent=None if row.chat_id is None else f"{row.parent_chat_id}",
        )
    return assembly.build("messages")


def _start(row: _Row) -> int | None:
    power, unit = (6, 10**6) if row.chat_id is None else (9, 10**9)
    number = bytes(row.timestamp)
    if number.isdigit() and len(number) < 11:
        return int(number) * unit
    return _time(number, power)


def _time(number: bytes, power: int) -> int | None:
    try:
        value = Decimal(number.decode("ascii"))
    except (ArithmeticError, UnicodeDecodeError):
        return None
    if not value.is_finite() or value < 0 or value.adjusted() > 15:
        return None
    time = int(value.scaleb(power))
    return time if time < _LATEST else None
