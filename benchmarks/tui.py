"""How fast the app is: first paint of the real program on a pseudo-terminal, large tables, filters, keys.

    python -m benchmarks.tui [--rounds 5] [--folder LOGS]

Sessions of any size are made in memory; what is timed is the app, from its start to the first frame that holds rows.
A folder of logs (``benchmarks.logs_corpus`` makes one) tells how long keys wait while its sessions are listed.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from pathlib import Path

from agentsim.core.dates import SECOND
from agentsim.core.session import Lane, Request, Row, Session, Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose import Diagnosis
from agentsim.diagnose.diagnosis_totals import Totals

SAMPLE = "traces/samples/atlas-14.jsonl"
WIDTH, HEIGHT = 140, 45


def large(count: int) -> Diagnosis:
    """A judged session of so many rows; one in seventeen is a miss. Rows share what real rows share."""
    lanes = tuple(Lane(id=f"lane {n}", title=f"lane {n}") for n in range(8))
    start = 1_780_000_000 * SECOND
    requests, rows, verdicts = [], [], []
    hit, miss = (
        Usage(fresh=3, write_short=1200, read=48_000, output=300),
        Usage(fresh=3, write_short=49_200, read=0, output=9),
    )
    for n in range(count):
        lost = n % 17 == 16
        usage = miss if lost else hit
        when = start + n * 7 * SECOND
        request = Request(
            id=f"req_{n:08d}",
            lane=lanes[n % 8].id,
            model="claude-opus-4-8",
            start=when,
            end=when + 3 * SECOND,
            usage=usage,
        )
        requests.append(request)
        rows.append(Row(request=request, usage=usage, start=when, first_token=None, end=when + 3 * SECOND, cost=10**10))
        verdicts.append(
            Verdict(request=request.id, kind="miss", cause="AS201", evidence="implied", lost=48_000, lost_cost=10**11)
            if lost
            else Verdict(request=request.id, kind="hit")
        )
    session = Session(
        id="large", format="agentsim/1", completeness="usage", lanes=lanes, requests=tuple(requests), title="large"
    )
    return Diagnosis(
        session=session, rows=tuple(rows), verdicts=tuple(verdicts), totals=Totals(requests=count), by_bodies=False
    )


async def paint(diagnosis: Diagnosis) -> dict[str, float]:
    """Seconds to the first frame with rows, to filter to the misses, to search, and for a key, at the widget."""
    from agentsim.tui.trace.trace_screen import TraceScreen
    from agentsim.tui.tui_app import AgentsimApp, Launch

    app = AgentsimApp(Launch(diagnoses=(diagnosis,)))
    times: dict[str, float] = {}
    began = time.perf_counter()
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        while not (isinstance(app.screen, TraceScreen) and "$" in app.screen.grid.render_line(5).text):
            await asyncio.sleep(0)
        times["rows painted"] = time.perf_counter() - began
        screen = app.screen
        assert isinstance(screen, TraceScreen)
        await pilot.pause(0.6)  # the look-up in the background
        for name, action in (
            ("filter to misses", screen.action_only_misses),
            ("all rows again", screen.action_only_misses),
        ):
            began = time.perf_counter()
            action()
            screen.grid.render_line(5)
            times[name] = time.perf_counter() - began
        began = time.perf_counter()
        screen.rows.wanted = "req_00000"
        screen._rearrange()
        times["filter by text"] = time.perf_counter() - began
        screen.rows.wanted = ""
        screen._rearrange()
        began = time.perf_counter()
        screen.action_miss(1)
        times["next miss"] = time.perf_counter() - began
        began = time.perf_counter()
        for _ in range(200):
            screen.grid.action_move(1)
            for y in range(HEIGHT // 2):
                screen.grid.render_line(y)
        times["a key, drawn"] = (time.perf_counter() - began) / 200
    return times


class Terminal:
    """The real program on a pseudo-terminal."""

    def __init__(self, arguments: list[str], width: int = WIDTH, height: int = HEIGHT) -> None:
        self.began = time.perf_counter()
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
            environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": os.getcwd()}
            os.execve(sys.executable, [sys.executable, "-m", "agentsim.cli", "tui", *arguments], environment)
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def until(self, wanted: bytes, limit: float = 20) -> float:
        """Seconds from the start until these bytes were written."""
        seen = b""
        while time.perf_counter() - self.began < limit:
            if select.select([self.file], [], [], 0.05)[0]:
                seen += os.read(self.file, 65536)
                if wanted in seen:
                    return time.perf_counter() - self.began
        raise TimeoutError(f"{wanted!r} was not painted in {limit} s")

    def answer(self, key: bytes) -> float:
        """Seconds from a key to the first bytes of the answer."""
        self.quiet(0.15)
        began = time.perf_counter()
        os.write(self.file, key)
        select.select([self.file], [], [], 5)
        return time.perf_counter() - began

    def read(self, seconds: float) -> bytes:
        """What is written until something comes; nothing where nothing does."""
        return os.read(self.file, 65536) if select.select([self.file], [], [], seconds)[0] else b""

    def quiet(self, seconds: float) -> None:
        """Wait until nothing was written for so long."""
        while self.read(seconds):
            pass

    def end(self) -> None:
        """End the program."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.file)


