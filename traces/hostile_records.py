"""Rows of hostile JSON: found in a file, decoded strictly, and accounted for.

A reader takes its rows from :func:`rows_of`, decodes each with :func:`decode`, and tells a :class:`Tally` where each
one went. Whatever is wrong with a row is a :class:`BadRow`, which costs that row and nothing else. No message made here
quotes the input.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

import msgspec

from agentsim.core.session import Accounting, Problem
from agentsim.core.strict_decoding import BadRow, decode
from agentsim.traces.log_lines import MAX_LINE_BYTES, Chunk, read_chunks

MAX_PROBLEMS = 100
"""How many problems are described one by one; the accounting counts them all."""

T = TypeVar("T")
R = TypeVar("R")

REMEDIES = {
    "incomplete": "the line is still being written, or was cut off; nothing to do if its program is running",
    "broken JSON": "the line is not valid JSON; restore it from a backup or delete it",
    "not UTF-8": "the line holds bytes that are not UTF-8; convert the file, or delete the line",
    "too long": f"the line exceeds {MAX_LINE_BYTES // 2**20} MiB; it was passed over",
    "nested too deep": "the line nests deeper than JSON decoders go; it was passed over",
    "not an object": "a row must be a JSON object; the line was passed over",
    "bad counter": "a token counter is not a whole number between 0 and 2^53; the row was left out",
    "bad field": "a field has another type than its format says; the row was left out",
    "bad delta": "a prompt does not fit the one it grew from; write the trace anew from the log",
    "prompt unknown": "the row's counters are used without its prompt; write the trace anew from the log",
    "bad accounting": "only the rows of this trace are counted; write it anew from the log",
    "cut short": "the rest was read; get the whole file, or write it anew from the log",
    "no header": "a trace begins with a session record; the row was left out",
    "unknown record": "another version of the program may have written it; the row was left out",
    "not a Messages request": "only bodies of the Messages API are read here; the row was left out",
    "no response": "the capture broke off before the response; the row was left out",
    "no request": "its request may lie in another folder; the response was left out",
    "no usage": "the response reports no token counters, so that nothing can be said about it",
    "other provider": "counters of another provider's API cannot be read in this format; the row was left out",
    "contradictory counters": "compare with the provider's own bill; a gateway fills the names it does not use with 0",
    "unclear convention": "nothing tells whether its input includes cached tokens; export it with its total",
    "broken body": "the body was recorded packed, and cannot be unpacked; record it anew",
    "lifetime proved": "nothing to do; they are priced as what they were",
    "perhaps a copy": "both were counted; remove one of them if it is a copy",
    "counted as a whole": "nothing to do; what each call took is not in the log",
    "sums differ": "what is missing was not written to this file; compare with the provider's own bill",
    "other server": 'give the provider beside the request (provider = "...") if it is another',
    "other endpoint": "only calls that generate text have a prompt to cache; the row was left out",
    "cannot be read": "check that it is a file you may read",
}
"""What a person can do about each reason for which any reader skips a row."""


class TraceError(OSError):
    """An input that holds no session at all that could be read: which file, which line (0 for none), why, what to do.

    It is an OSError, so that a caller may handle it like a file that is not there.
    """

    def __init__(self, file: str, reason: str, remedy: str, line: int = 0) -> None:
        super().__init__(None, reason, file)
        self.file = file
        self.line = line
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.reason}; {self.remedy}"


class ReadProblems(list[Problem]):
    """Problems that were told, and among them those of files of which nothing could be used."""

    def __init__(self) -> None:
        super().__init__()
        self.unusable: list[Problem] = []


def tell_or_raise(error: OSError, file: str, problems: list[Problem] | None) -> None:
    """Tell of a file that could not be read, so that the next one can be; raise the error where nobody listens."""
    if problems is None:
        raise error
    if isinstance(error, TraceError):
        told = Problem(file=error.file, line=error.line, reason=error.reason, remedy=error.remedy)
    else:
        told = Problem(file=file, line=0, reason=error.strerror or str(error), remedy=REMEDIES["cannot be read"])
    problems.append(told)
    if isinstance(problems, ReadProblems):
        problems.unusable.append(told)


class RawRow(NamedTuple, Generic[T]):
    """A row of a file: the number of its line, its bytes, and its value or what is wrong with it."""

    line: int
    data: bytes
    value: T | None
    bad: BadRow | None

    def checked(self) -> T:
        """The value. Raises the BadRow where there is none."""
        if self.bad is not None:
            raise self.bad
        assert self.value is not None
        return self.value


class Tally:
    """Where the rows of an input went. Mutable while it is read; :meth:`accounting` is the result."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.rows = 0
        self.used = 0
        self.duplicate = 0
        self.not_billable = 0
        self.skipped: dict[str, int] = {}
        self.problems: list[Problem] = []

    def copy(self) -> Tally:
        """One that can go on by itself."""
        made = Tally(self.file)
        vars(made).update(vars(self), skipped=dict(self.skipped), problems=list(self.problems))
        return made

    def begin_with(self, other: Tally) -> None:
        """Count what was counted before it was known where it belongs."""
        self.rows += other.rows
        self.used += other.used
        self.duplicate += other.duplicate
        self.not_billable += other.not_billable
        for reason, count in other.skipped.items():
            self.skipped[reason] = self.skipped.get(reason, 0) + count
        self.problems += other.problems

    def skip(self, line: int, bad: BadRow, file: str | None = None) -> None:
        """Count a row that was left out, and say where it stands and why."""
        self.skipped[bad.reason] = self.skipped.get(bad.reason, 0) + 1
        self.tell(line, bad, file)

    def tell(self, line: int, bad: BadRow, file: str | None = None, *, note: bool = False) -> None:
        """Say what is wrong with a row, without counting it as left out; ``note``: it was used all the same."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem_of(file or self.file, line, bad, note=note))

    def accounting(self) -> Accounting:
        """The counts so far."""
        return Accounting(
            rows=self.rows,
            used=self.used,
            duplicate=self.duplicate,
            not_billable=self.not_billable,
            skipped=tuple(sorted(self.skipped.items())),
        )


def problem_of(file: str, line: int, bad: BadRow, *, note: bool = False) -> Problem:
    """A bad row as something to tell a person."""
    remedy = REMEDIES.get(bad.reason, "the row was left out")
    return Problem(file=file, line=line, reason=str(bad), remedy=remedy, note=note)


def rows_of(path: str, decoder: msgspec.json.Decoder[T]) -> Iterator[RawRow[T]]:
    """The rows of a file, one a line, in order, decoded. Blank lines are no rows.

    Objects that ran together on one line (a program died between a row and its newline) come out one by one. Raises
    OSError when the file cannot be read.
    """
    return rows_in(read_chunks(path), decoder)


def rows_in(chunks: Iterable[Chunk], decoder: msgspec.json.Decoder[T]) -> Iterator[RawRow[T]]:
    """As :func:`rows_of`, of some lines of a file."""
    for chunk in chunks:
        last = len(chunk.lines) - 1
        for index, line in enumerate(chunk.lines):
            number = chunk.first + index
            if not line or line.isspace():
                if number in chunk.overlong:
                    yield RawRow(number, b"", None, BadRow("too long"))
                continue
            try:
                if not line.isascii():
                    line.decode()
                value = decoder.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                yield from _odd_rows(number, line, chunk.open_end and index == last, decoder)
            else:
                yield RawRow(number, line, value, None)


def calls_in(
    rows: Iterable[RawRow[T]],
    tally: Tally,
    make: Callable[[T, int], R | None],
    *,
    billed: Callable[[T], bool] | None = None,
    seen: set[str] | None = None,
    id_of: Callable[[T], str | None] | None = None,
) -> Iterator[R]:
    """What ``make`` makes of each row and its line, where a row is a call; where each row went is counted.

    A row is not billable that ``billed`` says no to or of which ``make`` makes ``None``; one whose id is in ``seen`` is
    a copy. ``seen`` grows by the ids of rows that could be used. What is made is counted by whoever takes it in.
    """
    for raw in rows:
        tally.rows += 1
        try:
            row = raw.checked()
            id = None if id_of is None else id_of(row)
            if billed is not None and not billed(row):
                tally.not_billable += 1
            elif seen is not None and id is not None and id in seen:
                tally.duplicate += 1
            elif (made := make(row, raw.line)) is None:
                tally.not_billable += 1
            else:
                if seen is not None and id is not None:
                    seen.add(id)
                yield made
        except BadRow as bad:
            tally.skip(raw.line, bad)


def _odd_rows(number: int, line: bytes, open_end: bool, decoder: msgspec.json.Decoder[T]) -> Iterator[RawRow[T]]:
    """The rows of a line that does not decode as one."""
    from agentsim.bodies.messages_wire import keep_lone_surrogates

    try:
        line.decode()
    except UnicodeDecodeError as error:
        # A cut may fall inside a character; the line is incomplete then, not wrongly encoded.
        cut = open_end and error.end >= len(line) and len(line) - error.start < 4
        yield RawRow(number, line, None, BadRow("incomplete" if cut else "not UTF-8"))
        return
    parts = split_objects(keep_lone_surrogates(line))
    for part in parts:
        try:
            yield RawRow(number, part, decode(decoder, part), None)
        except BadRow as bad:
            cut = open_end and part is parts[-1] and bad.reason == "broken JSON"
            yield RawRow(number, part, None, BadRow("incomplete") if cut else bad)


def split_objects(line: bytes) -> list[bytes]:
    """The JSON objects that stand on one line, side by side.

    Whatever follows the last whole object (the beginning of one, or rubbish) comes as a last part, so that no byte gets
    lost; a line that holds no whole object comes back as it is.
    """
    parts: list[bytes] = []
    begin, depth = 0, 0
    for token in _TOKENS.finditer(line):
        sign = token[0][:1]
        if sign in b"{[":
            depth += 1
        elif sign in b"}]":
            depth -= 1
            if depth < 0:
                break
            if depth == 0:
                parts.append(line[begin : token.end()].strip())
                begin = token.end()
    rest = line[begin:].strip()
    if rest or not parts:
        parts.append(rest)
    return parts


_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[][{}]', re.DOTALL)
