"""Verdicts by bodies: relax the provider's rules one by one until a lost read is restored.

Two references say what a request could have read: the prompt that its lane sent before, and the longest prefix that it
shares with any earlier or concurrent request. What is missing parts in two: behind the first difference the content
itself is another one; in front of it an entry was not served. For the second part the prompt is looked up again, as
things stood at that moment, with rules switched off. The smallest set that restores the read is the cause.

What is judged is the read that the log reports; where it reports none, the one that the model predicts.
"""

from __future__ import annotations

import msgspec

from agentsim.cache import NOTHING
from agentsim.cache.entry_store import CacheEntry
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.simulate import arrivals_of
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Session, Usage
from agentsim.core.verdict import LEAST_LOSS, Kind, Prediction, Verdict
from agentsim.diagnose.automatic_bodies import AutomaticJudge
from agentsim.diagnose.diagnosis_totals import in_equivalents, price_of_loss
from agentsim.diagnose.lost_reads import LossFinder, LostRead
from agentsim.diagnose.prompt_diff import cause_of
from agentsim.diagnose.relax_causes import CauseFinder
from agentsim.diagnose.relax_facts import CacheRead, NamedCause, RequestFacts, Words
from agentsim.diagnose.relaxation import Relaxation, find_relaxed
from agentsim.diagnose.shared_heads import SharedHeads, head_end
from agentsim.diagnose.uncached_rows import is_served, uncached
from agentsim.rules.prices import default_book


def judge_bodies(session: Session, provider: ModeledProvider | None = None) -> tuple[Verdict, ...]:
    """One verdict per request, in the session's order. Requests without a prompt are judged "unreported".

    ``provider`` is the model to judge by (by default: the documented rules of each request's model and time). It must
    not have served anything yet. A request whose provider has no known rules is judged "unreported", too.
    """
    judge = _Judge(provider or ModeledProvider(), session)
    verdicts = {id(request): judge.judge(request, now) for now, request in arrivals_of(session.requests)}
    return tuple(verdicts[id(request)] for request in session.requests)


SIZES_INEXACT = 4
"""Only the size of a whole prompt is counted. A part of it may be larger or smaller than was estimated, by one part in
so many, where tools, pictures and prose stand side by side."""

LEAST_SHARED = 1_024
"""Tokens; siblings that wrote less than this each for itself are not worth a breakpoint of their own."""


