"""Cut a fleet's logs into shards: files that must be read together stay together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b

import msgspec

from agentsim.core.session import Problem
from agentsim.fleet.fleet_logs import Input, read_head
from agentsim.traces.format_registry import format_of
from agentsim.traces.readers.claude_code.claude_files import session_in

SHARD_BYTES = 32 * 2**20
"""Bytes of logs that one task reads, unless a session alone is larger."""


class Recipe(msgspec.Struct, frozen=True):
    """A simulated session: the text of its scenario, which of its cells, and the seed."""

    text: str
    name: str
    file: str
    settings: tuple[str, ...]
    cell: int
    seed: int


class ShardUnit(msgspec.Struct, frozen=True):
    """Files that must be read together: those of one session, or a folder of a format that spreads over files.

    With a ``recipe`` there are no files: the session is simulated.
    """

    name: str
    format: str
    folder: str
    files: tuple[Input, ...]
    recipe: Recipe | None = None

    @property
    def size(self) -> int:
        """Bytes, as stored."""
        return sum(file.size for file in self.files)


class Shard(msgspec.Struct, frozen=True):
    """What one task reads. ``key`` names its results: it changes when a file, or what is asked, does."""

    key: str
    units: tuple[ShardUnit, ...]

    @property
    def files(self) -> tuple[Input, ...]:
        """All files."""
        return tuple(file for unit in self.units for file in unit.files)

    @property
    def size(self) -> int:
        """Bytes, as stored."""
        return sum(unit.size for unit in self.units)


def units_of(inputs: Sequence[Input], tell: Callable[[Problem], None], limit: int = SHARD_BYTES) -> list[ShardUnit]:
    """Group logs into units, by the beginning of each file. Files of no known format are told, and left out.

    Sessions of Claude Code are put together by their id; other formats whose files stand alone are one unit each. What
    may refer to other files stays with its whole folder, as far down as a folder is larger than ``limit``.
    """
    grouped: dict[tuple[str, str, str], list[Input]] = {}
    spread: dict[tuple[str, str], list[Input]] = {}
    for item in inputs:
        try:
            head = read_head(item)
        except OSError as error:
            reason = error.strerror or str(error)
            tell(Problem(file=item.url, line=0, reason=reason, remedy="check that it may be read"))
            continue
        format = format_of(head, item.name)
        if format is None:
            if item.named or item.name.endswith((".jsonl", ".ndjson")):
                reason = "of no known format" if head.strip() else "an empty file"
                tell(
                    Problem(
                        file=item.url, line=0, reason=reason, remedy="'agentsim trace formats' lists what can be read"
                    )
                )
            continue
        folder = os.path.dirname(item.name)
        if format.name == "claude-code":
            session = session_in(head, item.name)
            grouped.setdefault((format.name, session, ""), []).append(item)
        elif getattr(format.reader, "STANDALONE", False):
            grouped.setdefault((format.name, item.name, folder), []).append(item)
        else:
            spread.setdefault((format.name, item.root), []).append(item)
    units = [
        ShardUnit(name, kind, folder or _home(files), tuple(files)) for (kind, name, folder), files in grouped.items()
    ]
    for (kind, root), files in spread.items():
        units += [ShardUnit(name, kind, name, tuple(part)) for name, part in _divide(root, files, limit)]
    return sorted(units, key=_by_name)


def cut(
    units: Iterable[ShardUnit], asked: bytes, limit: int = SHARD_BYTES, links: Iterable[Sequence[str]] = ()
) -> list[Shard]:
    """Shards of about ``limit`` bytes, the largest first.

    ``links`` name units that hold copies of each other's requests: each such set is a shard of its own. ``asked`` is
    what else the results depend on.

    Units of a folder are packed in the order of their names, so that a new log changes no more than its own folder.
    """
    linked = {name: number for number, names in enumerate(links) for name in names}
    together: dict[int, list[ShardUnit]] = {}
    folders: dict[tuple[str, str], list[ShardUnit]] = {}
    alone: list[list[ShardUnit]] = []
    for unit in sorted(units, key=_by_name):
        if unit.recipe is not None:
            alone.append([unit])
        elif unit.name in linked:
            together.setdefault(linked[unit.name], []).append(unit)
        else:
            folders.setdefault((unit.format, unit.folder), []).append(unit)
    packs = [*alone, *together.values()]
    small: list[ShardUnit] = []
    for members in folders.values():
        if sum(unit.size for unit in members) * 4 < limit:
            small += members
        else:
            packs += _pack(members, limit)
    packs += _pack(small, limit)
    shards = [Shard(_key(pack, asked), tuple(pack)) for pack in packs]
    return sorted(shards, key=lambda shard: (-shard.size, shard.key))


def _by_name(unit: ShardUnit) -> tuple[str, str]:
    return unit.format, unit.name


def _pack(units: Iterable[ShardUnit], limit: int) -> list[list[ShardUnit]]:
    packs: list[list[ShardUnit]] = []
    room = 0
    for unit in units:
        if not packs or unit.size > room:
            packs.append([])
            room = limit
        packs[-1].append(unit)
        room -= unit.size
    return packs


def _divide(folder: str, files: list[Input], limit: int) -> list[tuple[str, list[Input]]]:
    """The files of a folder together, or of each folder in it where they are more than ``limit`` bytes."""
    if sum(file.size for file in files) <= limit:
        return [(folder, files)]
    inside: dict[str, list[Input]] = {}
    here: list[Input] = []
    for file in files:
        rest = file.name[len(folder) :].lstrip("/")
        head, slash, _ = rest.partition("/")
        if slash and file.name.startswith(folder):
            inside.setdefault(f"{folder.rstrip('/')}/{head}", []).append(file)
        else:
            here.append(file)
    parts = [(folder, here)] if here else []
    for name in sorted(inside):
        parts += _divide(name, inside[name], limit)
    return parts


def _home(files: Sequence[Input]) -> str:
    return min(os.path.dirname(file.name) for file in files)


def _key(units: Sequence[ShardUnit], asked: bytes) -> str:
    digest = blake2b(asked, digest_size=12)
    for unit in units:
        if unit.recipe is not None:
            digest.update(b"\n" + msgspec.json.encode(unit.recipe))
        for file in unit.files:
            digest.update(f"\n{file.url}\t{file.size}\t{file.mark}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
