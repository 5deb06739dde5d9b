"""``python -m agentsim``, and the command ``agentsim``."""

from __future__ import annotations

import os
import sys

AT_ONCE = ("statusline", "hook")
"""Commands that a harness starts several times a minute: they run without the command line around them."""


def run() -> int:
    """Run the program, and end the process at once: taking an interpreter apart object by object takes as long as a
    fifth of a short command. What asked to be called at the end is called; where other threads still run, or somebody
    watches the interpreter (a profiler, a debugger), it ends the usual way, by returning the exit code."""
    words = sys.argv[2:] if sys.argv[1:2] == ["guard"] else sys.argv[1:]
    if words[:1] and words[0] in AT_ONCE and "--help" not in words and "-h" not in words:
        code = at_once(words)
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


def at_once(words: list[str]) -> int:
    """Run one of the commands that import next to nothing."""
    try:
        if words[0] == "hook":
            from agentsim.guard.hook_answer import main as hook

            return hook()
        from agentsim.guard.status_line import main as status_line

        return status_line(words[1:])
    except Exception:  # whatever it is, the harness must not notice
        return 0


if __name__ == "__main__":
    sys.exit(run())