class _Judge:
    def __init__(self, provider: ModeledProvider, session: Session) -> None:
        self._provider = provider
        self._causes = CauseFinder(provider, self._tokens_of)
        self._losses = LossFinder(self._causes, self._tokens_of)
        self._compacted = {event.before for event in session.events if event.kind == "compaction"}
        self._automatic = AutomaticJudge(frozenset(self._compacted))
        self._seen: dict[str, RequestFacts] = {}
        self._lanes: dict[str, RequestFacts] = {}
        self._heads = SharedHeads()
        self._sizes: dict[bytes, int] = {}
        """Sizes of entries inside prompts, once a request has reported to have read them; by digest."""
        self._ends: dict[bytes, RequestFacts] = {}
        """The last request whose last breakpoint ended a prefix; by its chained digest."""
        self._passed: dict[bytes, RequestFacts] = {}
        """The last request whose prompt forked at, or first reached, a prefix; by its chained digest."""

    def judge(self, request: Request, now: int) -> Verdict:
        usage = request.usage
        if request.prompt is None:
            return Verdict(request=request.id, kind="unreported", to_check=("No body of this request was recorded.",))
        try:
            asked = self._provider.ask(request, now)
        except ValueError as error:
            automatic = self._automatic.judge(request, now)
            if automatic is not None:
                return automatic
            return Verdict(request=request.id, kind="unreported", to_check=(f"Cannot be judged: {error}.",))
        parent = self._parent(request)
        hit = None if asked.rejected else self._provider.find(request, asked, now)
        modeled = NOTHING if asked.rejected else self._provider.bill(request, asked, hit)
        reported = usage is not None and usage.total_input is not None
        seen = RequestFacts(request, asked, now, usage if reported and usage is not None else modeled)
        shared, sibling = self._shared(request.prompt)
        reading = self._reading(seen, hit, modeled, reported)
        verdict = self._verdict(seen, parent, shared, sibling, reading, modeled)
        if asked.rejected is None or is_served(usage):
            self._record(seen, reading, shared, parent)
        seen.verdict, seen.number = verdict, len(self._seen)
        lost = verdict.kind in ("miss", "recovered")
        seen.last_loss = seen if lost else None if parent is None else parent.last_loss
        self._seen[request.id] = self._lanes[request.lane] = seen
        return verdict

    def _parent(self, request: Request) -> RequestFacts | None:
        known = self._seen.get(request.parent) if request.parent is not None else None
        return known if known is not None else self._lanes.get(request.lane)

    def _shared(self, prompt: Prompt) -> tuple[int, RequestFacts | None]:
        """How many blocks the prompt shares with an earlier one at most, and a request that has them."""
        for length in range(len(prompt), 0, -1):
            found = self._passed.get(prompt.chain(length))
            if found is not None:
                return length, found
        return 0, None

    def _reading(self, seen: RequestFacts, hit: CacheEntry | None, modeled: Usage, reported: bool) -> CacheRead:
        predicted = self._tokens_of(seen, hit)
        if not reported or seen.usage.read is None:
            return CacheRead(modeled.read or 0, modeled.read or 0, False, hit, hit)
        read = seen.usage.read
        if read == predicted:
            return CacheRead(read, predicted, True, hit, hit)
        shown = self._shown_by(seen, read)
        if shown is not None:
            return CacheRead(read, predicted, True, hit, shown)
        if hit is not None and self._is_estimate(seen, hit) and self._is_nearest(seen, hit, read):
            # No request ended there, so its size was only estimated; now it is known.
            self._sizes[hit.digest] = read
            return CacheRead(read, predicted, True, hit, hit, estimated=True)
        longer = self._outlived(seen, read)
        if longer is not None:
            return CacheRead(read, read, True, hit, longer)
        entry = self._entry_that_gives(seen, read)
        outlived = entry is not None and read > predicted and self._lives_by_the_end(seen, entry)
        return CacheRead(read, predicted, True, hit, entry, estimated=outlived)

    def _shown_by(self, seen: RequestFacts, read: int) -> CacheEntry | None:
        """The entry of another key whose reported size is what was read: the settings that differ are not in the key,
        whatever the rules say, and from now on it is found."""
        if not read:
            return None
        address, store = seen.asked.address, self._provider.store_of(seen.request)
        for length in range(len(seen.prompt), 0, -1):
            writer = self._ends.get(address.chain(length))
            if writer is None or writer.warm_tokens != read or writer.request.model != seen.request.model:
                continue
            entry = writer.asked.address.space_at(length).entries.get(address.chain(length))
            own = address.space_at(length)
            if entry is not None and entry.space is not own and store.alive(entry, seen.now):
                own.entries[entry.digest] = entry
                return entry
        return None

    def _outlived(self, seen: RequestFacts, read: int) -> CacheEntry | None:
        """An entry of the size read whose lifetime ended within the time of grace: it may be served or not."""
        rules = seen.asked.rules
        if not rules.ttl_grace and not rules.ttl_grace_long:
            return None
        entry = find_relaxed(self._causes.question(seen, 1), (Relaxation("ttl"),))
        if entry is None or self._tokens_of(seen, entry) != read:
            return None
        grace = rules.ttl_grace_long if entry.ttl > rules.ttl_short * SECOND else rules.ttl_grace
        return entry if seen.now <= entry.used + entry.ttl + grace * SECOND else None

    def _lives_by_the_end(self, seen: RequestFacts, entry: CacheEntry) -> bool:
        """True when the entry, expired by the documentation, had not if its lifetime counts from the end of the last
        response, as session logs suggest."""
        if self._provider.store_of(seen.request).alive(entry, seen.now):
            return False
        last = self._lanes.get(seen.request.lane)
        end = None if last is None else last.request.end
        return end is not None and entry.used < end and seen.now <= end + entry.ttl

    def _entry_that_gives(self, seen: RequestFacts, read: int) -> CacheEntry | None:
        """The entry on this prompt's chain, alive or not, that has the size read."""
        if read == 0:
            return None
        address = seen.asked.address
        for length in range(len(seen.prompt), 0, -1):
            entry = address.space_at(length).entries.get(address.chain(length))
            if entry is not None and self._tokens_of(seen, entry) == read:
                return entry
        return None

    def _is_nearest(self, seen: RequestFacts, hit: CacheEntry, read: int) -> bool:
        """Whether a read that is no known size of an entry can only be of this one: sizes of blocks are inexact, and of
        the entries on this prompt's chain whose sizes are estimates this one's comes nearest."""
        off = abs(read - self._tokens_of(seen, hit))
        if off * SIZES_INEXACT > read:
            return False
        address = seen.asked.address
        for length in range(len(seen.prompt), 0, -1):
            entry = address.space_at(length).entries.get(address.chain(length))
            if entry is not None and entry is not hit and abs(read - self._tokens_of(seen, entry)) <= off:
                return False
        return True

    def _is_estimate(self, seen: RequestFacts, entry: CacheEntry) -> bool:
        writer = self._seen.get(entry.owner)
        if (writer is not None and writer.warm == entry.length) or entry.digest in self._sizes:
            return False
        return seen.prompt[entry.length - 1].origin != "measured"

    def _tokens_of(self, seen: RequestFacts, entry: CacheEntry | None) -> int:
        """The size of an entry: what its writer reported, where it ends with the writer's last breakpoint."""
        if entry is None:
            return 0
        writer = self._seen.get(entry.owner)
        if writer is not None and writer.warm == entry.length:
            return writer.warm_tokens
        known = self._sizes.get(entry.digest)
        if known is not None:
            return known
        return seen.prompt.tokens_until(entry.length)

    def _record(self, seen: RequestFacts, reading: CacheRead, shared: int, parent: RequestFacts | None) -> None:
        request, asked, prompt = seen.request, seen.asked, seen.prompt
        self._causes.knows(request)
        self._provider.record(request, asked, seen.now, reading.entry)
        if asked.usable:
            seen.warm = asked.usable[-1].position + 1
            usage = seen.usage
            known = usage.read is not None and usage.write is not None
            seen.warm_tokens = (usage.read or 0) + (usage.write or 0) if known else prompt.tokens_until(seen.warm)
            long = asked.usable[-1].ttl > asked.rules.ttl_short
            self._ends[asked.address.chain(seen.warm)] = seen
            seen.had_long = long or (parent is not None and parent.had_long)
        for length in range(max(shared, 1), len(prompt) + 1):
            self._passed[prompt.chain(length)] = seen

    def _verdict(
        self,
        seen: RequestFacts,
        parent: RequestFacts | None,
        shared: int,
        sibling: RequestFacts | None,
        reading: CacheRead,
        modeled: Usage,
    ) -> Verdict:
        request, usage = seen.request, seen.usage
        if request.usage is not None and usage is request.usage and usage.read is None and usage.write is None:
            return Verdict(request=request.id, kind="unreported", cause="AS910", evidence="proved")
        never = uncached(seen, modeled, parent)
        if never is not None:
            vanished = None if parent is None else self._vanished(seen, parent, reading)
            return vanished or never
        if parent is None:
            return self._beginning(seen, shared, sibling, reading)
        warm, expected = parent.warm, min(parent.warm_tokens, seen.total)
        if not warm:
            return self._beside(seen, parent, "first", shared, sibling, reading)
        common = parent.prompt.common_length(seen.prompt)
        if common == len(seen.prompt) and common < warm:
            return self._shorter(seen, parent, reading)
        if common >= warm and reading.tokens >= expected:
            return self._whole(seen, parent, shared, sibling, reading)
        if common >= warm:
            return self._finish(seen, parent, self._losses.of_equal_content(seen, parent, reading), reading)
        return self._after_a_change(seen, parent, common, shared, sibling, reading)

    def _whole(
        self,
        seen: RequestFacts,
        parent: RequestFacts,
        shared: int,
        sibling: RequestFacts | None,
        reading: CacheRead,
    ) -> Verdict:
        """All that the request before left was read: no miss, whatever else changed."""
        plain = self._plain(seen, parent, "hit", reading, expected=parent.warm_tokens)
        if sibling is None or seen.request.model != sibling.request.model:
            return plain
        there = seen.prompt.tokens_until(shared)
        if parent.request.lane != seen.request.lane:
            return self._beside(seen, parent, "hit", shared, sibling, reading)
        if reading.reported and reading.tokens > max(there + there // 100, reading.predicted):
            return msgspec.structs.replace(plain, kind="extended", unlogged=reading.tokens - parent.warm_tokens)
        return plain

    def _vanished(self, seen: RequestFacts, parent: RequestFacts, reading: CacheRead) -> Verdict | None:
        """A request that carries no breakpoint, after one that left something to be read."""
        if not parent.warm or seen.asked.breakpoints or seen.asked.rejected is not None:
            return None
        found = self._losses.without_breakpoints(seen, parent)
        return None if found is None else self._finish(seen, parent, found, reading)

    def _after_a_change(
        self,
        seen: RequestFacts,
        parent: RequestFacts,
        common: int,
        shared: int,
        sibling: RequestFacts | None,
        reading: CacheRead,
    ) -> Verdict:
        """The content is another one from a place on that had been kept."""
        found = self._losses.of_changed_content(seen, parent, common, reading)
        compacted = seen.request.id in self._compacted or found.summarised
        if compacted and found.lost < max(1, seen.asked.rules.minimum):
            plain = self._plain(seen, parent, "compaction", reading, expected=reading.tokens)
            sentence = f"A summary took the place of the history; {reading.tokens:,} tokens in front of it were read."
            return msgspec.structs.replace(plain, cause="AS140", evidence="proved", established=(sentence,))
        origin = self._rewound_to(seen, parent, common, shared, sibling, reading)
        if origin is not None:
            return self._plain(seen, parent, "shorter", reading, expected=reading.tokens, compared=origin.request.id)
        if found.lost < LEAST_LOSS:
            # What was cached and is gone was dropped; what is left of it was read.
            kind: Kind = "shorter" if found.dropped else "hit"
            return self._plain(seen, parent, kind, reading, expected=reading.tokens)
        return self._finish(seen, parent, found, reading)

    def _shorter(self, seen: RequestFacts, parent: RequestFacts, reading: CacheRead) -> Verdict:
        """The prompt is a beginning of the one before: what can be expected is the longest entry left on it."""
        entry = reading.model_hit
        expected = self._tokens_of(seen, entry)
        if reading.tokens >= expected:
            return self._plain(seen, parent, "shorter", reading, expected=expected)
        words = Words()
        return self._miss(
            seen, parent, self._causes.unexplained(seen, parent, reading, words), words, expected, reading, None
        )

    def _rewound_to(
        self,
        seen: RequestFacts,
        parent: RequestFacts,
        common: int,
        shared: int,
        sibling: RequestFacts | None,
        reading: CacheRead,
    ) -> RequestFacts | None:
        """The earlier request from which the history goes on in another way, if all that it kept was read."""
        if sibling is None or sibling is parent or shared != len(sibling.prompt) or common >= parent.warm:
            return None
        if sibling.request.lane != seen.request.lane or seen.total >= parent.total:
            return None
        return sibling if sibling.warm and reading.tokens >= sibling.warm_tokens else None

    def _beginning(self, seen: RequestFacts, shared: int, sibling: RequestFacts | None, reading: CacheRead) -> Verdict:
        """A conversation begins. Its head may be that of an earlier one, but for text that changes by itself."""
        found = self._beside(seen, None, "first", shared, sibling, reading)
        key = (seen.request.provider, seen.request.model)
        head = self._heads.find(key, seen.prompt) if found.kind == "first" else None
        self._heads.remember(seen.request.id, key, seen.prompt)
        earlier = None if head is None else self._seen.get(head.request)
        if head is None or earlier is None:
            return found
        common = earlier.prompt.common_length(seen.prompt)
        ends = [marker.position + 1 for marker in earlier.asked.usable if marker.position < head_end(earlier.prompt)]
        end = max((one for one in ends if one > common), default=0)
        entry = earlier.asked.address.space_at(end).entries.get(earlier.asked.address.chain(end)) if end else None
        if entry is None or not self._provider.store_of(earlier.request).alive(entry, seen.now):
            return found
        expected = min(self._tokens_of(earlier, entry), seen.prompt.tokens_until(end), seen.total)
        front = seen.prompt.tokens_until(common)
        if expected - reading.tokens < LEAST_LOSS or reading.tokens > front + front // 10:
            return found
        words = Words()
        words.established.append(
            f"Request {earlier.request.id} began with the same tools and system text but for this, and what it cached "
            "of them was alive."
        )
        named = NamedCause(cause_of(head.place, earlier.prompt, seen.prompt), "proved", (), head.place)
        return self._miss(seen, earlier, named, words, expected, reading, None)

    def _beside(
        self,
        seen: RequestFacts,
        parent: RequestFacts | None,
        kind: Kind,
        shared: int,
        sibling: RequestFacts | None,
        reading: CacheRead,
    ) -> Verdict:
        """Nothing was left behind by the lane itself. Was there more, in a request of another lane?"""
        plain = self._plain(seen, parent, kind, reading, expected=None if parent is None else parent.warm_tokens)
        if sibling is None or sibling is parent or seen.request.model != sibling.request.model:
            return plain
        length = reading.length_in(seen.prompt)
        there = seen.prompt.tokens_until(shared)
        lost = there - seen.prompt.tokens_until(length)
        if sibling.warm < shared:
            return plain  # nobody kept what they share
        minimum = seen.asked.rules.minimum
        if shared <= length or there < minimum or lost < min(minimum, LEAST_SHARED) or reading.tokens >= there:
            return plain
        if shared < seen.prompt.section_end("tools"):
            return plain  # nobody can be asked to mark the middle of a list of tools
        relaxed = self._causes.relax(seen, sibling, shared)
        if relaxed is None or any(relaxation.rule in ("ttl", "model") for relaxation in relaxed):
            return plain
        words = Words()
        return self._miss(
            seen,
            sibling,
            self._causes.named(seen, sibling, relaxed, shared, words),
            words,
            reading.tokens + lost,
            reading,
            parent,
        )

    def _finish(self, seen: RequestFacts, parent: RequestFacts, found: LostRead, reading: CacheRead) -> Verdict:
        words, expected = found.words, reading.tokens + found.lost
        kind: Kind = "miss"
        loss = self._recovered_from(parent, reading)
        if loss is not None:
            words.established.insert(
                0,
                f"An entry from before request {loss.request.id} is read again; {found.lost:,} tokens that were "
                "written from then on are kept under another key or behind another history.",
            )
            if not found.moved:
                words.established[0] += " That is its loss, not a new one."
                kind = "recovered"
        verdict = self._miss(seen, parent, found.named, words, expected, reading, parent)
        return verdict if kind == "miss" else msgspec.structs.replace(verdict, kind=kind)

    def _recovered_from(self, parent: RequestFacts, reading: CacheRead) -> RequestFacts | None:
        """The request that had lost its prefix, if an entry from before it is read again, of all that it could have
        read then."""
        loss = parent.last_loss
        if loss is None or loss.verdict is None or not reading.tokens >= (loss.verdict.expected or 0) > 0:
            return None
        writer = None if reading.entry is None else self._seen.get(reading.entry.owner)
        if writer is None:
            return loss if loss is parent else None
        return loss if writer.number < loss.number else None

    def _miss(
        self,
        seen: RequestFacts,
        reference: RequestFacts,
        found: NamedCause,
        words: Words,
        expected: int,
        reading: CacheRead,
        parent: RequestFacts | None,
    ) -> Verdict:
        expected = min(expected, max(seen.total, reading.tokens))  # no more is lost than was sent again
        verdict = self._plain(seen, reference, "miss", reading, expected=expected)
        lost = max(0, expected - reading.tokens)
        cost, equivalents = _price(seen.request, seen.usage, lost)
        prediction = verdict.prediction
        if reading.reported and prediction == "wrong" and reading.predicted < expected:
            prediction = "class"
        return msgspec.structs.replace(
            verdict,
            cause=found.cause,
            evidence=found.evidence,
            alternatives=tuple(code for code in dict.fromkeys(found.alternatives) if code != found.cause),
            place=found.place,
            prediction="none" if parent is None and not reading.reported else prediction,
            lost=lost,
            lost_cost=cost,
            lost_equivalents=equivalents,
            established=tuple(words.established),
            to_check=tuple(words.to_check),
            fix=words.fix,
        )

    def _plain(
        self,
        seen: RequestFacts,
        reference: RequestFacts | None,
        kind: Kind,
        reading: CacheRead,
        *,
        expected: int | None,
        compared: str | None = None,
    ) -> Verdict:
        prediction: Prediction = "none"
        if reading.reported and reference is not None:
            prediction = "exact" if reading.tokens == reading.predicted else "class" if reading.estimated else "wrong"
        return Verdict(
            request=seen.request.id,
            kind=kind,
            expected=expected,
            predicted=reading.predicted,
            prediction=prediction,
            compared_with=compared or (None if reference is None else reference.request.id),
        )


def _price(request: Request, usage: Usage, lost: int) -> tuple[int | None, int | None]:
    """What lost tokens cost beyond reading them: picodollars, and micro-tokens of ordinary input."""
    card = default_book().card_for(request, usage)
    cost = None if card is None else price_of_loss(lost, usage, card)
    return (None, None) if cost is None or card is None else (cost, in_equivalents(cost, card))
