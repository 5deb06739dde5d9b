"""Where requests land: an ``agentsim/1`` trace that grows with each of them, whatever session they belong to.

While the endpoint runs, each session has a file of its own (the first one the file that was asked for, the next ones
its numbered neighbours), so that each can be read and followed as it grows. At the end all of them become one file.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import OrderedDict
from time import monotonic
from typing import TYPE_CHECKING

from agentsim.core.session import Event, Purpose, Request, Session
from agentsim.traces.readers.agentsim1.trace_appending import Appender, Blinding, Filter

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_OPEN = 32
"""Files held open at once; those of other sessions are opened again when they go on."""


SYNC_SECONDS = 1.0
"""What was answered so long ago is on the disk, whatever happens to the machine."""


class TraceTaken(OSError):
    """Another program writes this trace."""


class TraceFile:
    """A trace being written. Mutable. A failure to write is kept in ``failure`` and ends the writing, nothing else."""

    def __init__(
        self, path: str, *, fingerprint: bool = False, redact: Filter | None = None, overwrite: bool = False
    ) -> None:
        """Take the file. Raises FileExistsError for one that is there, unless it may be overwritten, and TraceTaken for
        one that another program writes."""
        self.path = path
        self.failure: OSError | None = None
        self._is_new = not os.path.lexists(path)
        self._lock: int | None = _taken(path, overwrite)
        self._synced = monotonic()
        self._blinding = Blinding() if fingerprint else None
        self._redact = redact
        self._appenders: dict[str, Appender] = {}
        self._open: OrderedDict[str, Appender] = OrderedDict()

    @property
    def requests(self) -> int:
        """How many requests were written."""
        return sum(appender.requests for appender in self._appenders.values())

    def request(self, session: str, request: Request, begun: Callable[[], Session]) -> None:
        """Append a request of a session. ``begun`` makes the header of a session that is new."""
        appender = self._appender(session, begun)
        if appender is not None:
            self._try(lambda: appender.request(request))
            if monotonic() - self._synced > SYNC_SECONDS:
                self._synced = monotonic()
                self._try(appender.sync)

    def event(self, session: str, event: Event, begun: Callable[[], Session]) -> None:
        """Append an event of a session."""
        appender = self._appender(session, begun)
        if appender is not None:
            self._try(lambda: appender.event(event))

    def move(self, session: str, lane: str, to: str, purpose: Purpose) -> None:
        """What was written of a session's lane belongs to another one."""
        found = self._appenders.get(session)
        if found is not None:
            found.move(lane, to, purpose)

    def finish(self, ended: Callable[[str], Session]) -> None:
        """Make one file of all sessions. ``ended`` makes the final header of a session."""
        for appender in self._appenders.values():
            appender.close()
        if self._appenders and self.failure is None:
            self._try(lambda: self._merge(ended))
        if self._lock is not None:
            if not self._appenders and self._is_new:
                with contextlib.suppress(OSError):
                    os.unlink(self.path)
            os.close(self._lock)
            self._lock = None

    def _merge(self, ended: Callable[[str], Session]) -> None:
        folder, name = os.path.split(self.path)
        descriptor, whole = tempfile.mkstemp(prefix=f".{name}.", dir=folder or ".")  # readable for its owner only
        try:
            with open(descriptor, "wb") as file:
                for id, appender in self._appenders.items():
                    appender.finish(ended(id), file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(whole, self.path)
        except BaseException:
            os.unlink(whole)
            raise
        for appender in self._appenders.values():
            if appender.path != self.path:
                os.unlink(appender.path)

    def _appender(self, session: str, begun: Callable[[], Session]) -> Appender | None:
        if self.failure is not None:
            return None
        found = self._appenders.get(session)
        if found is None:
            path = self._free_path() if self._appenders else self.path
            try:
                found = Appender(path, begun(), blinding=self._blinding, redact=self._redact)
            except OSError as error:
                self.failure = error
                return None
            self._appenders[session] = found
        self._open[session] = found
        self._open.move_to_end(session)
        if len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)[1].close()
        return found

    def _free_path(self) -> str:
        """The next numbered neighbour of the trace that is nobody's file."""
        stem, suffix = os.path.splitext(self.path)
        number = len(self._appenders) + 1
        while os.path.lexists(f"{stem}.{number}{suffix}"):
            number += 1
        return f"{stem}.{number}{suffix}"

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            self.failure = error


def _taken(path: str, overwrite: bool) -> int:
    """The file, made now and locked: nobody else writes to it. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | (0 if overwrite else os.O_EXCL)
    descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        import fcntl
    except ImportError:  # no such locks here; the exclusive creation holds
        return descriptor
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise TraceTaken(error.errno, "another program writes this trace") from None
    return descriptor
