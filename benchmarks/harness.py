"""What a simulated request costs, from a thousand to a million of them, and how fast a recorded session is replayed.

python -m benchmarks.harness --requests 1000 10000 100000 1000000

Seconds are processor time of this process (a simulation waits for nothing). Each size runs in a process of its own. The
last column sets it against SimPy alone: how many of its bare timeouts take as long as one simulated request.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Generator
from decimal import Decimal
from typing import Any

from agentsim.core.dates import SECOND
from agentsim.harness.plan import Plan, Population, PromptLayout, Service
from agentsim.harness.plan_run import simulate
from agentsim.harness.prompt_part import PromptPart
from agentsim.harness.random_draws import FixedNumber, lognormal
from agentsim.harness.step_sources import GeneratedTasks
from benchmarks.measure import markdown

HEADINGS = ["requests", "seconds", "µs a request", "against the smallest", "largest process", "SimPy timeouts"]
AGENT = 100
"""Requests of one agent: ten turns of nine rounds and a reply."""

BARE_TIMEOUTS = 300_000


def plan(requests: int) -> Plan:
    """Agents that start 20 s apart, with conversations that grow to some 150,000 tokens and pauses around 5 minutes."""
    source = GeneratedTasks(
        turns=FixedNumber(AGENT // 10),
        rounds=FixedNumber(9),
        result=lognormal(Decimal(800), Decimal(5_000)),
        tool_time=lognormal(Decimal(2), Decimal(20), unit=SECOND),
        pause=lognormal(Decimal(60), Decimal(400), unit=SECOND),
    )
    return Plan(
        name="benchmark",
        source=source,
        model="claude-opus-4-8",
        start=1_788_256_800 * SECOND,
        layout=PromptLayout(tools=(PromptPart("tools", 5_000),), system=(PromptPart("system", 2_000),)),
        service=Service(uncached_rate=10_000),
        population=Population(agents=max(1, requests // AGENT), gap=FixedNumber(20 * SECOND)),
    )


def measure(requests: int) -> dict[str, float]:
    """Seconds, requests and memory of one simulation in this process, after a small one that loads everything."""
    simulate(plan(AGENT), keep=False)
    begun = time.process_time()
    account = simulate(plan(requests), keep=False).account
    seconds = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"requests": account.total.requests, "seconds": seconds, "mebibytes": peak, "timeout": bare_timeout()}


def bare_timeout() -> float:
    """Seconds that SimPy takes for one timeout of a process that does nothing else."""
    import simpy

    environment = simpy.Environment()

    def idle() -> Generator[simpy.Event, Any, None]:
        for _ in range(BARE_TIMEOUTS):
            yield environment.timeout(1)

    environment.process(idle())
    begun = time.process_time()
    environment.run()
    return (time.process_time() - begun) / BARE_TIMEOUTS


def replayed(requests: int) -> list[list[str]]:
    """How fast a session of so many requests goes through the sorted scan and through the clock."""
    from agentsim.cache.modeled_provider import ModeledProvider
    from agentsim.cache.simulate import replay, scan

    session = simulate(plan(requests)).session
    lines = []
    for name, way in (("sorted scan", scan), ("SimPy clock", replay)):
        for price in (False, True):
            way(session, ModeledProvider(), price=price)
            begun = time.process_time()
            rows = way(session, ModeledProvider(), price=price).rows
            rate = len(rows) / (time.process_time() - begun)
            lines.append([name, "with prices" if price else "tokens only", f"{rate:,.0f}"])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Time simulations of growing size.")
    parser.add_argument("--requests", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--replay", type=int, default=20_000, help="requests of the session that is replayed")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(json.dumps(measure(given.one)))
        return
    lines: list[list[str]] = []
    smallest = None
    for requests in given.requests:
        command = [sys.executable, "-m", "benchmarks.harness", "--one", str(requests)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        each = found["seconds"] / found["requests"]
        smallest = smallest or each
        lines.append(
            [
                f"{found['requests']:,.0f}",
                f"{found['seconds']:.2f}",
                f"{each * 1e6:.1f}",
                f"{each / smallest:.2f}×",
                f"{found['mebibytes']:,.0f} MiB",
                f"{each / found['timeout']:.0f}",
            ]
        )
    print(markdown(lines, HEADINGS))
    print()
    print(markdown(replayed(given.replay), ["replay of a session", "", "requests/s"]))


if __name__ == "__main__":
    main()
