"""The prefix itself changed: tools, system text, or the conversation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentsim.core.session import EventKind
from agentsim.diagnose.hypothesis import Hypothesis, Standing
from agentsim.diagnose.row_case import RowCase
from agentsim.diagnose.row_reach import TURN

if TYPE_CHECKING:
    from agentsim.diagnose.body_case import BodyCase

_RECORD = "A full recording of the request bodies would prove it."
_DROPPED = "What was dropped or rewritten: compaction, pruning, or a restart that rebuilt the history."
_NOT_IN_LOG = "Tools, system and parameters, which the log does not hold: record full bodies to see them."

_TURN_END = 2048
"""Tokens that a new turn may drop of the one before by itself: its thinking, its reminders."""

MOST = 2
"""A prompt of which less than one in this many tokens is left was replaced, and not merely thinned out."""


def on_prefix(case: RowCase) -> Iterator[Hypothesis]:
    """What the log marks as changed, then what the size of the prompt and the reach of the read point to."""
    if "clearing" in case.row.events:
        sentence = "The log marks old tool results as cleared just before this request."
        yield Hypothesis("AS122", "sufficient", sentence, weight=190)
    if case.equal:
        return
    yield from _seen(case)
    yield from _announced(case)
    yield from _shrunk(case)
    yield from _reached(case)


def _seen(case: RowCase) -> Iterator[Hypothesis]:
    """What the log shows to differ in the messages of the two prompts."""
    if case.row.change is None:
        return
    code, place = case.row.change
    sentence = f"{place.address or 'The messages'} differs from what was sent before"
    if case.reach.place in ("nothing", "front") and not case.row.automatic:
        yield Hypothesis(code, "open", f"{sentence}, which alone would leave tools and system.", weight=60)
    elif case.reach.place == "nothing":
        yield Hypothesis(code, "open", f"{sentence}, and not even what stands in front of it was read.", weight=60)
    else:
        yield Hypothesis(code, "sufficient", f"{sentence}.", weight=142)


def _announced(case: RowCase) -> Iterator[Hypothesis]:
    """What the harness wrote down between the two requests. It bears on what stands in front of the conversation."""
    row, parent = case.row, case.parent
    if case.reach.in_conversation and not row.automatic:
        return
    if row.version and parent.version and row.version != parent.version:
        sentence = f"The harness was upgraded from {parent.version} to {row.version} just before this request."
        yield Hypothesis("AS408", "likely", sentence, _RECORD, weight=92)
    tools = "tools_delta" in row.events
    if not tools and "instructions_delta" not in row.events:
        return
    which = _details(case, ("tools_delta", "instructions_delta"))
    sentence = f"Just before this request the harness announced other tools or instructions{which}."
    # Tools stand first: where something was read, they were the same.
    codes = (*_way(case), "AS105", "AS112") if tools and case.reach.place == "nothing" else ("AS112", "AS105")
    yield Hypothesis(codes[0], "likely", sentence, _RECORD, weight=91)
    if tools:
        for number, code in enumerate(codes[1:]):
            yield Hypothesis(code, "open", weight=90 - number)


def _way(case: RowCase) -> tuple[str, ...]:
    """The code of tools that came, or of tools that went, where the log tells of one of the two alone."""
    told = [part for kind, text in case.row.notes if kind == "tools_delta" for part in text.split("; ")]
    if told and all(part.endswith(" came") for part in told):
        return ("AS101",)
    return ("AS102",) if told and all(part.endswith(" went") for part in told) else ()


def _details(case: RowCase, kinds: tuple[EventKind, ...]) -> str:
    told = dict.fromkeys(text for kind, text in case.row.notes if kind in kinds)
    return f" ({'; '.join(told)})" if told else ""


def _shrunk(case: RowCase) -> Iterator[Hypothesis]:
    """The prompt is shorter than the one before although it grew from it."""
    row, parent = case.row, case.parent
    slack = 0
    if row.automatic:
        slack = _TURN_END if "prompt_submitted" in row.events else row.step + TURN
    if row.total >= parent.warm or case.shrunk <= slack or row.change is not None:
        return
    sentence = f"The prompt shrank by {case.shrunk:,} tokens with no mark in the log."
    if case.reach.place == "nothing":
        # A summary or a clearing leaves tools and system; nothing was read, so that these changed as well, or alone.
        if case.conversation and (row.appended or 0) > 0 and case.shrunk * MOST < parent.total:
            more = f"{sentence} The conversation in it grew: tools or system text went."
            yield Hypothesis("AS105", "likely", more, _RECORD, weight=70)
        else:
            yield Hypothesis("AS131", "open", sentence, _DROPPED, weight=20)
        return
    front = row.read if not case.reach.in_conversation else 0
    replaced = (row.total - front) * MOST < parent.total - front and not case.reach.in_conversation
    if replaced:
        yield Hypothesis("AS131", "likely", sentence, _DROPPED, weight=70)
        yield Hypothesis("AS122", "open", weight=55)
        yield Hypothesis("AS121", "open", weight=54)
    else:
        yield Hypothesis("AS130", "likely", f"{sentence} Old content was removed or cleared.", _DROPPED, weight=70)
        for number, code in enumerate(("AS122", "AS121", "AS131")):
            yield Hypothesis(code, "open", weight=56 - number)


def _reached(case: RowCase) -> Iterator[Hypothesis]:
    """The section that changed stands behind what was read."""
    place = case.reach.place
    if case.row.automatic:
        yield from _open(_AUTOMATIC[case.reach.in_conversation])
        return
    if place == "nothing":
        standing: Standing = "open" if case.conversation else "likely"
        check = _NOT_IN_LOG if case.conversation else _ANYWHERE
        yield Hypothesis("AS190", standing, None, check, weight=60)
        yield from _open((("AS105", 36), ("AS112", 34), ("AS130", 10)))
    elif place == "front":
        sentence = "Tools were read, and of the system text what sessions share: what changed stands behind that."
        yield Hypothesis("AS112", "likely", sentence, _NOT_IN_LOG, weight=60)
        yield from _open((("AS105", 36), ("AS130", 20)))
    elif place == "floor" or (place == "inside" and not case.conversation):
        yield Hypothesis("AS190", "likely", None, _BEHIND, weight=60)
        yield from _open((("AS130", 36), ("AS112", 35), ("AS105", 18)))
    else:
        if case.row.grown:
            yield Hypothesis("AS130", "open", weight=22)
            return
        what = "the first message" if place in ("head", "inside") else "the conversation"
        told = f"What changed stands in {what} or behind it." if place == "head" else None
        check = f"What changed in {what}: record full bodies to see it."
        yield Hypothesis("AS130", "likely", told, check, weight=60)
        if place in ("head", "inside"):
            yield from _open((("AS112", 20), ("AS105", 9)))
    if case.again:
        # The same loss in one request after the other: the end of each prompt is not what the next one sends there.
        yield from _open((("AS123", 39),))


_BEHIND = "What changed after the part that was read: history or a parameter, and when."
_ANYWHERE = "Where the change is: a total cannot place it. Inspect tools, system, messages and parameters."
_AUTOMATIC = {
    True: (("AS130", 40), ("AS122", 12), ("AS121", 11)),
    False: (("AS105", 42), ("AS112", 41), ("AS130", 40)),
}


def _open(codes: tuple[tuple[str, int], ...]) -> Iterator[Hypothesis]:
    for code, weight in codes:
        yield Hypothesis(code, "open", weight=weight)


FRONT_INEXACT = 8
"""Sizes of blocks are estimates: a front may be larger or smaller than they add up to by one part in so many."""

_KEEPS_THINKING = {"zai": "thinking.clear_thinking = false", "qwen": "preserve_thinking = true"}
"""Parameters that have a server show a model the thinking of earlier turns, from the providers' own pages, 2026."""


