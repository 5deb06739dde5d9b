"""How well the model of the provider reproduces what a log reported: said before anything that rests on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from agentsim.core.session import Row
from agentsim.core.verdict import Verdict

LEAST_EXPLAINED = (9, 10)
"""Below this share of tokens that were foretold, no dollars are given."""

MOST_OFF = (1, 20)
"""Above this share of the bill by which the recorded run, simulated, differs from the log, no dollars are given."""


_TOLD = ("first", "miss", "compaction")
"""Rows whose verdict says what was kept, where the log has no bodies."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Rows and tokens of a log beside what was known of them before looking at their counters.

    ``exact`` rows have the very numbers that the rules foretold: read, written, fresh. ``explained`` are the tokens
    that are where the log has them without a fact about the world around the session. ``rebuilt`` is how many rows have
    no recorded prompt. ``lost`` rows lost their cache, and ``lost_exact`` of them read the very number that the rules
    leave of it. ``world`` is how many rows come out only with a fact about the world around the session. ``logged`` is
    the bill of the log and ``off`` the sum of the differences, row by row, between it and the recorded run as it is
    simulated, in picodollars.
    """

    rows: int = 0
    exact: int = 0
    tokens: int = 0
    explained: int = 0
    rebuilt: int = 0
    lost: int = 0
    lost_exact: int = 0
    world: int = 0
    logged: int = 0
    off: int = 0

    @property
    def holds(self) -> bool:
        """Whether enough tokens were foretold to reckon with the simulation, and the bill comes out."""
        enough = self.explained * LEAST_EXPLAINED[1] >= self.tokens * LEAST_EXPLAINED[0]
        return self.rows > 0 and enough and self.off * MOST_OFF[1] <= self.logged * MOST_OFF[0]

    def __add__(self, other: Calibration) -> Calibration:
        return Calibration(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


def calibrate(rows: Iterable[Row], foretold: Mapping[str, int], verdicts: Mapping[str, Verdict] | None) -> Calibration:
    """Compare simulated rows with the usage that their requests reported; rows without either are left out.

    ``foretold`` is, by request, what the rules said would be read, where the world knew better. ``verdicts`` are given
    where prompts were made from the counters: what a row read was then foretold only as far as its verdict says.
    """
    from agentsim.rules.prices import cost, default_book

    book = default_book()
    found = dict.fromkeys(Calibration.__struct_fields__, 0)
    for row in rows:
        logged, modeled = row.request.usage, row.usage
        if row.request.prompt is None or not row.request.counted or logged is None or logged.total_input is None:
            continue
        parts = ((logged.read, modeled.read), (logged.write, modeled.write), (logged.fresh, modeled.fresh))
        # A token in the wrong place is missing in one part and too much in another: half of the differences.
        off = sum(abs((one or 0) - (other or 0)) for one, other in parts)
        total = max(logged.total_input, modeled.total_input or 0)
        verdict = None if verdicts is None else verdicts.get(row.request.id)
        said = foretold.get(row.request.id)
        missed = (off + 1) // 2
        told = verdict is not None and verdict.kind in _TOLD and verdict.evidence != "unexplained"
        if said is not None and not told:
            missed = max(missed, abs(said - (logged.read or 0)))
        exact = off == 0 and said is None and (verdict is None or verdict.prediction != "wrong")
        found["rows"] += 1
        found["exact"] += exact
        found["tokens"] += total
        found["explained"] += max(0, total - missed)
        found["rebuilt"] += verdicts is not None
        found["world"] += row.request.id in foretold
        if verdict is not None and verdict.kind == "miss":
            found["lost"] += 1
            found["lost_exact"] += exact
        card = book.card_for(row.request, logged)
        paid = None if card is None else cost(card, logged)
        if paid is not None and row.cost is not None:
            found["logged"] += paid
            found["off"] += abs(paid - row.cost)
    return Calibration(**found)
