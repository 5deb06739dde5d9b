"""The list of policies as a grid shows it, and which of them are chosen."""

from __future__ import annotations

from collections.abc import Sequence

from agentsim.report import figures
from agentsim.report.saving_words import UNCLEAR
from agentsim.tui.grid import GridColumn
from agentsim.tui.ink import Ink, Piece
from agentsim.tui.whatif.revised_session import AloneSaving
from agentsim.whatif.policies import NAMES, Policy, policy


class PolicyRows:
    """The policies with check boxes; what each saves alone is filled in as it becomes known. One that turns out to have
    nothing to do here leaves the list, unless it is chosen or ``everything`` is wanted."""

    columns = (
        GridColumn("box", " ", 3, "<", 9),
        GridColumn("name", "policy", 20, "<", 9, True),
        GridColumn("saves", "alone saves", 12, ">", 9),
    )

    def __init__(self) -> None:
        self.policies: dict[str, Policy] = {name: policy(name) for name in NAMES}
        self.order: list[str] = list(NAMES)
        self.chosen: set[str] = set()
        self.saves: dict[str, AloneSaving] = {}
        self.idle: dict[str, str] = {}
        self.everything = False

    @property
    def hidden(self) -> int:
        """How many are not listed."""
        return len(NAMES) - len(self.order)

    def put_away(self) -> None:
        """Take those that have nothing to do from the list, or put them back."""
        shown = [name for name in NAMES if self.everything or name not in self.idle or name in self.chosen]
        self.order = [name for name in self.order if name in shown]
        self.order += [name for name in shown if name not in self.order]

    def __len__(self) -> int:
        return len(self.order)

    def at(self, line: int) -> Policy | None:
        """The policy on a line."""
        return self.policies[self.order[line]] if 0 <= line < len(self.order) else None

    def cells(self, line: int) -> Sequence[Piece]:
        """The cells of a policy."""
        name = self.order[line]
        chosen = name in self.chosen
        usable = name not in self.idle
        ink = Ink.STRONG if chosen else Ink.PLAIN if usable else Ink.FAINT
        changes = " *" if self.policies[name].changes is not None else ""
        return [
            ("[x]" if chosen else "[ ]", Ink.GOOD if chosen else Ink.FAINT),
            (self.policies[name].spec + changes, ink),
            self._saving(name),
        ]

    def _saving(self, name: str) -> Piece:
        if name in self.idle:
            return ("–", Ink.FAINT)
        if name not in self.saves:
            return ("…", Ink.FAINT)
        found = self.saves[name]
        saving = found.saving
        if saving is None:
            return ("?", Ink.FAINT)
        if found.interval is not None and not found.interval.sign_holds:
            return (UNCLEAR, Ink.FAINT)
        if saving == 0:
            return ("=", Ink.FAINT)
        if saving < 0:
            return (f"−{figures.row_money(-saving)}", Ink.WARN)
        return (figures.row_money(saving), Ink.GOOD)

    def toggle(self, name: str) -> None:
        """Choose a policy or not. One that decides the same thing as a chosen one takes its place."""
        if name in self.chosen:
            self.chosen.remove(name)
            return
        slots = set(self.policies[name].slots)
        self.chosen = {other for other in self.chosen if not slots & set(self.policies[other].slots)} | {name}

    def take(self, changed: Policy) -> None:
        """A policy with other parameters."""
        self.policies[changed.name] = changed
        self.saves.pop(changed.name, None)
        self.idle.pop(changed.name, None)

    def sort(self) -> None:
        """The most saving first, those that change what the model sees below them, those with nothing to do last."""

        def place(name: str) -> tuple[bool, bool, int, int]:
            return (
                name in self.idle,
                self.policies[name].changes is not None,
                -self._weight(name),
                NAMES.index(name),
            )

        self.put_away()
        self.order.sort(key=place)

    def _weight(self, name: str) -> int:
        """What a policy is known to save; 0 where that is not clear."""
        found = self.saves.get(name)
        if found is None or (found.interval is not None and not found.interval.sign_holds):
            return 0
        return found.saving or 0

    @property
    def wanted(self) -> list[Policy]:
        """The chosen policies."""
        return [self.policies[name] for name in NAMES if name in self.chosen]
