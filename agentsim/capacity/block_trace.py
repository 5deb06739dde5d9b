"""Traces to serve: rows of blocks where a format has them, and the prompts of sessions otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from agentsim.cache.simulate import arrivals_of
from agentsim.cache.stack_distances import Key
from agentsim.core.garbage_collection import without_collection
from agentsim.core.session import Problem, Request, Session
from agentsim.traces.block_rows import BlockKeys, BlockReader, BlockTrace, ServingRow, in_order
from agentsim.traces.format_registry import LogFormat, grouped, nothing_found
from agentsim.traces.hostile_records import ReadProblems, tell_or_raise

Row = tuple[list[Key], list[int], Key, int]
"""Keys of the blocks of a prompt, the tokens up to each of them, whose prefixes they may share, and a line."""


class ServingTrace:
    """Requests in the order in which they arrive."""

    def __init__(self, name: str, format: str, count: int) -> None:
        self.name = name
        self.format = format
        self._count = count

    def __len__(self) -> int:
        return self._count

    def rows(self) -> Iterator[Row]:
        """The requests."""
        raise NotImplementedError


class _Blocks(ServingTrace):
    """A trace that names its blocks."""

    def __init__(self, trace: BlockTrace, format: str) -> None:
        super().__init__(trace.file, format, len(trace.rows))
        self._size = trace.size
        self._rows: list[ServingRow] = trace.rows

    def rows(self) -> Iterator[Row]:
        keys = BlockKeys(self._size)
        for row in in_order(self._rows):
            names, ends = keys.of(row)
            yield cast(list[Key], names), ends, row.model, row.line


class _Prompts(ServingTrace):
    """A session whose requests carry prompts."""

    def __init__(self, session: Session, requests: Sequence[Request]) -> None:
        super().__init__(session.files[0] if session.files else session.id, session.format, len(requests))
        self._requests = requests

    def rows(self) -> Iterator[Row]:
        for _, request in arrivals_of(self._requests):
            prompt = request.prompt
            assert prompt is not None
            ends = [prompt.tokens_until(length) for length in range(1, len(prompt) + 1)]
            line = request.source.line if request.source is not None else 0
            yield [block.digest for block in prompt], ends, request.model, line


def load(paths: Sequence[str], problems: list[Problem], *, block: int | None = None) -> tuple[list[ServingTrace], int]:
    """The traces in these files and folders, and how many requests were left out because they carry no prompt.

    ``block`` overrides the tokens of a block in traces that name their blocks. Rows that cannot be used are told in
    ``problems``, and so is a file of which nothing could be. Raises OSError for a file that cannot be read, and where
    there is no request in any of them.
    """
    told = ReadProblems()
    groups, named = grouped(paths, told)
    traces: list[ServingTrace] = []
    without = 0
    for format, files in groups.items():
        if hasattr(format.reader, "read_blocks"):
            _load_blocks(format, files, block, traces, told)
            continue
        for session in format.reader.read_sessions(files, told):
            told += session.problems
            requests = [request for request in session.requests if request.prompt is not None]
            without += len(session.requests) - len(requests)
            if requests:
                traces.append(_Prompts(session, requests))
    problems += told
    if not traces and not without:
        raise nothing_found(paths, [problem for problem in told.unusable if problem.file in named] or told)
    return traces, without


def _load_blocks(
    format: LogFormat, files: Sequence[str], block: int | None, traces: list[ServingTrace], told: ReadProblems
) -> None:
    reader = cast(BlockReader, format.reader)
    for file in files:
        try:
            with without_collection():
                trace = reader.read_blocks(file, block)
        except OSError as error:
            tell_or_raise(error, file, told)
            continue
        told += trace.tally.problems
        if trace.rows:
            traces.append(_Blocks(trace, format.name))
