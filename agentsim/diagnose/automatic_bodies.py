"""Verdicts by bodies on automatic caches: those that find prefixes by themselves, in whole or as units, or hold slots.

Here a lost read has few possible causes. Either the content of the prompt differs from the one before, and then the
first differing block is the cause; or a parameter does that is part of the key; or the content was all there, and the
provider did not find it: too early, too late, or on another machine.
"""

from __future__ import annotations

import msgspec

from agentsim.cache.routed_backend import RoutedProvider
from agentsim.cache.rules_in_force import RulesInForce, by_interface
from agentsim.core.dates import SECOND
from agentsim.core.session import Request
from agentsim.core.verdict import LEAST_LOSS, Evidence, Kind, Verdict
from agentsim.diagnose.automatic_rows import DOUBT
from agentsim.diagnose.body_case import BodyCase, JudgedRequest, near_to, whole
from agentsim.diagnose.changed_things import words_of_change
from agentsim.diagnose.disputed_minimum import kept_by_another
from agentsim.diagnose.elimination import Elimination, find_cause_by_bodies
from agentsim.diagnose.kept_content import is_replaced, summary_words, unread_content
from agentsim.diagnose.prompt_diff import cause_of, first_difference
from agentsim.diagnose.second_change import second_change
from agentsim.diagnose.shared_heads import HeadOfAnother, SharedHeads, head_end
from agentsim.rules.providers import ProviderRules

ANY_AUTOMATIC = "automatic"
"""The rules for a provider of which none are known."""


