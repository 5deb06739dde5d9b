"""Where each harness keeps its logs on a machine: its environment variable, or the usual folder.

The places are those of docs/formats.md. Nothing is read here; a place is named where it is there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple


class HarnessPlaces(NamedTuple):
    """The places of one harness. ``variables`` are pairs of an environment variable that names its folder and what
    stands inside that; ``usual`` are paths below the home folder, looked at where no variable is set."""

    harness: str
    variables: tuple[tuple[str, str], ...]
    usual: tuple[str, ...]


class FoundPlace(NamedTuple):
    """A place that is there: a folder of logs, or a database."""

    harness: str
    path: str


_CODE = (".config/Code/User/globalStorage", "Library/Application Support/Code/User/globalStorage")

PLACES: tuple[HarnessPlaces, ...] = (
    HarnessPlaces("Codex", (("CODEX_HOME", "sessions"), ("CODEX_HOME", "archived_sessions")), (
        ".codex/sessions", ".codex/archived_sessions",
    )),
    HarnessPlaces("Pi", (), (".pi/agent/sessions",)),
    HarnessPlaces("OpenCode", (("XDG_DATA_HOME", "opencode/opencode.db"), ("XDG_DATA_HOME", "opencode/storage")), (
        ".local/share/opencode/opencode.db", ".local/share/opencode/storage",
    )),
    HarnessPlaces("Gemini CLI", (), (".gemini/tmp",)),
    HarnessPlaces("Qwen Code", (), (".qwen/projects",)),
    HarnessPlaces("Copilot CLI", (), (".copilot/session-state",)),
    HarnessPlaces("Cline", (), tuple(f"{root}/saoudrizwan.claude-dev/tasks" for root in _CODE)),
    HarnessPlaces("Roo Code", (), tuple(f"{root}/rooveterinaryinc.roo-cline/tasks" for root in _CODE)),
    HarnessPlaces("Kilo Code", (), tuple(f"{root}/kilocode.kilo-code/tasks" for root in _CODE)),
)  # fmt: skip
"""All harnesses but Claude Code, whose reader knows its own folders."""


def found_places(environment: Mapping[str, str] | None = None) -> list[FoundPlace]:
    """The places that are there on this machine, Claude Code's first. Of one harness's database and the older files
    that it took the place of, only the database is named."""
    from agentsim.traces.readers.claude_code.claude_files import default_roots

    environment = os.environ if environment is None else environment
    home = environment.get("HOME") or os.path.expanduser("~")
    found = [FoundPlace("Claude Code", root) for root in default_roots(environment) if os.path.isdir(root)]
    for places in PLACES:
        named = [
            os.path.join(environment[variable], inside)
            for variable, inside in places.variables
            if environment.get(variable)
        ]
        paths = [
            path for path in named or (os.path.join(home, place) for place in places.usual) if os.path.exists(path)
        ]
        databases = [path for path in paths if path.endswith(".db")]
        found += [FoundPlace(places.harness, path) for path in databases or paths]
    return found


def count_logs(place: FoundPlace) -> int:
    """How many files in a place have a name that a log may have."""
    from agentsim.traces.log_walk import find

    return len(find((place.path,), lambda _problem: None))


def newest_log(paths: Sequence[str]) -> str | None:
    """The log in these places that was written to last and is of a known format; ``None`` where there is none."""
    from agentsim.traces.format_registry import detect
    from agentsim.traces.log_walk import find

    dated = []
    for file in find(paths, lambda _problem: None):
        with suppress(OSError):
            dated.append((os.stat(file.path).st_mtime_ns, file.path))
    for _, path in sorted(dated, reverse=True):
        with suppress(OSError):
            if detect(path) is not None:
                return path
    return None
