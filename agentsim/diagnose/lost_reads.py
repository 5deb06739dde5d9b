"""Splits a lost read by its causes: what another content lost, what the rules did not serve, and what nothing explains.

Each part has its size: what would be read with this content and every rule off, what is read by the rules, and what
was read. A cause is proved only where the read that it predicts is the one that was reported.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from agentsim.cache.entry_store import CacheEntry
from agentsim.core.verdict import Divergence
from agentsim.diagnose.changed_things import words_of_change
from agentsim.diagnose.hypothesis import unproved
from agentsim.diagnose.kept_content import UnreadContent, is_replaced, summary_words, unread_content
from agentsim.diagnose.prompt_diff import address, cause_of, first_difference
from agentsim.diagnose.relax_causes import CauseFinder
from agentsim.diagnose.relax_facts import CacheRead, NamedCause, RequestFacts, Words
from agentsim.diagnose.relax_words import boundary_sentence
from agentsim.diagnose.relaxation import Relaxation, Relaxed, find_relaxed
from agentsim.diagnose.second_change import second_change

WORTH_A_BREAKPOINT = 8
"""In front of a summary one part in so many of the prompt, unchanged and without an entry at its end, is told."""

_BLOCKS = {
    "ttl": "its entry had expired",
    "readability": "its entry was not readable yet",
    "model": "another model was used",
}


class LostRead(msgspec.Struct, frozen=True):
    """A lost read with its cause. ``moved`` tokens stand behind the first difference; ``dropped`` says that content
    was left out and none put in its place, ``summarised`` that something shorter replaced the history."""

    named: NamedCause
    words: Words
    lost: int
    moved: int = 0
    dropped: bool = False
    summarised: bool = False


class LossFinder:
    """Finds how much a request lost compared with the one before it in its lane, and to what."""

    def __init__(self, causes: CauseFinder, tokens_of: Callable[[RequestFacts, CacheEntry | None], int]) -> None:
        self._causes = causes
        self._tokens_of = tokens_of

    def of_equal_content(self, seen: RequestFacts, parent: RequestFacts, reading: CacheRead) -> LostRead:
        """All that the request before had kept is repeated, and was not read."""
        words = Words()
        lost = min(parent.warm_tokens, seen.total) - reading.tokens
        relaxed = None
        if _agrees(reading):
            relaxed = self._causes.relax(seen, parent, parent.warm)
        moved = None
        if relaxed is not None and all(one.rule == "setting" for one in relaxed):
            # Where another cache was asked, nothing that the request says can matter.
            moved = self._causes.elsewhere(seen, parent, reading, words)
        if moved is not None:
            named = moved
        elif relaxed is None:
            named = self._causes.unexplained(seen, parent, reading, words)
        else:
            named = self._causes.named(seen, parent, relaxed, parent.warm, words, reading.tokens)
        return LostRead(named, words, lost)

    def without_breakpoints(self, seen: RequestFacts, parent: RequestFacts) -> LostRead | None:
        """The request carries no breakpoint, so that nothing was looked up; ``None`` where nothing was there."""
        common = parent.prompt.common_length(seen.prompt)
        unread = unread_content(parent.prompt, parent.warm, seen.prompt, common, 0)
        lost = min(unread.tokens, parent.warm_tokens, seen.total)
        if lost <= 0:
            return None
        words = Words()
        words.established.append(
            f"No breakpoint anywhere among {len(seen.prompt)} blocks; request {parent.request.id} had "
            f"{len(parent.asked.breakpoints)}. What it kept was not looked up."
        )
        words.fix = "Send the breakpoints with every request of the conversation, this one too."
        also = tuple(self._causes.code(one, seen, parent) for one in self._causes.blocked(seen, parent))
        return LostRead(NamedCause("AS305", "proved", also), words, lost)

    def of_changed_content(self, seen: RequestFacts, parent: RequestFacts, common: int, reading: CacheRead) -> LostRead:
        """The content differs in front of where the request before had kept it."""
        old, new, words = parent.prompt, seen.prompt, Words()
        place = first_difference(old, new)
        assert place is not None
        unread = unread_content(old, parent.warm, new, common, reading.tokens, place.change)
        spent = max(0, seen.total - reading.tokens)
        lost = min(unread.tokens, spent, max(0, parent.warm_tokens))
        summarised = is_replaced(common, old, new, parent.total, seen.total)
        code = "AS131" if summarised else _volatile_end(parent, seen, common) or cause_of(place, old, new)
        blocked = self._causes.blocked(seen, parent)
        dropped_marker = code == "AS306" and len(new) > common + 1
        everything = (*blocked, Relaxation("ttl"), Relaxation("readability"))
        best = find_relaxed(self._causes.question(seen, 1), tuple(dict.fromkeys(everything)))
        reachable = self._tokens_of(seen, best)
        words.established.append(boundary_sentence(new, common, new.tokens_until(common)))
        unserved = max(0, reachable - reading.tokens)
        named = self._weighed(seen, parent, place, code, blocked, best, unserved, lost, reading, words)
        if dropped_marker and named.cause == "AS306":
            named = named._replace(alternatives=("AS123", *named.alternatives))
        sentences, fix = words_of_change(named.place, old, new)
        words.established += sentences
        second = second_change(place, old, new)
        if second is not None:
            words.established.append(second.sentence)
            named = named._replace(alternatives=tuple(dict.fromkeys((*named.alternatives, second.code))))
        words.fix = words.fix or fix
        self._say_more(seen, parent, common, unread, best, summarised, reading, words)
        dropped = not unread.later
        worth_keeping = summarised and unread.front * WORTH_A_BREAKPOINT >= seen.total
        if dropped and not unserved and not worth_keeping and code not in ("AS306", "AS123"):
            # What stands in front of the difference and was not read had no entry of its own: that is a rewind.
            marked = common > 0 and any(marker.position + 1 == common for marker in parent.asked.usable)
            if _ends_differ(parent, seen, common) and not marked:
                lost = 0
        return LostRead(named, words, lost, unread.behind, dropped, summarised)

    def _weighed(
        self,
        seen: RequestFacts,
        parent: RequestFacts,
        place: Divergence,
        code: str,
        blocked: Relaxed,
        best: CacheEntry | None,
        unserved: int,
        lost: int,
        reading: CacheRead,
        words: Words,
    ) -> NamedCause:
        """The cause of the larger part, with what it rests on; the others are named beside it."""
        also = tuple(self._causes.code(relaxation, seen, parent) for relaxation in blocked)
        reasons = " and ".join(_BLOCKS.get(one.rule, f"{one.name} differs") for one in blocked)
        near = abs(reading.tokens - self._tokens_of(seen, best)) * 100 <= reading.tokens
        if near or (best is None and not reading.tokens):
            # With all rules off it would have read the same: the content alone explains it.
            if also:
                words.established.append(f"Equal content would not have been read either: {reasons}.")
            return NamedCause(code, "proved", also, place)
        if _agrees(reading):
            relaxed = self._causes.relax_to(seen, parent, 0 if best is None else best.length) or blocked
            if relaxed and unserved * 2 > lost:
                length = parent.warm if best is None else best.length
                named = self._causes.named(seen, parent, relaxed, length, words, reading.tokens)
                words.established.append(
                    f"That lost {unserved:,} tokens; the change of content lost the other {lost - unserved:,}."
                )
                return NamedCause(named.cause, named.evidence, (*named.alternatives, code), place)
            if relaxed:
                words.established.append(
                    f"Of the loss {unserved:,} tokens stand in front of the change: "
                    f"{reasons or 'the rules do not serve them'}."
                )
            return NamedCause(code, "proved", also, place)
        front = seen.prompt.tokens_until(place.block) if place.block is not None else 0
        if reading.tokens > reading.predicted and abs(front - reading.tokens) * 50 <= front:
            words.established.append("All of it was read, from an entry that no logged request wrote.")
            return NamedCause(code, unproved(also), also, place)
        found = self._causes.unexplained(seen, parent, reading, words, equal=False)
        if found.evidence == "proved":
            return NamedCause(found.cause, "proved", (code, *also), place)
        others = (*found.alternatives, code) if not reading.tokens else (code, *found.alternatives)
        return NamedCause(found.cause, found.evidence, (*others, *also), place)

    def _say_more(
        self,
        seen: RequestFacts,
        parent: RequestFacts,
        common: int,
        unread: UnreadContent,
        best: CacheEntry | None,
        summarised: bool,
        reading: CacheRead,
        words: Words,
    ) -> None:
        """Where content that was cached stands now, and what would have kept it readable."""
        if unread.front >= seen.asked.rules.minimum and best is not None and best.length < common:
            words.established.append(
                f"Of the equal front {unread.front:,} tokens were not read: no entry ends between "
                f"{address(seen.prompt[best.length - 1])} and the difference."
            )
        told = summary_words(unread, reading.tokens) if summarised else None
        if told is not None:
            words.established.append(told[0])
            words.fix = told[1]


def _agrees(reading: CacheRead) -> bool:
    return not reading.reported or reading.tokens == reading.predicted or reading.estimated


def _volatile_end(parent: RequestFacts, seen: RequestFacts, common: int) -> str | None:
    """AS306 where the block that carried the last breakpoint is not sent again: it was dropped when the answer came, or
    both prompts end with a block of their own in that place."""
    old, new = parent.prompt, seen.prompt
    if common != parent.warm - 1 or common >= len(new) or old[common].section != "messages":
        return None
    if old[common].role == "assistant" or not any(one.position == common for one in parent.asked.breakpoints):
        return None
    if len(old) == common + 1 and common and new[common].role == "assistant" and old[common - 1].role != "assistant":
        return "AS306"
    if len(new) == common + 1 and len(old) == common + 1:
        ends = seen.asked.breakpoints[-1].position if seen.asked.breakpoints else None
        return "AS306" if ends == common else None
    return None


def _ends_differ(parent: RequestFacts, seen: RequestFacts, common: int) -> bool:
    """True when an answer of the old prompt is not in the new one any more: the conversation went back."""
    left = {seen.prompt[at].digest for at in range(common, len(seen.prompt))}
    old = parent.prompt
    return any(old[at].role == "assistant" and old[at].digest not in left for at in range(common, len(old))) or len(
        seen.prompt
    ) <= len(old)
