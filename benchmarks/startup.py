"""How long it takes to print help: what each use of a command pays before it does anything.

python -m benchmarks.startup --peer 'kvleak=kvleak --help' --peer 'promptcachelint=promptcachelint --help'
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.measure import BenchmarkError, Program, add_common_options, finish, markdown, race

HEADINGS = ["`--help` of", "time", "largest process", "ours ÷ theirs"]


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the start of agentsim beside other programs'.")
    add_common_options(parser)
    parser.set_defaults(rounds=15)
    given = parser.parse_args()
    installed = Path(sys.executable).with_name("agentsim")
    command = str(installed) if installed.exists() else f"{sys.executable} -m agentsim"
    ours = given.ours or f"agentsim={command} --help"
    try:
        timings = race([Program.parse(text) for text in (ours, *given.peer)], given.rounds)
        lines = [
            [
                timing.program.name,
                f"{timing.seconds * 1000:.0f} ms",
                f"{timing.mebibytes:.0f} MiB",
                "" if timing is timings[0] else "**{:.2f}×** ({:.2f}–{:.2f})".format(*timings[0].ratio_to(timing)),
            ]
            for timing in timings
        ]
        finish("startup", markdown(lines, HEADINGS), given.page)
    except BenchmarkError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