def median(rounds: int, measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(rounds))


def start_up(rounds: int) -> None:
    """Print first paint and key latency of the real program."""

    def first_paint() -> float:
        terminal = Terminal([SAMPLE])
        try:
            return terminal.until(b"reading")
        finally:
            terminal.end()

    def with_rows() -> float:
        terminal = Terminal([SAMPLE])
        try:
            return terminal.until(b"AS502")
        finally:
            terminal.end()

    print(f"first paint           {median(rounds, first_paint):.3f} s")
    print(f"rows of a small file  {median(rounds, with_rows):.3f} s")
    terminal = Terminal([SAMPLE])
    terminal.until(b"AS502")
    times = sorted(terminal.answer(b"j" if n % 2 else b"k") for n in range(30))
    terminal.end()
    print(f"a key answered        {times[15] * 1000:.1f} ms median, {times[28] * 1000:.1f} ms 95th percentile")


_MARK = re.compile("▌(?:\x1b\\[[0-9;]*m)*( |●)".encode())
_HEADING = re.compile(" · sessions(?:\x1b\\[[0-9;]*m| )*(█|░|)".encode())


def while_listing(folder: str) -> tuple[list[float], float]:
    """Seconds from each key to its answer while the sessions of a folder are listed, and until all are there.

    The key is the space bar, which marks the session under the cursor and unmarks it: its answer shows on the line of
    the cursor alone, whatever else is drawn meanwhile.
    """
    terminal = Terminal([folder])
    try:
        terminal.until("▌".encode())
        os.write(terminal.file, b"j")  # from now on the cursor stays with its session
        seen, before, shown, pressed = b"", b" ", b" ", 0.0
        times: list[float] = []
        pause = time.perf_counter() + 0.1
        while True:
            seen = seen[-4096:] + terminal.read(0.002)
            now = time.perf_counter()
            shown = (_MARK.findall(seen) or [shown])[-1]
            if pressed and shown != before:
                times.append(now - pressed)
                pressed, pause = 0.0, now + 0.005 + 0.003 * (len(times) % 10)
            bar = _HEADING.findall(seen)
            if bar and not bar[-1]:
                return times, now - terminal.began
            if now > terminal.began + 60:
                raise TimeoutError("the sessions were not listed in 60 s")
            if not pressed and now > pause:
                before, pressed = shown, time.perf_counter()
                os.write(terminal.file, b" ")
    finally:
        terminal.end()


def keys_while_listing(folder: str, rounds: int) -> None:
    """Print how long keys wait while a folder is listed."""
    runs = [while_listing(folder) for _ in range(rounds)]
    times = sorted(seconds for keys, _ in runs for seconds in keys)
    last = len(times) - 1
    print(
        f"while listing         {times[last // 2] * 1000:.1f} ms median, {times[last * 99 // 100] * 1000:.1f} ms 99th "
        f"percentile, {times[last] * 1000:.1f} ms worst of {len(times)} keys"
    )
    print(f"all sessions listed   {statistics.median(took for _, took in runs):.2f} s")


def after_an_append(folder: Path, requests: int, rounds: int) -> list[float]:
    """Seconds from the append of one request to a log that is followed to its row on the screen."""
    from benchmarks.logs_corpus import write

    write(folder, "source", 1, 1, requests + rounds)
    (log,) = folder.glob("projects/*/*.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    begun = 3 * requests  # a prompt and two rows of a reply each
    log.write_bytes(b"".join(lines[:begun]))
    terminal = Terminal(["--follow", str(log)])
    try:
        terminal.until(f"{requests:,} requests".encode())
        times = []
        for number in range(1, rounds + 1):
            terminal.quiet(0.5)
            with log.open("ab") as file:
                file.write(b"".join(lines[begun : begun + 3]))
            begun += 3
            appended = time.perf_counter()
            terminal.until(f"{requests + number:,} requests".encode(), appended + 20 - terminal.began)
            times.append(time.perf_counter() - appended)
        return times
    finally:
        terminal.end()


def follow_a_log(rounds: int, requests: int = 8_000) -> None:
    """Print how soon a row is shown of a log that grows."""
    with tempfile.TemporaryDirectory() as folder:
        times = after_an_append(Path(folder), requests, rounds)
        size = sum(file.stat().st_size for file in Path(folder).glob("projects/*/*"))
    print(
        f"appended, then shown  {statistics.median(times):.3f} s median, {max(times):.3f} s worst of {rounds}, "
        f"in a log of {size // 10**6} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--folder", help="logs to list")
    options = parser.parse_args()
    start_up(options.rounds)
    follow_a_log(options.rounds)
    if options.folder:
        keys_while_listing(options.folder, options.rounds)
    for count in options.rows:
        diagnosis = large(count)
        times = [asyncio.run(paint(diagnosis)) for _ in range(max(options.rounds // 2, 1))]
        print(f"{count:,} rows: " + ", ".join(f"{k} {min(t[k] for t in times):.3f} s" for k in times[0]))


if __name__ == "__main__":
    main()
