"""``agentsim.toml``, or the table ``[tool.agentsim]`` of a ``pyproject.toml``: found, read, and checked."""

from __future__ import annotations

import os
from decimal import Decimal
from fractions import Fraction

import msgspec

from agentsim.budget.budget_document import BudgetDocument, BudgetTable
from agentsim.budget.budget_limits import Budget, Limit
from agentsim.core.file_problems import WrittenFileError, refused
from agentsim.core.toml_lines import Path
from agentsim.core.written_files import WrittenFile, read_text

NAME = "agentsim.toml"
PROJECT = "pyproject.toml"
TABLE = ("tool", "agentsim")
MOST_BYTES = 4 * 2**20


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
    """Read a configuration. Raises WrittenFileError."""
    written = WrittenFile(read_text(file, MOST_BYTES), file, parse_float=_decimal)
    data, prefix = written.data, Path()
    if os.path.basename(file) == PROJECT:
        prefix = TABLE
        for part in TABLE:
            data = data.get(part, {}) if isinstance(data, dict) else {}
        if not data:
            raise refused("no [tool.agentsim] in it", f"write one, or an {NAME}", file=file)
    document: BudgetDocument = written.fit(data, BudgetDocument, prefix)
    budgets = () if document is None else _budgets(document, written, prefix)
    written.check()
    return Config(
        file=file,
        root=os.path.dirname(file) or ".",
        budgets=budgets,
        traces=document.traces,
        baseline=document.baseline,
    )


def _budgets(document: BudgetDocument, written: WrittenFile, prefix: Path) -> tuple[Budget, ...]:
    found: list[Budget] = []
    names: set[str] = set()
    for number, table in enumerate(document.budget):
        path = (*prefix, "budget", number)
        limits = _limits(table, written, path)
        name = table.name or f"budget {number + 1}"
        if not limits:
            written.say(path, f"the budget {name!r} limits nothing", "give it a limit, such as max-cost")
        if name in names:
            written.say((*path, "name"), f"two budgets are called {name!r}", "call one of them something else")
        names.add(name)
        found.append(
            Budget(
                name=name,
                limits=limits,
                traces=table.traces,
                judge=table.judge,
                level=table.level,
                allow_skipped=table.allow_skipped,
                file=written.file,
                line=written.line(path),
            )
        )
    return tuple(found)


def _limits(table: BudgetTable, written: WrittenFile, path: Path) -> tuple[Limit, ...]:
    def line(*keys: str | int) -> int | None:
        return written.line((*path, *keys))

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


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace("_", ""))


def _has_table(project: str) -> bool:
    try:
        text = read_text(project, MOST_BYTES)
        table = WrittenFile(text, project).data.get("tool") if "agentsim" in text else None
    except WrittenFileError:
        # Somebody else's file: a defect in it is not ours to report unless it is named.
        return False
    return isinstance(table, dict) and "agentsim" in table


def _short(path: str) -> str:
    """A path as a person would write it from here: relative where that does not lead up and down again."""
    relative = os.path.relpath(path)
    return path if relative.count("..") > 3 else relative
