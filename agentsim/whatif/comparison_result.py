"""What a comparison found, and the same as flat records: for CSV, JSON and frames."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING

import msgspec

from agentsim.core.extras import how_to_install, not_installed
from agentsim.core.money import dollars
from agentsim.whatif.backtest_standing import is_unproven
from agentsim.whatif.policies import Policy
from agentsim.whatif.policy_simulation import SimulatedSums
from agentsim.whatif.reproduction import Calibration
from agentsim.whatif.saving_interval import SavingInterval

if TYPE_CHECKING:
    import pandas

FIELDS = (
    "policy",
    "sessions_changed",
    "requests",
    "fresh",
    "written",
    "read",
    "output",
    "hit_read",
    "hit_total",
    "cost",
    "input_equivalents",
    "saving",
    "saving_low",
    "saving_high",
    "saving_input_equivalents",
    "not_priced",
    "changes",
    "assumes",
)
"""The fields of a record. Money is in dollars and equivalents in tokens, as exact decimal text."""

EXACT = ("cost", "input_equivalents", "saving", "saving_low", "saving_high", "saving_input_equivalents")


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """All sessions under one policy. Savings in picodollars and in micro-tokens; ``None`` where they are withheld.

    ``changed`` is in how many sessions it had something to do; the others count as recorded. ``saving`` is that of the
    world of the rules, ``interval`` where it lies in worlds that the log allows as well.
    """

    policy: Policy
    sums: SimulatedSums
    changed: int
    saving: int | None
    saving_equivalents: int | None
    interval: SavingInterval | None = None

    @property
    def told(self) -> int | None:
        """The saving as far as it may be told: ``None`` where it is withheld or its sign is not known."""
        return self.saving if self._may_be_told else None

    @property
    def told_equivalents(self) -> int | None:
        """The same in micro-tokens of ordinary input."""
        return self.saving_equivalents if self._may_be_told else None

    @property
    def is_unproven(self) -> bool:
        """Whether no dollars are told of this policy: predictions failed where agents really followed it, or were
        never held against that."""
        return is_unproven(self.policy.name)

    @property
    def _may_be_told(self) -> bool:
        return not self.is_unproven and (self.interval is None or self.interval.sign_holds)


class CombinationStep(msgspec.Struct, frozen=True, kw_only=True):
    """One policy of a combination: what it saves alone, what it adds to those before it, and what all of them save,
    each with where it lies in the worlds that the log allows."""

    policy: Policy
    alone: int | None
    added: int | None
    together: int | None
    alone_equivalents: int | None
    added_equivalents: int | None
    together_equivalents: int | None
    alone_interval: SavingInterval | None = None
    added_interval: SavingInterval | None = None
    together_interval: SavingInterval | None = None

    @property
    def is_unproven(self) -> bool:
        """Whether no dollars are told of this policy."""
        return is_unproven(self.policy.name)


class Combination(msgspec.Struct, frozen=True, kw_only=True):
    """The best compatible policies found, in the order in which they add most, and the sessions under all of them."""

    steps: tuple[CombinationStep, ...]
    sums: SimulatedSums
    saving: int | None
    saving_equivalents: int | None
    interval: SavingInterval | None = None

    @property
    def told(self) -> int | None:
        """The saving as far as it may be told: ``None`` where one of the policies is unproven or its sign not known."""
        return self.saving if self._may_be_told else None

    @property
    def told_equivalents(self) -> int | None:
        """The same in micro-tokens of ordinary input."""
        return self.saving_equivalents if self._may_be_told else None

    @property
    def is_unproven(self) -> bool:
        """Whether one of the policies is one of which no dollars are told."""
        return any(step.is_unproven for step in self.steps)

    @property
    def _may_be_told(self) -> bool:
        return not self.is_unproven and (self.interval is None or self.interval.sign_holds)


class NotTried(msgspec.Struct, frozen=True, kw_only=True):
    """A policy that was not tried, or a session that was left out, and why."""

    name: str
    reason: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions as recorded and under policies. ``withheld`` says why no money is named, where none is.

    Those ``outcomes`` under which each request shows the model the same come first, each kind with the largest saving
    first. ``without_price`` are the models that have requests without a price.
    """

    sessions: int
    harness: str | None
    calibration: Calibration
    withheld: str | None
    recorded: SimulatedSums
    outcomes: tuple[Outcome, ...]
    not_tried: tuple[NotTried, ...] = ()
    left_out: tuple[NotTried, ...] = ()
    combined: Combination | None = None
    without_price: tuple[str, ...] = ()

    def records(self) -> list[dict[str, object]]:
        """One flat record for the recorded sessions and for each policy, in the order of the outcomes."""
        return _records(self)

    def to_csv(self) -> str:
        """The records as CSV with a header."""
        return _csv_text(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The records as a frame of pandas, which must be installed; exact decimals become floats."""
        return _frame(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: each policy, with what it would have cost and saved."""
        shown = ("policy", "cost", "saving", "saving_low", "saving_high", "changes")
        head = "".join(f"<th>{name}</th>" for name in shown)
        rows = "".join(
            "<tr>"
            + "".join(f"<td>{escape(str(value)) if value is not None else '–'}</td>" for value in cells)
            + "</tr>"
            for cells in ([record.get(name) for name in shown] for record in _records(self))
        )
        note = f"<p>{escape(self.withheld)}</p>" if self.withheld is not None else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"


def _records(comparison: Comparison) -> list[dict[str, object]]:
    """One record for what was recorded (its policy is "as recorded"), for each policy, and for all of them together."""
    shown = comparison.withheld is None
    nothing = 0 if shown and comparison.recorded.known_cost is not None else None
    found = [_record("as recorded", comparison.recorded, 0, nothing, nothing, shown)]
    for outcome in comparison.outcomes:
        record = _record(
            outcome.policy.spec, outcome.sums, outcome.changed, outcome.told, outcome.told_equivalents, shown
        )
        if outcome.interval is not None and not outcome.is_unproven:
            record["saving_low"] = _exact(dollars(outcome.interval.low))
            record["saving_high"] = _exact(dollars(outcome.interval.high))
        record["changes"], record["assumes"] = outcome.policy.changes, outcome.policy.assumes
        found.append(record)
    if comparison.combined is not None:
        all_of_them = comparison.combined
        name = "together: " + (" + ".join(step.policy.spec for step in all_of_them.steps) or "nothing saves")
        found.append(
            _record(name, all_of_them.sums, comparison.sessions, all_of_them.told, all_of_them.told_equivalents, shown)
        )
        if all_of_them.interval is not None and not all_of_them.is_unproven:
            found[-1]["saving_low"] = _exact(dollars(all_of_them.interval.low))
            found[-1]["saving_high"] = _exact(dollars(all_of_them.interval.high))
    return found


def _csv_text(comparison: Comparison) -> str:
    """The records as CSV; what is unknown is empty."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {key: "" if value is None else value for key, value in row.items()} for row in _records(comparison)
    )
    return stream.getvalue()


def _frame(comparison: Comparison) -> pandas.DataFrame:
    """The records as a frame. Raises ImportError where pandas is not installed."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"{not_installed(error.name)}: {how_to_install('sweep')}") from None
    rows = [
        {key: float(str(value)) if key in EXACT and value is not None else value for key, value in record.items()}
        for record in _records(comparison)
    ]
    return pandas.DataFrame(rows, columns=list(FIELDS))


def _record(
    policy: str, sums: SimulatedSums, changed: int, saving: int | None, equivalents: int | None, shown: bool
) -> dict[str, object]:
    read, total = sums.hit_rate
    known = shown and sums.known_cost is not None
    return {
        "policy": policy,
        "sessions_changed": changed,
        "requests": sums.requests,
        "fresh": sums.fresh,
        "written": sums.written,
        "read": sums.read,
        "output": sums.output,
        "hit_read": read,
        "hit_total": total,
        "cost": _exact(dollars(sums.cost)) if known else None,
        "input_equivalents": _exact(Decimal(sums.equivalents).scaleb(-6)) if known else None,
        "saving": None if saving is None else _exact(dollars(saving)),
        "saving_low": None,
        "saving_high": None,
        "saving_input_equivalents": None if equivalents is None else _exact(Decimal(equivalents).scaleb(-6)),
        "not_priced": sums.unpriced,
        "changes": None,
        "assumes": None,
    }


def _exact(amount: Decimal) -> str:
    text = f"{amount:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"
