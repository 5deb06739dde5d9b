"""``python -m agentsim``, and the command ``agentsim``."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading

# What is made while a program starts lives on: looking for garbage in it costs a twentieth of the start.
gc.set_threshold(5_000)

from agentsim.cli import main  # noqa: E402


def run() -> int:
    """Run the program, and end the process at once: taking an interpreter apart object by object takes as long as a
    fifth of a short command. What asked to be called at the end is called; where other threads still run, or somebody
    watches the interpreter (a profiler, a debugger), it ends the usual way, by returning the exit code."""
    code = main()
    if threading.active_count() > 1 or sys.getprofile() is not None or sys.gettrace() is not None:
        return code
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return code  # as the interpreter itself tells it
    os._exit(code)


if __name__ == "__main__":
    sys.exit(run())
