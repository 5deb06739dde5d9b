"""The status line that was there before: run with the same document, and shown in front of ours."""

from __future__ import annotations

import os
import select
import time

LONGEST = 16_384
SECONDS = 3.0


def run(command: str, data: bytes) -> str:
    """What a command of the user's own writes for this document. It gets three seconds."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setsid()
            os.dup2(to_read, 0)
            os.dup2(from_write, 1)
            os.closerange(3, 256)
            os.execv("/bin/sh", ["/bin/sh", "-c", command])
        finally:
            os._exit(127)
    os.close(to_read)
    os.close(from_write)
    os.set_blocking(to_write, False)
    found, sent = b"", 0
    until = time.monotonic() + SECONDS
    writing = [to_write]
    while len(found) < LONGEST:
        readable, writable, _ = select.select([from_read], writing, [], max(until - time.monotonic(), 0))
        if writable:
            try:
                sent += os.write(to_write, data[sent : sent + 65_536])
            except OSError:
                sent = len(data)
            if sent >= len(data):
                os.close(to_write)
                writing = []
        if readable:
            part = os.read(from_read, 4096)
            if not part:
                break
            found += part
        if not readable and not writable:
            break
    os.close(from_read)
    if writing:
        os.close(to_write)
    done, _ = os.waitpid(child, os.WNOHANG)
    if not done:
        try:
            os.killpg(child, 15)
            os.waitpid(child, 0)
        except OSError:
            pass
    return found.decode("utf-8", "replace").rstrip("\n")
