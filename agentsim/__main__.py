"""``python -m agentsim``, and the command ``agentsim``."""

from __future__ import annotations

import os
import sys


def run() -> int:
    """Run the program, and end the process at once: taking an interpreter apart object by object takes as long as a
    fifth of a short command. What asked to be called at the end is called; where other threads still run, or somebody
    watches the interpreter (a profiler, a debugger), it ends the usual way, by returning the exit code."""
    words = sys.argv[2:] if sys.argv[1:2] == ["guard"] else sys.argv[1:]
    if words[:1] in (["statusline"], ["hook"]) and "--help" not in words and "-h" not in words:
        from agentsim.guard.at_once import run as run_at_once

        code = run_at_once(words)
        if sys.getprofile() is None and sys.gettrace() is None:
            os._exit(code)
        return code
    import atexit
    import threading

    from agentsim.core.garbage_collection import search_seldom

    search_seldom()
    from agentsim.cli import main

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
