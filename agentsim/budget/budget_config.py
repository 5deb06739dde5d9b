"""``agentsim.toml``, or the table ``[tool.agentsim]`` of a ``pyproject.toml``: found, read, and checked."""

from __future__ import annotations

import os
import tomllib
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec

from agentsim.budget.budget_limits import Budget, Limit
from agentsim.core.toml_lines import Path, key_lines, line_of

if TYPE_CHECKING:
    from agentsim.budget.budget_document import BudgetTable, Document

NAME = "agentsim.toml"
PROJECT = "pyproject.toml"
TABLE = ("tool", "agentsim")
MOST_BYTES = 4 * 2**20


class ConfigError(Exception):
    """A configuration that cannot be used: the file, the line, the key, the reason, and what to do about it."""

    def __init__(
        self, reason: str, *, file: str, line: int | None = None, key: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = f"{key}: {reason}" if key else reason
        self.file = file
        self.line = line
        self.key = key
        self.remedy = remedy


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Budgets, the traces they are about, and where the baseline is. Paths are relative to ``root``."""

    file: str
    root: str
    budgets: tuple[Budget, ...]
    traces: tuple[str, ...] = ()
    baseline: str | None = None


def find_config(start: str = ".") -> str | None:
    """The nearest configuration at ``start`` or above it. In one folder ``agentsim.toml`` counts before a project's."""
    folder = os.path.abspath(start)
    while True:
        own = os.path.join(folder, NAME)
        if os.path.isfile(own):
            return _short(own)
        project = os.path.join(folder, PROJECT)
        if os.path.isfile(project) and _has_table(project):
            return _short(project)
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def load_config(file: str) -> Config:
    """Read a configuration. Raises ConfigError."""
    text = _read(file)
    try:
        data = tomllib.loads(text, parse_float=_decimal)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(error, file) from None
    except RecursionError:
        raise ConfigError("nested too deep", file=file) from None
    lines = key_lines(text)
    prefix: Path = ()
    if os.path.basename(file) == PROJECT:
        prefix = TABLE
        for part in TABLE:
            data = data.get(part, {}) if isinstance(data, dict) else {}
        if not data:
            raise ConfigError("no [tool.agentsim] in it", file=file, remedy=f"write one, or an {NAME}")
    document = _checked(data, file, lines, prefix)
    return Config(
        file=file,
        root=os.path.dirname(file) or ".",
        budgets=_budgets(document, file, lines, prefix),
        traces=document.traces,
        baseline=document.baseline,
    )


def _budgets(document: Document, file: str, lines: dict[Path, int], prefix: Path) -> tuple[Budget, ...]:
    found: list[Budget] = []
    names: set[str] = set()
    for number, table in enumerate(document.budget):
        path = (*prefix, "budget", number)
        limits = _limits(table, lines, path)
        name = table.name or f"budget {number + 1}"
        if not limits:
            raise ConfigError("this budget limits nothing", file=file, line=line_of(lines, path), key=name)
        if name in names:
            line = line_of(lines, (*path, "name"))
            raise ConfigError(f"two budgets are called {name}", file=file, line=line, key="name")
        names.add(name)
        found.append(
            Budget(
                name=name,
                limits=limits,
                traces=table.traces,
                judge=table.judge,
                level=table.level,
                allow_skipped=table.allow_skipped,
                file=file,
                line=line_of(lines, path),
            )
        )
    return tuple(found)


def _limits(table: BudgetTable, lines: dict[Path, int], path: Path) -> tuple[Limit, ...]:
    def line(*keys: str | int) -> int | None:
        return line_of(lines, (*path, *keys))

    limits: list[Limit] = []
    if table.max_cost is not None:
        limits.append(Limit(kind="max-cost", value=Fraction(table.max_cost), line=line("max-cost")))
    if table.max_input_equivalents is not None:
        value = Fraction(table.max_input_equivalents)
        limits.append(Limit(kind="max-input-equivalents", value=value, line=line("max-input-equivalents")))
    if table.min_hit_rate is not None:
        limits.append(Limit(kind="min-hit-rate", value=table.min_hit_rate, line=line("min-hit-rate")))
    for cause, count in table.max_misses:
        where = line("max-misses", cause or "total")
        limits.append(Limit(kind="max-misses", value=Fraction(count), cause=cause, line=where))
    if table.max_lost_cost is not None:
        limits.append(Limit(kind="max-lost-cost", value=Fraction(table.max_lost_cost), line=line("max-lost-cost")))
    for number, cause in enumerate(table.forbid):
        limits.append(Limit(kind="forbid", value=Fraction(0), cause=cause, line=line("forbid", number)))
    for metric, growth in table.max_growth:
        limits.append(
            Limit(
                kind="max-growth",
                value=growth.amount,
                metric=metric,
                relative=growth.relative,
                line=line("max-growth", metric),
            )
        )
    return tuple(limits)


def _checked(data: object, file: str, lines: dict[Path, int], prefix: Path) -> Document:
    from pydantic import ValidationError

    from agentsim.budget.budget_document import Document, faults

    try:
        return Document.model_validate(data)
    except ValidationError as error:
        found = sorted((line_of(lines, (*prefix, *path)) or 0, _dotted(path), why) for path, why in faults(error))
        line, key, reason = found[0]
        more = f"; and {len(found) - 1} more like this" if len(found) > 1 else ""
        raise ConfigError(reason, file=file, line=line or None, key=key, remedy=more.lstrip("; ") or None) from None


def _dotted(path: Path) -> str:
    return ".".join(str(part) for part in path if not isinstance(part, int)) or "the file"


def _read(file: str) -> str:
    try:
        with open(file, "rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise ConfigError(error.strerror or str(error), file=file, remedy="check the spelling") from error
    if len(data) > MOST_BYTES:
        raise ConfigError("too large to be a configuration", file=file)
    try:
        return data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("not UTF-8", file=file, line=line) from None


def _syntax_error(error: tomllib.TOMLDecodeError, file: str) -> ConfigError:
    reason, _, place = str(error).partition(" (at ")
    words = place.replace(",", " ").split()
    line = int(words[1]) if words[:1] == ["line"] and words[1].isdigit() else None
    return ConfigError(f"not TOML: {reason}", file=file, line=line)


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace("_", ""))


def _has_table(project: str) -> bool:
    try:
        text = _read(project)
        table = tomllib.loads(text) if "agentsim" in text else {}
    except (ConfigError, tomllib.TOMLDecodeError, RecursionError):
        # Somebody else's file: a defect in it is not ours to report unless it is named.
        return False
    return isinstance(table.get("tool"), dict) and "agentsim" in table["tool"]


def _short(path: str) -> str:
    """A path as a person would write it from here: relative where that does not lead up and down again."""
    relative = os.path.relpath(path)
    return path if relative.count("..") > 3 else relative
