"""How a verdict compares with the truth, and the sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from benchmarks.verdicts.session_truth import Truth

Grade = Literal["right", "coarse", "named", "open", "wrong", "missed", "quiet", "alarm"]
"""Of a loss: ``right``; ``coarse``: as much as the evidence can tell; ``named``: among the causes that the verdict
leaves open; ``open``: left open without it; ``wrong``: another cause asserted; ``missed``: no loss told.
Of a healthy request: ``quiet``, or a false ``alarm``."""

BLIND_TO = {
    "pairs": (),
    "agentsim/1": (),
    "messages": ("tools", "system", "messages"),
    "counters": ("tools", "system", "messages"),
    "claude-code": ("tools", "system", "messages"),
    "codex": ("tools", "system", "messages"),
}
"""Which sections a form of evidence does not show: a coarse answer is all that can be asked there."""

SECTION_WORDS = ("AS105", "AS112", "AS130", "AS131", "AS190")
"""Codes that name a section and no place in it: too little where the bodies show the place."""


@dataclass(frozen=True)
class Said:
    """A verdict in the words of the benchmark. ``kind`` is ``miss`` where a loss is told; ``asserted`` is False where
    the judge leaves the cause open; ``lost`` is ``None`` where it gives no tokens."""

    kind: str
    cause: str | None = None
    asserted: bool = False
    alternatives: tuple[str, ...] = ()
    lost: int | None = None
    evidence: str | None = None
    also: tuple[str, ...] = ()
    """Causes that are asserted beside it, where a word of a peer covers several of ours."""


def grade(truth: Truth, said: Said | None, form: str) -> Grade | None:
    """The grade of a verdict; ``None`` where the row is not scored."""
    if truth.outcome == "free":
        return None
    if truth.outcome in ("first", "healthy"):
        return "alarm" if said is not None and said.kind == "miss" and said.lost != 0 else "quiet"
    if said is None:
        return "missed"
    if truth.outcome == "informed":
        return _grade_informed(truth, said, form)
    if said.kind != "miss":
        return "right" if said.cause in truth.right and said.lost else "missed"
    stated = {said.cause, *said.also}
    if stated & {*truth.right}:
        return "coarse" if said.also and BLIND_TO[form] else "right"
    if stated & {*truth.coarse} and _may_be_coarse(truth, form):
        return "coarse"
    if said.asserted and said.evidence == "proved":
        return "wrong"
    if {*truth.right, *truth.coarse} & {*said.alternatives}:
        return "named"
    return "wrong" if said.asserted else "open"


def _grade_informed(truth: Truth, said: Said, form: str) -> Grade:
    if said.cause in truth.right or (said.kind == "compaction" and "AS140" in truth.right):
        return "right"
    if said.cause in truth.coarse:
        return "coarse"
    if said.kind == "miss":
        if {*truth.right, *truth.coarse} & {*said.alternatives} and said.evidence != "proved":
            return "named"
        return "wrong" if said.asserted else "open"
    if {*truth.right} & {*said.alternatives}:
        return "named"
    return "open" if said.kind == "uncached" or BLIND_TO[form] else "missed"


def _may_be_coarse(truth: Truth, form: str) -> bool:
    return bool(BLIND_TO[form]) or any(code not in SECTION_WORDS for code in truth.coarse)


@dataclass
class Score:
    """Sums of one cell, in one family and form."""

    grades: Counter[str] = field(default_factory=Counter)
    first: int = 0
    """Of the named: the true cause stands first among those that stay possible."""
    sized: int = 0
    """Losses rightly explained to which a size was given."""
    close: int = 0
    """Sizes within 5 % (or 32 tokens) of the truth; 2 % where the sizes of blocks are known."""
    above: int = 0
    """Sizes above that."""

    def add(self, truth: Truth, said: Said | None, form: str) -> Grade | None:
        """Count one verdict."""
        result = grade(truth, said, form)
        if result is None:
            return None
        self.grades[result] += 1
        if result == "named" and said is not None and said.alternatives:
            self.first += said.alternatives[0] in (*truth.right, *truth.coarse)
        if truth.outcome == "loss" and result in ("right", "coarse", "named") and said is not None and said.lost:
            self.sized += 1
            margin = max(32, truth.lost * (0.02 if form == "agentsim/1" else 0.05))
            self.close += abs(said.lost - truth.lost) <= margin
            self.above += said.lost > truth.lost + margin
        return result

    def plus(self, other: Score) -> None:
        """Take in the sums of another."""
        self.grades += other.grades
        self.first += other.first
        self.sized += other.sized
        self.close += other.close
        self.above += other.above

    @property
    def losses(self) -> int:
        """Rows of which something was to be told."""
        return sum(self.grades[name] for name in ("right", "coarse", "named", "open", "wrong", "missed"))

    @property
    def healthy(self) -> int:
        """Rows of which no loss was to be told."""
        return self.grades["quiet"] + self.grades["alarm"]

    def share(self, *names: str) -> float:
        """The share of these grades among the losses."""
        return sum(self.grades[name] for name in names) / self.losses if self.losses else 0.0


Key = tuple[str, str, str]
"""Cell, family and form."""


class Board:
    """Scores by cell, family and form."""

    def __init__(self) -> None:
        self.scores: dict[Key, Score] = {}

    def of(self, cell: str, family: str, form: str) -> Score:
        """The score of a cell, made when it is first asked for."""
        return self.scores.setdefault((cell, family, form), Score())

    def plus(self, other: Board) -> None:
        """Take in the scores of another board."""
        for key, score in other.scores.items():
            self.of(*key).plus(score)

    def forms(self) -> list[str]:
        """The forms of evidence that were scored, in a fixed order."""
        present = {form for _, _, form in self.scores}
        return [form for form in BLIND_TO if form in present]

    def total(self, form: str, families: Iterable[str] | None = None, cell: str | None = None) -> Score:
        """The sum over a form; of some families or of one cell."""
        wanted = set(families) if families is not None else None
        total = Score()
        for (name, family, of), score in self.scores.items():
            if of == form and (wanted is None or family in wanted) and (cell is None or name == cell):
                total.plus(score)
        return total
