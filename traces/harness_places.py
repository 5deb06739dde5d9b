"""Where each harness keeps its logs on a machine: its environment variable, or the usual folder.

The places are those of docs/formats.md. No log is read here; a place is named where it is there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec


class HarnessPlaces(NamedTuple):
    """The places of one harness. ``variables`` are pairs of an environment variable that names its folder and what
    stands inside that; ``usual`` are paths below the home folder, looked at where no variable is set; ``here`` are
    paths below the working folder. ``unread`` says why its logs are not read, where they are not."""

    harness: str
    variables: tuple[tuple[str, str], ...]
    usual: tuple[str, ...]
    here: tuple[str, ...] = ()
    unread: str = ""


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
    HarnessPlaces("Kimi", (("KIMI_SHARE_DIR", "sessions"), ("KIMI_CODE_HOME", "sessions")), (
        ".kimi/sessions", ".kimi-code/sessions",
    )),
    HarnessPlaces("OpenHands", (
        ("OPENHANDS_CONVERSATIONS_DIR", ""), ("OPENHANDS_PERSISTENCE_DIR", "conversations"),
    ), (".openhands/conversations",)),
    HarnessPlaces("mini-swe-agent", (("MSWEA_GLOBAL_CONFIG_DIR", "last_mini_run.traj.json"),), (
        ".config/mini-swe-agent/last_mini_run.traj.json",
        "Library/Application Support/mini-swe-agent/last_mini_run.traj.json",
    )),
    HarnessPlaces("Copilot CLI", (), (".copilot/session-state",)),
    HarnessPlaces("Cline", (), tuple(f"{root}/saoudrizwan.claude-dev/tasks" for root in _CODE)),
    HarnessPlaces("Roo Code", (), tuple(f"{root}/rooveterinaryinc.roo-cline/tasks" for root in _CODE)),
    HarnessPlaces("Kilo Code", (), tuple(f"{root}/kilocode.kilo-code/tasks" for root in _CODE)),
    HarnessPlaces("Crush", (), (), (".crush/crush.db",)),
    HarnessPlaces("Goose", (
        ("GOOSE_PATH_ROOT", "data/sessions/sessions.db"), ("XDG_DATA_HOME", "goose/sessions/sessions.db"),
    ), (".local/share/goose/sessions/sessions.db",),
        unread="it counts whole sessions and not their requests, so that no lost cache shows"),
)  # fmt: skip
"""All harnesses but Claude Code, whose reader knows its own folders."""

_CRUSH_PROJECTS = (("CRUSH_GLOBAL_DATA", "projects.json"), ("XDG_DATA_HOME", "crush/projects.json"))
_CRUSH_USUAL = ".local/share/crush/projects.json"
"""Where Crush lists the folders of its projects, each with a database."""


def found_places(environment: Mapping[str, str] | None = None) -> list[FoundPlace]:
    """The places that are there on this machine, Claude Code's first. Of one harness's database and the older files
    that it took the place of, only the database is named."""
    from agentsim.traces.readers.claude_code.claude_files import default_roots

    environment = os.environ if environment is None else environment
    found = [FoundPlace("Claude Code", root) for root in default_roots(environment) if os.path.isdir(root)]
    for places in PLACES:
        if places.unread:
            continue
        paths = _there(places, environment)
        if places.harness == "Crush":
            paths = list(dict.fromkeys([*map(os.path.abspath, paths), *_crush_databases(environment)]))
        databases = [path for path in paths if path.endswith(".db")]
        found += [FoundPlace(places.harness, path) for path in databases or paths]
    return found


def unread_places(environment: Mapping[str, str] | None = None) -> list[tuple[FoundPlace, str]]:
    """Places of logs that are there and are not read, each with the reason and what can be done."""
    environment = os.environ if environment is None else environment
    found = [
        (FoundPlace(places.harness, path), places.unread)
        for places in PLACES
        if places.unread
        for path in _there(places, environment)
    ]
    branch = _entire_branch(os.getcwd())
    if branch is not None:
        how = f"a branch of this repository: 'git worktree add ../checkpoints {branch}', then name ../checkpoints"
        found.append((FoundPlace("Entire checkpoints", branch), how))
    return found


def _home(environment: Mapping[str, str]) -> str:
    return environment.get("HOME") or os.path.expanduser("~")


def _there(places: HarnessPlaces, environment: Mapping[str, str]) -> list[str]:
    named = [
        os.path.join(environment[variable], inside).rstrip(os.sep)
        for variable, inside in places.variables
        if environment.get(variable)
    ]
    usual = [os.path.join(_home(environment), place) for place in places.usual]
    return [path for path in (*(named or usual), *places.here) if os.path.exists(path)]


def _crush_databases(environment: Mapping[str, str]) -> list[str]:
    """The databases of the projects that Crush has listed; none where the list cannot be read."""
    lists = [os.path.join(environment[name], inside) for name, inside in _CRUSH_PROJECTS if environment.get(name)]
    found = []
    for path in lists or [os.path.join(_home(environment), _CRUSH_USUAL)]:
        with suppress(OSError, msgspec.MsgspecError):
            with open(path, "rb") as file:
                listed = msgspec.json.decode(file.read(MOST_LISTED), type=_CrushList)
            for project in listed.projects:
                folder = os.path.join(project.path, project.data_dir)
                found.append(os.path.abspath(os.path.join(folder, "crush.db")))
    return [path for path in found if os.path.exists(path)]


class _CrushProject(msgspec.Struct):
    path: str
    data_dir: str = ".crush"


class _CrushList(msgspec.Struct):
    projects: list[_CrushProject] = []


MOST_LISTED = 2**22
"""Bytes that are read of a list of projects."""


def _entire_branch(folder: str) -> str | None:
    """The branch of checkpoints in the repository around a folder, as its refs tell; no program is run for it."""
    while not os.path.isdir(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    git = os.path.join(folder, ".git")
    names: set[str] = set()
    with suppress(OSError), open(os.path.join(git, "packed-refs"), encoding="utf-8", errors="replace") as file:
        names.update(line.partition(" refs/heads/")[2].strip() for line in file)
    loose = os.path.join(git, "refs", "heads", "entire")
    for path, _, files in os.walk(loose):
        names.update(os.path.relpath(os.path.join(path, name), os.path.dirname(loose)) for name in files)
    found = sorted(name for name in names if name.startswith("entire/checkpoints"))
    return found[-1] if found else None


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
