"""From which price on a hook says something: a small file of limits in dollars and tokens.

``guard.toml`` in the folder of agentsim's settings (``AGENTSIM_GUARD`` names another). Compiled once for each change,
because reading TOML takes longer than the rest of a hook.
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

EXAMPLE = """\
# Limits of 'agentsim hook'. A level applies from whichever of its limits is reached first.
[warn]             # one sentence, and the act goes on
dollars = "0.50"

# [ask]            # a question; a prompt is sent by entering it again
# dollars = "2.00"
# tokens = 300_000

# [block]          # the act does not happen
# dollars = "20.00"

# [budget]         # no further prompt, and no further tool, once this much was spent
# session = "25.00"
# day = "100.00"
"""


class GuardPolicyError(ValueError):
    """A policy file that cannot be used, and why."""


def policy_file() -> str:
    """Where the policy stands, whether it is there or not."""
    named = os.environ.get(VARIABLE)
    if named:
        return named
    home = os.environ.get("HOME") or os.path.expanduser("~")
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(base, "agentsim", "guard.toml")


def load_policy() -> Table:
    """The limits in force, in picodollars and tokens. Raises GuardPolicyError for a file that is wrong."""
    path = policy_file()
    try:
        status = os.stat(path)
    except OSError:
        return DEFAULT
    stamp = f"{status.st_mtime_ns}.{status.st_size}.{path}"
    compiled = place("policy.json")
    known = read_table(compiled)
    if known.get("stamp") == stamp:
        return table(known, "limits")
    with open(path, encoding="utf-8") as file:
        limits = compile_policy(file.read())
    write_table(compiled, {"stamp": stamp, "limits": limits})
    return limits


def compile_policy(words: str) -> Table:
    """The limits that a policy states. Raises GuardPolicyError."""
    import tomllib

    try:
        stated = tomllib.loads(words)
    except tomllib.TOMLDecodeError as error:
        raise GuardPolicyError(f"not TOML: {error}") from None
    found: Table = {}
    for name, limits in stated.items():
        keys = ("session", "day") if name == "budget" else ("dollars", "tokens")
        if name not in (*LEVELS, "budget") or not isinstance(limits, dict):
            raise GuardPolicyError(f"[{name}]: there are [warn], [ask], [block] and [budget]")
        made: Table = {}
        for key, value in limits.items():
            if key not in keys:
                raise GuardPolicyError(f"{name}.{key}: there are {' and '.join(keys)}")
            made[key] = _tokens(value, f"{name}.{key}") if key == "tokens" else _money(value, f"{name}.{key}")
        found[name] = made
    return found


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


def _money(value: object, where: str) -> int:
    """Exact dollars as picodollars: text such as "0.50", or a whole number."""
    words = str(value) if type(value) is int else value
    if isinstance(words, str) and len(words) <= 20:
        whole, _, part = words.partition(".")
        if (whole + part).isdecimal() and words.isascii() and whole and len(part) <= 12:
            return int(whole) * PICODOLLARS + int(part.ljust(12, "0"))
    raise GuardPolicyError(f'{where}: not an amount; write dollars as text, "0.50"')


def _tokens(value: object, where: str) -> int:
    if type(value) is int and value >= 0:
        return value
    raise GuardPolicyError(f"{where}: not a number of tokens")
