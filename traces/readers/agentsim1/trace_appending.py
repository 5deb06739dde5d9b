"""A trace that grows while its session runs: each request is on the disk as soon as it is known.

Lanes are known only when the session is over. Until then the header names none, which readers accept; finishing writes
the file anew with a whole header.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import BinaryIO

import msgspec

from agentsim.core.prompt import Prompt
from agentsim.core.session import Event, Purpose, Request, Session
from agentsim.traces.readers.agentsim1.fingerprints import KEY_SIZE, _Blinder
from agentsim.traces.readers.agentsim1.prompt_differences import Origin, PromptDifferences
from agentsim.traces.readers.agentsim1.trace_writer import _event, _header, _request

Filter = Callable[[bytes], bytes]


class Blinding:
    """One random key for all sessions that are to share it, kept nowhere."""

    def __init__(self, key: bytes | None = None) -> None:
        self.blinder = _Blinder(os.urandom(KEY_SIZE) if key is None else key)


class LaneMove(msgspec.Struct, frozen=True):
    """Rows of one lane, all before a certain one, that turned out to belong to another."""

    before: int
    lane: str
    to: str
    purpose: Purpose


class Appender:
    """A session being written to a file of its own, readable for its owner only. Mutable.

    ``session`` has no requests yet: it is the header. With ``blinding`` nothing private is written, with ``text=False``
    no content. ``redact`` sees every line before it is written. Raises OSError when the file cannot be written.
    """

    def __init__(
        self,
        path: str,
        session: Session,
        *,
        text: bool = True,
        blinding: Blinding | None = None,
        redact: Filter | None = None,
    ) -> None:
        self.path = path
        self.requests = 0
        self._blinder = None if blinding is None else blinding.blinder
        self._text = text and blinding is None
        self._redact = redact
        self._encode = msgspec.json.Encoder(order="deterministic").encode
        self._growth = PromptDifferences()
        self._blind_prompts: dict[str, Prompt] = {}
        self._rows = 0
        self._moves: list[LaneMove] = []
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
        os.fchmod(descriptor, 0o600)  # a file that was there keeps the mode it had
        self._file: BinaryIO = open(descriptor, "wb", buffering=0)  # noqa: SIM115 - closed by finish()
        self._write(self._head(session, None))

    def request(self, request: Request) -> None:
        """Append a request."""
        origin = self._growth.follow(request)
        if self._blinder is not None:
            request = self._blinder._request(request, self._blinded(request, origin))
            origin = Origin(self._blinder.name_or_none(origin.request), origin.keep)
        self.requests += 1
        self._write(self._encode(_request(request, origin, self._text)))

    def event(self, event: Event) -> None:
        """Append an event."""
        if self._blinder is not None:
            event = self._blinder._event(event)
        self._write(self._encode(_event(event)))

    def move(self, lane: str, to: str, purpose: Purpose) -> None:
        """What was written of a lane belongs to another, of this purpose. Finishing the file says so in its rows."""
        if self._blinder is not None:
            lane, to = self._blinder.name(lane), self._blinder.name(to)
        self._moves.append(LaneMove(self._rows - 1, lane, to, purpose))

    def finish(self, session: Session, target: BinaryIO) -> None:
        """Close the file, and copy it to ``target`` under the header that the whole session has."""
        self._file.close()
        target.write(self._head(session, self.requests) + b"\n")
        with open(self.path, "rb") as own:
            own.readline()
            last = max((move.before for move in self._moves), default=0)
            for number in range(1, last + 1):
                target.write(self._moved(number, own.readline()))
            while chunk := own.read(1 << 20):
                target.write(chunk)

    def _moved(self, number: int, line: bytes) -> bytes:
        """A row, in the lane that it belongs to."""
        row = msgspec.json.decode(line)
        for move in self._moves:
            if number <= move.before and row.get("lane") == move.lane:
                row["lane"] = move.to
                if row["record"] == "request":
                    row["purpose"] = move.purpose
        return self._encode(row) + b"\n"

    def sync(self) -> None:
        """See that what was written is on the disk."""
        if not self._file.closed:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file as it is: it can be read, but names no lanes. The next row opens it again."""
        self._file.close()

    def _head(self, session: Session, requests: int | None) -> bytes:
        if self._blinder is not None:
            session = self._blinder.session(session)
        row = _header(session, self._text)
        line = self._encode(msgspec.structs.replace(row, text=self._text, requests=requests))
        return line if self._redact is None else self._redact(line)

    def _blinded(self, request: Request, origin: Origin) -> Prompt | None:
        if request.prompt is None or self._blinder is None:
            return None
        base = Prompt.of(()) if origin.request is None else self._blind_prompts[origin.request]
        new = (self._blinder._block(request.prompt[at]) for at in range(origin.keep, len(request.prompt)))
        prompt = base.replace_after(origin.keep, new, request.prompt.breakpoints)
        self._blind_prompts.setdefault(request.id, prompt)
        return prompt

    def _write(self, line: bytes) -> None:
        self._rows += 1
        if self._redact is not None:
            line = self._redact(line)
        if self._file.closed:
            self._file = open(self.path, "ab", buffering=0)  # noqa: SIM115 - as above
        self._file.write(line + b"\n")