def prefix_by_bodies(case: BodyCase) -> Iterator[Hypothesis]:
    """The first difference of the two prompts; thinking that a server leaves out; a loss that is still made good."""
    if case.place is not None and case.code is not None:
        yield _differs(case, case.code)
        return
    if case.ends_at_thinking():
        yield _thinking_left_out(case)
    last = case.parent.verdict
    if last is not None and last.kind == "miss" and case.read > case.parent.read and last.cause is not None:
        sentence = (
            f"After the loss of request {case.parent.request.id} the read climbs back in steps: "
            f"{case.parent.read:,}, {case.read:,}."
        )
        yield Hypothesis(last.cause, "likely", sentence, weight=100)


def _differs(case: BodyCase, code: str) -> Hypothesis:
    read, front, edge = case.read, case.front, case.edge
    said = Hypothesis(code, "open", weight=65 if read else 55, predicted=(case.reach, edge), place=case.place)
    if said.foretells(read, case.near):
        # The change alone is enough for that read, whoever answers and however long it was idle.
        words = f"All {max(front, min(read, edge)):,} tokens in front of the first difference that count in whole "
        words += "steps were read."
        if case.reach < front and read < front:
            words = (
                f"The prompts begin with the same {front:,} tokens, but no stored unit ends there yet; "
                "what two requests have in common is stored as one from the second of them on."
            )
        return said._replace(standing="sufficient", sentence=words, weight=190)
    again = case.known_there
    if again > edge + case.near and abs(read - again) <= case.near:
        # It changed back: what was kept under the older form is read, and only what came since is not.
        words = f"The prompt is again what it was before: the {again:,} tokens of it that were sent then were read."
        return said._replace(standing="sufficient", sentence=words, weight=190, predicted=(again, again))
    if read and max(front - read, read - edge) * FRONT_INEXACT <= edge:
        words = f"About {edge:,} tokens stand in front of the first difference, as far as sizes are known."
        return said._replace(standing="likely", sentence=words, weight=130)
    if case.near < read < front and 2 * (front - read) < case.behind:
        words = (
            f"Of what was cached {case.behind:,} tokens stood behind the first difference, where nothing can be read; "
            f"the {front - read:,} in front of it were not found either."
        )
        return said._replace(standing="likely", sentence=words, weight=120)
    if code == "AS407" and not read:
        words = "The format of the answer changed; providers render it in front of all else or behind the tools."
        return said._replace(standing="likely", sentence=words, weight=80)
    return said


def _thinking_left_out(case: BodyCase) -> Hypothesis:
    """A server that renders a new turn without the thinking of earlier ones."""
    sentence = (
        f"A new turn began, and the read of {case.read:,} ends where thinking of an earlier turn stands: the server "
        "shows the model earlier turns without it, so that what stands behind it has to be processed anew."
    )
    setting = _KEEPS_THINKING.get(case.this.request.provider, "the setting that keeps it, where the provider has one")
    fix = f"Have the thinking of earlier turns kept: {setting}, from the first request on."
    return Hypothesis("AS402", "likely", sentence, weight=110, fix=fix)
