"""Every table of docs/benchmarks.md, made anew by one command, on one machine, which is named.

    python -m benchmarks.everything --peers ~/peers/bin --npm ~/peers/node_modules/.bin --page docs/benchmarks.md

``--peers`` is the ``bin`` of a virtual environment with kvleak, promptcachelint, replay-doctor, cachemiss and
kvcache-simulator, ``--npm`` a folder with ccusage: what is missing is left out. Run it on a machine that does
nothing else; it takes about a quarter of an hour.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import put_into

QUIET = "TZ=UTC NO_COLOR=1"


def machine() -> str:
    """The machine in a line: processor, cores, memory, system, Python."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        name = models[0] if models else name
    cores = len(os.sched_getaffinity(0))
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{name}, {cores} cores, {pages / 2**30:.0f} GiB, {platform.system()}, Python {platform.python_version()}"


def version(program: Path) -> str:
    """What a program calls its version, or nothing."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except OSError:
        return ""
    found = re.search(r"\d+\.\d+[\w.]*", done.stdout) if done.returncode == 0 else None
    return f" {found[0]}" if found else ""


class Peers:
    """The programs that are there to compare with."""

    def __init__(self, python: Path | None, npm: Path | None) -> None:
        self._folders = [folder for folder in (python, npm) if folder is not None]

    def options(self, name: str, command: str, option: str = "--peer", label: str | None = None) -> Iterator[str]:
        """The option for a program, when it is there; ``{program}`` in the command is its path."""
        for folder in self._folders:
            program = folder / name
            if program.exists():
                title = name if label == "" else f"{label or name}{version(program)}"
                yield option
                yield f"{title}={command.format(program=program, corpus='{corpus}', trace='{trace}')}"
                return


def runs(peers: Peers, corpus: Path | None) -> Iterator[tuple[str, list[str]]]:
    """Each benchmark and its arguments."""
    ccusage = f"CLAUDE_CONFIG_DIR={{corpus}} {QUIET} {{program}} claude daily --offline"
    fresh, gone = "export HOME=$(mktemp -d);", "&& rm -r $HOME"
    summary = [
        *peers.options("ccusage", ccusage),
        *peers.options("kvleak", "{program} audit --path {corpus}/projects"),
        # It keeps an index of what it read: a new home each time, so that it reads.
        *peers.options("replay-doctor", f"sh -c '{fresh} {{program}} cost {{corpus}}/projects {gone}'"),
        *peers.options("cachemiss", f"{QUIET} {{program}} --root {{corpus}}/projects ledger --since all"),
    ]
    yield "summary", [*summary, "--rounds", "5", *(["--corpus", str(corpus)] if corpus is not None else [])]
    yield (
        "startup",
        [
            option
            for name in ("kvleak", "promptcachelint", "ccusage")
            for option in peers.options(name, "{program} --help")
        ],
    )
    yield "bodies", [*peers.options("promptcachelint", "{program} report {trace}")]
    yield "check", []
    yield "serving", []
    yield "scaling", []
    yield "fleet", ["--mixed"]


def main() -> None:
    parser = argparse.ArgumentParser(description="Make every table of docs/benchmarks.md anew.")
    parser.add_argument("--peers", type=Path, help="a folder with programs from PyPI")
    parser.add_argument("--npm", type=Path, help="a folder with programs from npm")
    parser.add_argument("--corpus", type=Path, help="a folder with projects/, instead of written corpora")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="only these benchmarks")
    parser.add_argument("--page", type=Path, metavar="FILE", help="put the tables between the markers in this file")
    given = parser.parse_args()
    failed = []
    for name, arguments in runs(Peers(given.peers, given.npm), given.corpus):
        if given.only and name not in given.only:
            continue
        command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
        if given.page is not None:
            command += ["--page", str(given.page)]
        print(f"\n{name}", flush=True)
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
    if given.page is not None:
        put_into(given.page, "machine", f"Measured on: {machine()}.")
    print(f"\n{machine()}")
    if failed:
        sys.exit(f"error: these failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