class AutomaticJudge:
    """Judges the requests of one session in the order of their start. Mutable."""

    def __init__(self, compacted: frozenset[str | None]) -> None:
        self._compacted = compacted
        self._rules = RulesInForce(None, by_interface)
        self._backends = RoutedProvider()
        self._by_id: dict[str, JudgedRequest] = {}
        self._by_lane: dict[str, JudgedRequest] = {}
        self._flying: list[JudgedRequest] = []
        self._heads = SharedHeads()

    def judge(self, request: Request, now: int) -> Verdict | None:
        """The verdict on a request with a prompt; ``None`` where its provider's cache does not work like this."""
        prompt, usage = request.prompt, request.usage
        assert prompt is not None
        try:
            rules = self._rules.of(request, now)
        except ValueError:
            if usage is None or usage.read is None:
                return None
            # Whatever server it is: it reports reads, so it has a cache, and nobody asked for one.
            request = msgspec.structs.replace(request, provider=ANY_AUTOMATIC)
            rules = self._rules.of(request, now)
            if usage.read:
                rules = msgspec.structs.replace(rules, minimum=0)  # it keeps what is shorter, too
        if rules.matching == "breakpoint":
            return None
        result = self._backends.backend_under(rules).serve(request, now)
        served = result.usage
        if usage is not None and usage.read is None:
            return Verdict(request=request.id, kind="unreported", cause="AS910", evidence="proved")
        read = (served.read if usage is None else usage.read) or 0
        if read <= rules.read_floor:
            read = 0
        total = (None if usage is None else usage.total_input) or prompt.tokens
        parent = self._by_id.get(request.parent or "") or self._by_lane.get(request.lane)
        this = JudgedRequest(request, prompt, total, now)
        this.read = read
        this.before = parent
        beside = self._in_flight(this, parent)
        this.verdict = self._verdict(this, parent, beside, read, served.read or 0, rules)
        if parent is None:
            key = (request.provider, request.model)
            head = self._heads.find(key, prompt)
            self._heads.remember(request.id, key, prompt)
            if beside is None and this.verdict.kind == "first":
                begun = self._beginning(this, result.hit_owner, head, read, served.read or 0, rules)
                this.verdict = begun or this.verdict
        self._by_id[request.id] = self._by_lane[request.lane] = this
        self._flying = [one for one in self._flying if one.readable > now]
        self._flying.append(this)
        return this.verdict

    def _in_flight(self, this: JudgedRequest, parent: JudgedRequest | None) -> JudgedRequest | None:
        """A request that has not begun to answer and begins as this one does, further than its parent does."""
        best, most = None, 0 if parent is None else parent.prompt.common_length(this.prompt)
        for other in self._flying:
            if other is parent or other.readable <= this.now or other.request.model != this.request.model:
                continue
            common = other.prompt.common_length(this.prompt)
            if common > most:
                best, most = other, common
        return best

    def _verdict(
        self,
        this: JudgedRequest,
        parent: JudgedRequest | None,
        beside: JudgedRequest | None,
        read: int,
        predicted: int,
        rules: ProviderRules,
    ) -> Verdict:
        if this.total < rules.minimum and not read:
            sentence = f"The prompt has {this.total:,} tokens; shorter ones than {rules.minimum:,} are not kept."
            doubt = kept_by_another(rules, this.total)
            said = (sentence,) if doubt is None else (sentence, doubt)
            evidence: Evidence = "proved" if doubt is None else "likely"
            verdict = self._plain(this, parent, "uncached", read, predicted, "AS303", evidence, *said)
            return verdict if doubt is None else msgspec.structs.replace(verdict, alternatives=("AS902", "AS503"))
        if beside is not None:
            together = self._together(this, beside, read, predicted, rules)
            if together is not None:
                return together
        if parent is None:
            return self._plain(this, None, "first", read, predicted)
        common = parent.prompt.common_length(this.prompt)
        if common == len(this.prompt) < len(parent.prompt):
            return self._plain(this, parent, "shorter", read, predicted)
        expected = min(whole(parent.total, rules), this.total)
        near = near_to(this.request, rules)
        # Steps may begin anywhere, so that a read within one of the whole prompt, or of all that counts, is all of it.
        short = 0 if read >= expected else min(parent.total, this.total) - read
        if common == len(parent.prompt) and short <= near:
            return self._plain(this, parent, "hit", read, predicted)
        place = first_difference(parent.prompt, this.prompt) if common < len(parent.prompt) else None
        lost = expected - read
        if place is not None:
            unread = unread_content(parent.prompt, len(parent.prompt), this.prompt, common, read, place.change)
            lost = min(lost, unread.tokens - (parent.total - whole(parent.total, rules) if unread.behind else 0))
            summarised = is_replaced(common, parent.prompt, this.prompt, parent.total, this.total)
            compacted = this.request.id in self._compacted
            if (compacted or summarised) and unread.behind < max(near, rules.minimum) and lost <= near:
                sentence = f"A summary took the place of the history; {read:,} tokens in front of it were read."
                return self._plain(this, parent, "compaction", read, predicted, "AS140", "proved", sentence)
            if not unread.later and unread.front <= near:
                # What was cached and is gone was dropped; what is left of it was read.
                return self._plain(this, parent, "shorter", read, predicted)
            if lost < LEAST_LOSS:
                return self._plain(this, parent, "hit", read, predicted)
        found = find_cause_by_bodies(
            BodyCase(this, parent, common, place, predicted, rules, earlier=self._by_id.values())
        )
        second = None if place is None else second_change(place, parent.prompt, this.prompt)
        if second is not None:
            also = tuple(dict.fromkeys((*found.alternatives, second.code)))
            found = found._replace(established=[*found.established, second.sentence], alternatives=also)
        told = summary_words(unread, read) if found.cause == "AS131" and place is not None else None
        if told is not None:
            found = found._replace(established=[*found.established, told[0]], fix=told[1])
        return self._miss(this, parent, found, read, lost, predicted)

    def _miss(
        self, this: JudgedRequest, parent: JudgedRequest, found: Elimination, read: int, lost: int, predicted: int
    ) -> Verdict:
        if this.request.usage is not None:
            lost = min(lost, this.total - (this.request.usage.read or 0))  # no more than was sent again
        sentences, fix = words_of_change(found.place, parent.prompt, this.prompt)
        return Verdict(
            request=this.request.id,
            kind="miss",
            cause=found.cause,
            evidence=found.evidence,
            alternatives=found.alternatives,
            place=found.place,
            expected=read + lost,
            predicted=predicted,
            prediction="exact" if read == predicted else "wrong",
            lost=lost,
            established=(*found.established, *sentences),
            fix=found.fix or fix,
            to_check=() if found.evidence == "proved" else ("Whether the same cache key reaches the same machine.",),
            compared_with=parent.request.id,
        )

    def _beginning(
        self,
        this: JudgedRequest,
        owner: str | None,
        head: HeadOfAnother | None,
        read: int,
        predicted: int,
        rules: ProviderRules,
    ) -> Verdict | None:
        """The loss of a request that begins a conversation: of a front that another one had sent a moment before, or of
        a ``head`` that is that of another but for text that changes by itself."""
        near = max(near_to(this.request, rules), rules.minimum)
        other = None if owner is None else self._by_id.get(owner)
        if other is not None and predicted - read > near and this.now - other.now <= DOUBT * SECOND:
            common = other.prompt.common_length(this.prompt)
            found = find_cause_by_bodies(BodyCase(this, other, common, None, predicted, rules, front=predicted))
            return self._miss(this, other, found, read, predicted - read, predicted)
        other = None if head is None else self._by_id.get(head.request)
        if head is None or other is None or this.now - other.now > rules.pause * SECOND:
            return None
        front = this.prompt.tokens_until(other.prompt.common_length(this.prompt))
        end = head_end(this.prompt)
        shared = whole(min(other.prompt.tokens_until(end), this.prompt.tokens_until(end), this.total), rules)
        if shared - read <= near or read > front + near:
            return None
        sentence = f"Request {other.request.id} began with the same tools and system text but for this."
        found = Elimination(
            cause_of(head.place, other.prompt, this.prompt), "proved", (), [sentence], [], place=head.place
        )
        return self._miss(this, other, found, read, shared - read, predicted)

    def _together(
        self, this: JudgedRequest, beside: JudgedRequest, read: int, predicted: int, rules: ProviderRules
    ) -> Verdict | None:
        """The loss of a request that was sent before another one with the same front had begun to answer."""
        front = whole(beside.prompt.tokens_until(beside.prompt.common_length(this.prompt)), rules)
        near = near_to(this.request, rules)
        if front - read < max(rules.minimum, near) or read > predicted + near:
            return None
        sentence = f"Request {beside.request.id} has the same front of {front:,} tokens, and had not begun to answer."
        plain = self._plain(this, beside, "miss", read, predicted, "AS501", "proved", sentence)
        return msgspec.structs.replace(plain, expected=front, lost=front - read)

    def _plain(
        self,
        this: JudgedRequest,
        parent: JudgedRequest | None,
        kind: Kind,
        read: int,
        predicted: int,
        cause: str | None = None,
        evidence: Evidence | None = None,
        *established: str,
    ) -> Verdict:
        return Verdict(
            request=this.request.id,
            kind=kind,
            cause=cause,
            evidence=evidence,
            expected=read,
            predicted=predicted,
            prediction="exact" if read == predicted else "class",
            established=established,
            compared_with=None if parent is None else parent.request.id,
        )
