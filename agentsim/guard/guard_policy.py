"""From which price on a hook says something: a small file of limits in dollars and tokens.

``guard.toml`` in the folder of agentsim's settings (``AGENTSIM_GUARD`` names another). Compiled once for each change
(:mod:`agentsim.guard.limits_file`), because reading TOML takes longer than the rest of a hook.
"""

from __future__ import annotations

import os

from agentsim.guard.light_json import count, table
from agentsim.guard.model_prices import PICODOLLARS
from agentsim.guard.private_files import place, read_table, write_table

VARIABLE = "AGENTSIM_GUARD"
LEVELS = ("warn", "ask", "block")
Table = dict[str, object]

DEFAULT: Table = {"warn": {"dollars": PICODOLLARS // 2}}
"""Without a file: a sentence from half a dollar on, and nothing else."""


def policy_file() -> str:
    """Where the policy stands, whether it is there or not."""
    named = os.environ.get(VARIABLE)
    if named:
        return named
    home = os.environ.get("HOME") or os.path.expanduser("~")
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(base, "agentsim", "guard.toml")


def load_policy(*, hurried: bool = False) -> Table:
    """The limits in force, in picodollars and tokens. Raises WrittenFileError.

    ``hurried``: a file that was found wrong before is not read again; the default holds.
    """
    path = policy_file()
    try:
        status = os.stat(path)
    except OSError:
        return DEFAULT
    stamp = f"{status.st_mtime_ns}.{status.st_size}.{path}"
    compiled = place("policy.json")
    known = read_table(compiled)
    if known.get("stamp") == stamp and (hurried or "wrong" not in known):
        return table(known, "limits")
    from agentsim.guard.installed_packages import packages

    packages()
    from agentsim.core.written_files import read_text
    from agentsim.guard.limits_file import compile_policy

    try:
        limits = compile_policy(read_text(path), path)
    except ValueError:
        write_table(compiled, {"stamp": stamp, "limits": DEFAULT, "wrong": 1})
        raise
    write_table(compiled, {"stamp": stamp, "limits": limits})
    return limits


def level_of(limits: Table, cost: int | None, tokens: int) -> str | None:
    """What an act of this price calls for: ``block``, ``ask``, ``warn``, or nothing."""
    for level in reversed(LEVELS):
        named = table(limits, level)
        dollars, most = count_large(named, "dollars"), count(named, "tokens")
        if (dollars is not None and cost is not None and cost >= dollars) or (most is not None and tokens >= most):
            return level
    return None


def count_large(value: object, key: str) -> int | None:
    """A whole number from 0 up, however large."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if type(found) is int and found >= 0 else None
