"""The real program on a pseudo-terminal: keys in, bytes out."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = "import sys; from agentsim.cli import main; sys.exit(main())"


class Terminal:
    """Starts ``agentsim tui`` with arguments. ``written`` is all that it has written so far."""

    def __init__(
        self,
        arguments: Sequence[str],
        width: int = 100,
        height: int = 30,
        environment: Mapping[str, str] | None = None,
        code: str = CODE,
    ) -> None:
        self.written = b""
        pid, self.file = pty.fork()
        if pid == 0:
            given = {"PATH": os.environ.get("PATH", ""), "HOME": os.environ["HOME"], "TZ": "UTC", "LANG": "C.UTF-8"}
            given |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT)}
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
            os.chdir(os.environ["HOME"])
            os.execve(sys.executable, [sys.executable, "-c", code, "tui", *arguments], given | dict(environment or {}))
        self.pid = pid
        self.before = termios.tcgetattr(self.file)
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def read(self, seconds: float) -> bytes:
        """What is written until nothing comes for a while."""
        begun = len(self.written)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and select.select([self.file], [], [], left)[0]:
            try:
                data = os.read(self.file, 65536)
            except OSError:  # the program has ended
                break
            if not data:
                break
            self.written += data
            end = min(end, time.monotonic() + 0.12)
        return self.written[begun:]

    def until(self, wanted: bytes, seconds: float = 30) -> None:
        """Wait until these bytes were written."""
        end = time.monotonic() + seconds
        while wanted not in self.written:
            assert time.monotonic() < end, f"{wanted!r} was not written; last: {self.written[-2000:]!r}"
            if select.select([self.file], [], [], 0.1)[0]:
                self.written += os.read(self.file, 65536)

    def press(self, keys: str, seconds: float = 0.5) -> bytes:
        """Type, and read what comes of it."""
        os.write(self.file, keys.encode())
        return self.read(seconds)

    def wait(self, seconds: float = 15) -> int:
        """The exit code; negative: the signal that killed it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.1)
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.read(0.3)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError("the program did not end")


SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[P_^X][^\x1b]*\x1b\\|[ -/]*[0-~])")
"""A control sequence: CSI, OSC, DCS and its like, or a short one."""

ALLOWED = re.compile(
    rb"\x1b(?:"
    rb"\[[0-9;]*m"  # colours
    rb"|\[[0-9]+;[0-9]+H|\[H"  # where to write
    rb"|\[\?(?:25|1000|1002|1003|1004|1006|1015|1016|1049|2004|2026|2048)[hl]"  # modes that are switched on and off
    rb"|\[\?(?:2026|2048)\$p"  # may this be switched on?
    rb"|\[>[0-9;]*u|\[<u|\[\?u|\[=[0-9;]*u"  # the keyboard
    rb"|\]22;(?:default|pointer|text|grab|grabbing)\x07"  # the shape of the mouse
    rb"|\[>4;[0-9]*m|\[c|\[>q|\[1?6t|\[14t|\[18t|\[\?7[hl]|\[2J"
    rb")\Z"
)


def strangers(written: bytes) -> list[bytes]:
    """Control sequences and control characters that the app has no use for."""
    found = [match[0] for match in SEQUENCE.finditer(written) if not ALLOWED.fullmatch(match[0])]
    rest = SEQUENCE.sub(b"", written).decode("utf-8", "replace")
    bad = [c for c in rest if (ord(c) < 32 and c not in "\r\n") or 0x7F <= ord(c) < 0xA0]
    hidden = "\u200b\u200d\u202e\u2066\u2069\u2028\ufeff\u061c"
    return found + [c.encode() for c in bad] + [c.encode() for c in rest if c in hidden]
