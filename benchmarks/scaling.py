"""Whether time and memory grow with the work and no faster: requests of a session, blocks of a request, lanes.

    python -m benchmarks.scaling

Each size is run in a process of its own. The last column is what a unit of work costs at the largest size over what it
costs at the smallest: 1 is linear growth.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.measure import BenchmarkError, finish, markdown

if TYPE_CHECKING:
    from agentsim.core.prompt import Section
    from agentsim.core.session import Session

HEADINGS = ["what grows", "sizes", "per request or block", "peak at the largest", "cost of a unit, largest ÷ smallest"]

SIZES = {"requests": (500, 1_000, 2_000, 4_000, 8_000), "blocks": (20, 80, 320, 1_280), "lanes": (1, 10, 100, 1_000)}


def session_of(requests: int, blocks: int, lanes: int) -> Session:
    """A session with bodies: every request grows its lane by so many blocks, and marks the end."""
    from agentsim.core.prompt import Block, Breakpoint, Prompt
    from agentsim.core.session import Lane, Request, Session

    def block(name: str, tokens: int, section: Section = "messages") -> Block:
        digest = blake2b(name.encode(), digest_size=16).digest()
        role = "user" if section == "messages" else None
        return Block(section=section, kind="text", digest=digest, role=role, tokens=tokens, origin="measured")

    made = []
    prompts: dict[int, Prompt] = {}
    parents: dict[int, str] = {}
    head = Prompt.of([block("head", 4_000, "system")])
    for number in range(requests):
        lane = number % lanes
        new = [block(f"{lane} {number} {at}", 200) for at in range(blocks)]
        before = prompts.get(lane, head)
        prompt = before.extend(new, [Breakpoint(0, 300), Breakpoint(len(before) + len(new) - 1, 300)])
        prompts[lane] = prompt
        made.append(
            Request(
                id=f"r{number}",
                lane=f"l{lane}",
                model="claude-opus-4-8",
                start=number * 10**9,
                end=number * 10**9 + 5 * 10**8,
                parent=parents.get(lane),
                prompt=prompt,
            )
        )
        parents[lane] = f"r{number}"
    kept = tuple(Lane(id=f"l{lane}", title="lane") for lane in range(lanes))
    return Session(id="s", format="agentsim/1", completeness="full", lanes=kept, requests=tuple(made))


def measure(kind: str, size: int) -> None:
    """Judge one session and print its time (s) and peak (MiB) as JSON."""
    import resource

    from agentsim.diagnose import diagnose

    given = {"requests": (size, 4, 1), "blocks": (400, size, 1), "lanes": (4_000, 4, size)}[kind]
    session = session_of(*given)
    began = time.perf_counter()
    diagnose(session)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([seconds, peak]))


def units(kind: str, size: int) -> int:
    """How much work a size is: requests, or blocks that were added."""
    return {"requests": size, "blocks": 400 * size, "lanes": 4_000}[kind]


def line(kind: str, rounds: int, run: Callable[[str, int], tuple[float, float]]) -> list[str]:
    """The line of one kind of growth."""
    sizes = SIZES[kind]
    timed = {size: [run(kind, size) for _ in range(rounds)] for size in sizes}
    cost = {size: median(seconds for seconds, _ in timed[size]) / units(kind, size) for size in sizes}
    peak = max(memory for _, memory in timed[sizes[-1]])
    shown = ", ".join(f"{size:,}" for size in sizes)
    each = ", ".join(f"{cost[size] * 1e6:.1f}" for size in sizes)
    return [f"{kind}", shown, f"{each} µs", f"{peak:.0f} MiB", f"**{cost[sizes[-1]] / cost[sizes[0]]:.2f}×**"]


def child(kind: str, size: int) -> tuple[float, float]:
    """One measurement in a new process. Raises BenchmarkError when it fails."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--measure", kind, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchmarkError(done.stderr[-500:])
    seconds, peak = json.loads(done.stdout)
    return seconds, peak


def main() -> None:
    parser = argparse.ArgumentParser(description="Show how the cost of a diagnosis grows.")
    parser.add_argument("--measure", nargs=2, metavar=("KIND", "SIZE"), help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--page", type=Path, metavar="FILE", help="put the table between the markers in this file")
    given = parser.parse_args()
    if given.measure is not None:
        measure(given.measure[0], int(given.measure[1]))
        return
    try:
        finish("scaling", markdown([line(kind, given.rounds, child) for kind in SIZES], HEADINGS), given.page)
    except BenchmarkError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
