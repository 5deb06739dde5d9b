"""The what-if panel: check boxes for policies, and what the session would have cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static
from textual.worker import get_current_worker

from agentsim.report import figures
from agentsim.report.clean import clean
from agentsim.report.saving_words import UNCLEAR, interval_words
from agentsim.tui.grid import Grid
from agentsim.tui.ink import Ink, Piece, wrapped
from agentsim.tui.whatif.policy_grid import PolicyRows
from agentsim.tui.whatif.revised_session import AloneSaving, CannotSimulate, Revision, Workbench
from agentsim.whatif.policies import Policy, PolicyError, parameters, parse


class WhatIfPanel(Vertical):
    """Tries policies on one session while one looks. Workers simulate; this shows what they post."""

    DEFAULT_CSS = """
    WhatIfPanel { background: $surface; border-left: solid $panel; height: 1fr; }
    WhatIfPanel #result { height: auto; padding: 0 1; background: $surface; }
    WhatIfPanel Grid { height: 1fr; min-height: 4; }
    WhatIfPanel #about { height: auto; max-height: 9; padding: 0 1; border-top: solid $panel; }
    TraceScreen.-low WhatIfPanel #about { max-height: 3; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "choose", "Choose", key_display="Space"),
        Binding("enter", "edit", "Parameters", key_display="Enter"),
        Binding("o", "sort", "Order by saving", show=False),
        Binding("u", "none", "Choose none", show=False),
        Binding("a", "everything", "All policies, or those that do something", show=False),
    ]

    class Known(Message):
        """How well the simulation reproduces the log, or why there is none."""

        def __init__(self, rows: int, exact: int, explained: str, holds: bool, rebuilt: bool, failure: str) -> None:
            super().__init__()
            self.rows, self.exact, self.explained = rows, exact, explained
            self.holds, self.rebuilt, self.failure = holds, rebuilt, failure

    class Alone(Message):
        """What one policy saves by itself."""

        def __init__(self, name: str, found: AloneSaving) -> None:
            super().__init__()
            self.name, self.found = name, found

    class AllAlone(Message):
        """Every policy was tried alone."""

    class Revised(Message):
        """The session under the chosen policies; ``None`` when none is chosen."""

        def __init__(self, revision: Revision | None) -> None:
            super().__init__()
            self.revision = revision

    class Edit(Message):
        """A person wants to change a policy's parameters."""

        def __init__(self, spec: str, hint: str) -> None:
            super().__init__()
            self.spec, self.hint = spec, hint

    def __init__(self, workbench: Workbench) -> None:
        super().__init__(id="whatif")
        self.workbench = workbench
        self.rows = PolicyRows()
        # Made here and not when mounted: keys may ask for them before.
        self.grid = Grid(id="policies")
        self._result = Static(id="result")
        self._text = Static(id="about")
        self.revision: Revision | None = None
        self._known: WhatIfPanel.Known | None = None
        self._busy = False

    def compose(self) -> ComposeResult:
        """Result, policies, about the policy under the cursor."""
        yield self._result
        yield self.grid
        yield self._text

    def on_mount(self) -> None:
        """Begin to simulate."""
        self.grid.show(self.rows)
        self._say()
        self._try_alone(list(self.rows.policies.values()))

    # Workers

    @work(thread=True, exclusive=True, group="alone")
    def _try_alone(self, policies: Sequence[Policy]) -> None:
        worker = get_current_worker()
        try:
            case = self.workbench.case()
        except CannotSimulate as error:
            self.post_message(self.Known(0, 0, "", False, False, str(error)))
            return
        known = case.calibration
        share = figures.per_cent(known.explained, known.tokens, 1)
        self.post_message(self.Known(known.rows, known.exact, share, known.holds, known.rebuilt > 0, ""))
        for policy in policies:
            if worker.is_cancelled:
                return
            self.post_message(self.Alone(policy.name, self.workbench.alone(policy)))
        if len(policies) > 1:
            self.post_message(self.AllAlone())

    @work(thread=True, exclusive=True, group="revise")
    def _revise(self, policies: Sequence[Policy]) -> None:
        worker = get_current_worker()
        try:
            revision = self.workbench.revise(policies) if policies else None
        except CannotSimulate:
            revision = None
        if not worker.is_cancelled:
            self.post_message(self.Revised(revision))

    # What they post

    def on_what_if_panel_known(self, event: Known) -> None:
        """Say how good the simulation is, before any saving."""
        self._known = event
        if event.failure:
            self.rows.order = []
            self.grid.show(self.rows)
        self._say()

    def on_what_if_panel_alone(self, event: Alone) -> None:
        """Fill in a saving."""
        if event.found.reason is not None:
            self.rows.idle[event.name] = event.found.reason
        else:
            self.rows.saves[event.name] = event.found
        self.grid.refresh()
        self._about()

    def on_what_if_panel_all_alone(self) -> None:
        """All are known: the best first, unless somebody has begun to choose."""
        if not self.rows.chosen and self.grid.cursor == 0:
            self.action_sort()
            self._say()

    def on_what_if_panel_revised(self, event: Revised) -> None:
        """Keep the revision; the message goes on to the screen."""
        self.revision = event.revision
        self._busy = False
        self._say()

    # Words

    def _say(self) -> None:
        width = max(self.size.width - 3, 20)
        rows: list[list[Piece]] = [[("What if", Ink.STRONG), *self._calibration()]]
        revision = self.revision
        if self._busy:
            rows.append([("simulating …", Ink.WARN)])
        elif revision is None:
            rows.append([("Space chooses a policy; * changes what the model sees", Ink.FAINT)])
            if self.rows.hidden and self.rows.order:
                hidden = f"{self.rows.hidden} more have nothing to do in this session: a lists them"
                rows.append([(hidden, Ink.FAINT)])
        else:
            rows += self._sums(revision)
        self._result.update(wrapped(rows, width))

    def _calibration(self) -> list[Piece]:
        known = self._known
        if known is None:
            return [(" · simulating as recorded …", Ink.FAINT)]
        if known.failure:
            return [(f" · cannot be simulated: {known.failure}", Ink.WARN)]
        text = f" · as recorded: {known.exact:,} of {known.rows:,} rows exact, {known.explained} % of tokens"
        if known.rebuilt:
            text += ", prompts made from counters"
        if not known.holds:
            return [(text + "; less than 90 %: no money is named", Ink.WARN)]
        return [(text, Ink.FAINT)]

    def _sums(self, revision: Revision) -> list[list[Piece]]:
        base, sums = revision.base, revision.sums
        rows: list[list[Piece]] = [
            [
                (f"hit {figures.per_cent(*base.hit_rate)} → ", Ink.FAINT),
                (f"{figures.per_cent(*sums.hit_rate)} %", Ink.STRONG),
                (f"  written {figures.count(base.written)} → ", Ink.FAINT),
                (figures.count(sums.written), Ink.STRONG),
                (f"  read {figures.count(base.read)} → ", Ink.FAINT),
                (figures.count(sums.read), Ink.STRONG),
            ]
        ]
        if revision.priced:
            saved = base.cost - sums.cost
            share = figures.per_cent(abs(saved), base.cost, 1)
            word = "saves" if saved >= 0 else "costs"
            verb: Piece = (f"  {word} {figures.money(abs(saved))} ({share} %)", Ink.GOOD if saved >= 0 else Ink.WARN)
            rows.insert(
                0, [(f"{figures.money(base.cost)} → ", Ink.FAINT), (figures.money(sums.cost), Ink.STRONG), verb]
            )
        if revision.added:
            count = figures.plural(len(revision.added), "extra request")
            rows.append([(f"{count} (keep-alives, retries) included", Ink.FAINT)])
        rows += [[(f"{name}: {reason}", Ink.WARN)] for name, reason in revision.idle]
        return rows

    def _about(self) -> None:
        policy = self.rows.at(self.grid.cursor)
        if policy is None:
            return
        rows: list[list[Piece]] = [[policy.summary]]
        if policy.name in self.rows.idle:
            rows.insert(0, [(f"not here: {self.rows.idle[policy.name]}", Ink.WARN)])
        interval = self.rows.saves[policy.name].interval if policy.name in self.rows.saves else None
        if interval is not None and interval.low != interval.high:
            word = "saves" if interval.sign_holds else f"{UNCLEAR}:"
            rows.append([(f"{word} {interval_words(interval)}", Ink.STRONG)])
        if policy.assumes:
            rows.append([("if ", Ink.FAINT), policy.assumes])
        if policy.changes:
            rows.append([("* ", Ink.WARN), policy.changes])
        self._text.update(wrapped(rows, max(self.size.width - 3, 20)))

    def on_grid_moved(self, event: Grid.Moved) -> None:
        """Tell about the policy under the cursor."""
        event.stop()
        self._about()

    def on_grid_title_clicked(self, event: Grid.TitleClicked) -> None:
        """Titles sort by saving here."""
        event.stop()
        self.action_sort()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """A second click chooses; Enter edits."""
        event.stop()
        self.action_edit()

    def on_resize(self) -> None:
        """Wrap anew."""
        self._say()
        self._about()

    # Keys

    def action_choose(self) -> None:
        """Choose the policy under the cursor, or not."""
        policy = self.rows.at(self.grid.cursor)
        if policy is not None:
            self.rows.toggle(policy.name)
            self._changed()

    def action_none(self) -> None:
        """Choose none."""
        self.rows.chosen = set()
        self._changed()

    def action_sort(self) -> None:
        """The most saving first."""
        self.rows.sort()
        self.grid.show(self.rows)

    def action_everything(self) -> None:
        """List all policies, or only those that have something to do here."""
        self.rows.everything = not self.rows.everything
        self.action_sort()
        self._say()

    def action_edit(self) -> None:
        """Change the parameters of the policy under the cursor."""
        policy = self.rows.at(self.grid.cursor)
        if policy is None:
            return
        known = parameters(type(policy))
        if not known:
            self.app.notify(f"{policy.name} has no parameters", markup=False, timeout=4)
            return
        values = ",".join(f"{p.name}={_text(getattr(policy, p.name))}" for p in known)
        hint = ", ".join(f"{p.name}: {' or '.join(p.choices) or p.type}" for p in known)
        self.post_message(self.Edit(f"{policy.name}:{values}", hint))

    def take(self, spec: str) -> None:
        """Take a policy with its parameters, as a command line writes it, and choose it."""
        try:
            policy = parse(spec)
        except PolicyError as error:
            self.app.notify(clean(str(error), 300), severity="error", markup=False)
            return
        self.rows.take(policy)
        if policy.name not in self.rows.chosen:
            self.rows.toggle(policy.name)
        self._try_alone([policy])
        self._changed()

    def _changed(self) -> None:
        self._busy = True
        self.grid.refresh()
        self._say()
        self._revise(self.rows.wanted)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
