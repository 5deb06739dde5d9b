"""The commands that a harness starts several times a minute, without anything around them.

Started as a file by ``python -I -S``: the interpreter then looks for no packages, which takes longer than a status line
does. Whoever needs a package asks :mod:`agentsim.guard.installed_packages` first.
"""

from __future__ import annotations

import sys


def run(words: list[str]) -> int:
    """Run one of the commands. Nothing leaves it, whatever goes wrong: the harness must not notice."""
    try:
        if words[:1] == ["hook"]:
            from agentsim.guard.hook_answer import main as hook

            return hook()
        from agentsim.guard.status_line import main as status_line

        return status_line(words[1:])
    except Exception:  # whatever it is
        return 0


if __name__ == "__main__":
    # Two folders up: `-I` leaves it to the file to say where its package is.
    sys.path.insert(0, __file__.rpartition("agentsim")[0].rstrip("/\\") or ".")
    import os

    from agentsim.guard.at_once import run as run_it

    os._exit(run_it(sys.argv[1:]))
