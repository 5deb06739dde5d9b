"""A setting in the key changed: the model, or a parameter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentsim.diagnose.hypothesis import Hypothesis, Standing
from agentsim.diagnose.row_case import RowCase

if TYPE_CHECKING:
    from agentsim.diagnose.body_case import BodyCase

_MODEL = "The model changed; each model has a cache of its own."


def on_settings(case: RowCase) -> Iterator[Hypothesis]:
    """What the log shows to have changed, and what it does not show at all."""
    row, parent = case.row, case.parent
    if row.model != parent.model:
        yield Hypothesis("AS404", "sufficient", _MODEL, weight=170)
    yield _speed(case)
    yield _effort(case)
    yield _images(case)
    for code, settings, weight in _HIDDEN:
        yield Hypothesis(code, _hidden(case, settings), weight=weight)


_HIDDEN = (
    ("AS402", ("thinking",), 14),
    ("AS401", ("tool_choice",), 13),
    ("AS407", ("citations", "betas", "verbosity", "service_tier", "text_format"), 12),
)
"""Settings that no row shows, by the code of their change."""


def _hidden(case: RowCase, settings: tuple[str, ...]) -> Standing:
    """How a change stands that no row could show."""
    if case.equal or (case.reach.in_conversation and not case.row.automatic):
        return "excluded"
    if case.settled:
        return "open"
    spared = (0, 1) if _head_lost(case) else (0,)
    return "excluded" if all(case.keyed_sections(name) in spared for name in settings) else "open"


def _speed(case: RowCase) -> Hypothesis:
    row, parent = case.row, case.parent
    if row.speed is None or parent.speed is None:
        return Hypothesis("AS406", _unseen(case, "speed"), weight=6)
    if row.speed == parent.speed:
        return Hypothesis("AS406", "excluded", f"The speed was {row.speed} before and now.")
    if case.keyed_sections("speed") == 0:
        return Hypothesis("AS406", "excluded", "Speed is no part of the key here.")
    if case.reach.in_conversation:
        return Hypothesis(
            "AS406", "excluded", "Some of the conversation was read, which another speed leaves nothing of."
        )
    sentence = f"The speed changed from {parent.speed} to {row.speed}: system text and messages have entries for each."
    return Hypothesis("AS406", "sufficient", sentence, weight=145)


def _effort(case: RowCase) -> Hypothesis:
    row, parent = case.row, case.parent
    if row.effort is None or parent.effort is None:
        return Hypothesis("AS403", _unseen(case, "effort"), weight=15)
    if row.effort == parent.effort:
        return Hypothesis("AS403", "excluded", f"The effort was {row.effort} before and now.")
    changed = f"Just before this request the effort level changed from {parent.effort} to {row.effort}"
    if case.keyed_sections("effort") == 0:
        return Hypothesis("AS403", "excluded", f"{changed}, which is no part of the key here.")
    if case.reach.in_conversation:
        return Hypothesis("AS403", "excluded", f"{changed}, which leaves nothing of the conversation to be read.")
    if case.keyed_sections("effort") == 1 and _head_lost(case):
        # It would have left tools and system, which the harnesses that write such logs mark.
        return Hypothesis("AS403", "open", f"{changed}, which alone would leave tools and system.", weight=16)
    check = "A full recording of the request bodies would prove it."
    return Hypothesis("AS403", "sufficient", f"{changed}.", check, weight=140)


def _images(case: RowCase) -> Hypothesis:
    row = case.row
    if row.automatic or case.equal or case.reach.in_conversation:
        return Hypothesis("AS405", "excluded")
    if row.image and not case.parent.image:
        sentence = "The first image of this conversation came just before this request"
        if _head_lost(case):
            return Hypothesis("AS405", "open", f"{sentence}, which alone would leave tools and system.", weight=16)
        sentence += "."
        return Hypothesis("AS405", "sufficient", sentence, weight=135)
    return Hypothesis("AS405", "open", weight=4 if case.reach.place == "nothing" else 11)


def _unseen(case: RowCase, setting: str) -> Standing:
    """How a setting stands that the log does not tell."""
    if case.equal or (case.reach.in_conversation and not case.row.automatic):
        return "excluded"
    return "open" if case.settled or case.keyed_sections(setting) != 0 else "excluded"


def _head_lost(case: RowCase) -> bool:
    """Whether less than tools and system was read in a log of a harness that marks them: more is lost then than what
    stands in the key of the messages alone can lose."""
    return case.conversation and case.reach.place in ("nothing", "front")


def settings_by_bodies(case: BodyCase) -> Iterator[Hypothesis]:
    """Another model; a setting that is part of the key; one of which nobody says whether it is."""
    foretold = (case.predicted, case.predicted)
    if case.this.request.model != case.parent.request.model:
        yield Hypothesis("AS404", "sufficient", _MODEL, weight=200, predicted=foretold)
    least = case.predicted - case.near if case.read else 0
    if case.keyed and least <= case.read <= min(case.predicted, case.front) + case.near:
        sentence = f"{' and '.join(case.keyed)} changed; by the rules it is part of the key."
        code = case.code_of_setting(case.keyed[0])
        yield Hypothesis(code, "sufficient", sentence, weight=170, predicted=foretold)
    for number, name in enumerate(case.changed):
        yield Hypothesis(case.code_of_setting(name), "open", weight=60 - min(number, 4))
