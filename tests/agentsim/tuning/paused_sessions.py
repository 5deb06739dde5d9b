"""Sessions whose bill follows from their pauses by a sum that fits on a line."""

from __future__ import annotations

from agentsim.core.session import Lane, Request, Session, Usage

SECOND = 10**9
DAY = 86_400 * SECOND
START = 1_780_000_000 * SECOND
HEAD, STEP = 6_000, 2_000


def paused(number, pauses, lifetime=300, model="claude-opus-4-8", version="2.1.300", day=None):
    """A conversation of one lane: its prompt grows by STEP, and after a pause that its lifetime does not outlast all of
    it is written again."""
    at = START + (number if day is None else day) * DAY
    requests = []
    for turn in range(len(pauses) + 1):
        if turn:
            at += pauses[turn - 1] * SECOND
        total = HEAD + STEP * turn
        read = total - STEP if turn and pauses[turn - 1] < lifetime else 0
        written = total - read
        usage = Usage(
            fresh=0,
            read=read,
            write_short=written if lifetime == 300 else 0,
            write_long=written if lifetime == 3600 else 0,
            output=100,
        )
        requests.append(
            Request(
                id=f"s{number}r{turn}",
                lane="main",
                model=model,
                start=at,
                end=at + 5 * SECOND,
                parent=f"s{number}r{turn - 1}" if turn else None,
                usage=usage,
                stop_reason="tool_use",
                harness_version=version,
            )
        )
        at += 5 * SECOND
    return Session(
        id=f"session-{number}",
        format="agentsim/1",
        harness="claude-code",
        completeness="usage",
        lanes=(Lane(id="main", title="main"),),
        requests=tuple(requests),
    )
