"""The cells of the benchmark: one for each cause, each false lead and each healthy way to live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from benchmarks.verdicts.documented_rules import ModelRules
from benchmarks.verdicts.session_truth import SECTION_CODES, Truth
from benchmarks.verdicts.simulated_agent import Agent

Script = Callable[[Agent], None]
CLAUDE, OPENAI, DEEPSEEK, IMPLICIT, CODEX = "claude", "openai", "deepseek", "gpt-5.6", "codex"
AUTOMATIC = (OPENAI, DEEPSEEK, CODEX)
EVERY = (CLAUDE, OPENAI, DEEPSEEK, IMPLICIT, CODEX)


@dataclass(frozen=True)
class Cell:
    """One cause or lead. ``models`` limits it where only some show it; ``early`` lives before August 2026; ``unseen``
    names forms of evidence that cannot carry it."""

    name: str
    families: tuple[str, ...]
    script: Script
    models: tuple[ModelRules, ...] = ()
    early: bool = False
    lead: bool = False
    unseen: tuple[str, ...] = ()


CELLS: dict[str, Cell] = {}


def cell(
    name: str,
    families: tuple[str, ...] = EVERY,
    *,
    models: tuple[ModelRules, ...] = (),
    early: bool = False,
    lead: bool = False,
    unseen: tuple[str, ...] = (),
) -> Callable[[Script], Script]:
    """Register a scenario under the name of its cell."""

    def register(script: Script) -> Script:
        if name in CELLS:
            raise ValueError(f"two cells are called {name}")
        CELLS[name] = Cell(name, families, script, models, early, lead, unseen)
        return script

    return register


def loss(cell: str, right: tuple[str, ...], section: str | None = None, **fields: object) -> Truth:
    """The truth of a request that lost something. ``section`` adds what may be said without bodies."""
    coarse = SECTION_CODES[section] if section is not None else ()
    return replace(Truth("loss", cell, right, coarse), **fields)  # type: ignore[arg-type]


def informed(cell: str, right: tuple[str, ...], coarse: tuple[str, ...] = ()) -> Truth:
    """The truth of a request that lost nothing of which something is to be said all the same."""
    return Truth("informed", cell, right, coarse)


def healthy(cell: str) -> Truth:
    """The truth of a request beside a lead that leads nowhere: nothing was lost."""
    return Truth("healthy", cell)
