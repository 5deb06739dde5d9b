"""A change behind the one that broke the prefix: the cure of the first alone restores nothing behind the second."""

from __future__ import annotations

from typing import NamedTuple

from agentsim.core.prompt import Prompt
from agentsim.core.verdict import Divergence
from agentsim.diagnose.place_cause import cause_of
from agentsim.diagnose.prompt_diff import first_difference


class SecondChange(NamedTuple):
    """The cause that the second change would be by itself, and a sentence on it."""

    code: str
    sentence: str


def second_change(place: Divergence, old: Prompt, new: Prompt) -> SecondChange | None:
    """What changed in the system text beside a change of the tools in front of it; ``None`` where it is the same."""
    if place.section != "tools":
        return None
    before, after = (
        Prompt.of(one[at] for at in range(one.section_end("tools"), one.section_end("system"))) for one in (old, new)
    )
    change = first_difference(before, after)
    if change is None:
        if len(after) == len(before) or not len(before):
            return None
        return SecondChange("AS110", f"The system text grew, too: {_BOTH}")
    if change.change == "shape":
        return None
    return SecondChange(cause_of(change, before, after), f"{change.address} changed, too: {_BOTH}")


_BOTH = "the cure of one alone restores nothing behind the other."
