"""What agentsim finds and has: places of logs, files by format, files that are none, extras, rules, prices, caches."""

from __future__ import annotations

import os
import platform
import tomllib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

import msgspec

from agentsim.core.extras import EXTRAS, missing_modules
from agentsim.core.session import Problem
from agentsim.rules.prices.price_store import ADDITIONS, cache_file
from agentsim.rules.providers.rules_library import brought_files, load_rules, provider_names
from agentsim.traces.format_registry import told_format
from agentsim.traces.harness_places import PLACES, FoundPlace, found_places, unread_places
from agentsim.traces.kept_places import state_folder
from agentsim.traces.log_walk import find

_PRICES = "genai-prices"


class FormatCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many files of a format there are."""

    format: str
    files: int


class CheckedPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A folder or file that was looked at: its logs by format, how many files have a name that a log may have and are
    of no known format, and those that should be logs and are not, each with its reason."""

    harness: str | None
    path: str
    formats: tuple[FormatCount, ...]
    other_files: int
    problems: tuple[Problem, ...]


class UnreadPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Logs that are there and are not read, and why."""

    harness: str
    path: str
    reason: str


class CheckedExtra(msgspec.Struct, frozen=True, kw_only=True):
    """An optional part and which of its modules are not installed."""

    name: str
    purpose: str
    missing: tuple[str, ...]


class KeptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that agentsim keeps for itself; ``size`` is ``None`` where it is not there."""

    purpose: str
    path: str
    size: int | None


class Checkup(msgspec.Struct, frozen=True, kw_only=True):
    """All that was found. ``rules_until`` is the first and the last day on which sources of a rules file were read,
    ``prices_until`` that of prices beside the library's."""

    python: str
    system: str
    places: tuple[CheckedPlace, ...]
    unread: tuple[UnreadPlace, ...]
    not_there: tuple[str, ...]
    extras: tuple[CheckedExtra, ...]
    providers: int
    own_rules: tuple[str, ...]
    rules_until: tuple[str, str]
    price_library: str | None
    prices_until: str
    kept: tuple[KeptFile, ...]


def check_up(paths: Sequence[str] = ()) -> Checkup:
    """Look at the places of every harness, or at these paths, and at what is installed. Nothing is written."""
    places = [FoundPlace("", path) for path in paths] or found_places()
    unread = () if paths else tuple(unread_places())
    there = {place.harness for place in (*places, *(place for place, _ in unread))}
    not_there = () if paths else tuple(one for one in ("Claude Code", *(p.harness for p in PLACES)) if one not in there)
    days = [load_rules(name).read_until for name in provider_names()]
    return Checkup(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}".strip(),
        places=tuple(_checked(place) for place in places),
        unread=tuple(UnreadPlace(harness=one.harness, path=one.path, reason=reason) for one, reason in unread),
        not_there=not_there,
        extras=tuple(
            CheckedExtra(name=name, purpose=extra.purpose, missing=missing_modules(name))
            for name, extra in EXTRAS.items()
        ),
        providers=len(provider_names()),
        own_rules=tuple(file.file for file in brought_files()),
        rules_until=(min(days).isoformat(), max(days).isoformat()),
        price_library=_version(_PRICES),
        prices_until=_prices_until(),
        kept=(
            _kept("compiled prices", cache_file()),
            _kept("what the app remembers", _state_file()),
            _kept("failures of hooks", os.path.join(state_folder(), "failures.jsonl")),
        ),
    )


def _checked(place: FoundPlace) -> CheckedPlace:
    counts: dict[str, int] = {}
    problems: list[Problem] = []
    others = 0
    for file in find((place.path,), problems.append):
        before = len(problems)
        format = told_format(file, problems)
        if format is not None:
            counts[format.name] = counts.get(format.name, 0) + 1
        elif len(problems) == before:
            others += 1
    formats = [FormatCount(format=name, files=count) for name, count in counts.items()]
    return CheckedPlace(
        harness=place.harness or None,
        path=place.path,
        formats=tuple(sorted(formats, key=lambda one: (-one.files, one.format))),
        other_files=others,
        problems=tuple(problems),
    )


def _prices_until() -> str:
    with open(ADDITIONS, "rb") as file:
        return str(tomllib.load(file)["read_until"])


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _state_file() -> str:
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "agentsim", "tui.json")


def _kept(purpose: str, path: str) -> KeptFile:
    try:
        size = os.stat(path).st_size
    except OSError:
        size = None
    return KeptFile(purpose=purpose, path=path, size=size)
