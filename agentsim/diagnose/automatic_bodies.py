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
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request
from agentsim.core.verdict import LEAST_LOSS, Divergence, Evidence, Kind, Verdict
from agentsim.diagnose.automatic_rows import DOUBT, TURN
from agentsim.diagnose.changed_things import words_of_change
from agentsim.diagnose.disputed_minimum import kept_by_another, too_short_by_another
from agentsim.diagnose.host_change import went_elsewhere
from agentsim.diagnose.kept_content import is_replaced, summary_words, unread_content
from agentsim.diagnose.prompt_diff import cause_of, first_difference
from agentsim.diagnose.read_steps import known_step
from agentsim.diagnose.relax_causes import LATE_READABLE
from agentsim.diagnose.relax_facts import SETTING_CAUSES, differing_settings
from agentsim.diagnose.shared_heads import HeadOfAnother, SharedHeads, head_end
from agentsim.rules.providers import ProviderRules

ANY_AUTOMATIC = "automatic"
"""The rules for a provider of which none are known."""

_KEEPS_THINKING = {"zai": "thinking.clear_thinking = false", "qwen": "preserve_thinking = true"}
"""Parameters that have a server show a model the thinking of earlier turns, from the providers' own pages, 2026."""

FRONT_INEXACT = 8
"""Sizes of blocks are estimates: a front may be larger or smaller than they add up to by one part in so many."""


class _JudgedRequest:
    """A request that was judged: its prompt, what it took in all, and when it could be read from and was last used."""

    def __init__(self, request: Request, prompt: Prompt, total: int, now: int) -> None:
        self.request = request
        self.prompt = prompt
        self.total = total
        self.now = now
        self.read = 0
        self.before: _JudgedRequest | None = None
        self.verdict: Verdict | None = None
        first, end = request.first_token, request.end
        self.readable = now if first is None or request.start is None else first - request.start + now
        self.end = self.readable if end is None or request.start is None else end - request.start + now


class _FoundCause:
    """A cause with what it rests on."""

    def __init__(
        self,
        cause: str,
        evidence: Evidence,
        *established: str,
        place: Divergence | None = None,
        alternatives: tuple[str, ...] = (),
        fix: str | None = None,
    ) -> None:
        self.cause = cause
        self.evidence: Evidence = evidence
        self.established = established
        self.place = place
        self.alternatives = alternatives
        self.fix = fix


class AutomaticJudge:
    """Judges the requests of one session in the order of their start. Mutable."""

    def __init__(self, compacted: frozenset[str | None]) -> None:
        self._compacted = compacted
        self._rules = RulesInForce(None, by_interface)
        self._backends = RoutedProvider()
        self._by_id: dict[str, _JudgedRequest] = {}
        self._by_lane: dict[str, _JudgedRequest] = {}
        self._flying: list[_JudgedRequest] = []
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
        this = _JudgedRequest(request, prompt, total, now)
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

    def _in_flight(self, this: _JudgedRequest, parent: _JudgedRequest | None) -> _JudgedRequest | None:
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
        this: _JudgedRequest,
        parent: _JudgedRequest | None,
        beside: _JudgedRequest | None,
        read: int,
        predicted: int,
        rules: ProviderRules,
    ) -> Verdict:
        if this.total < rules.minimum and not read:
            sentence = f"The prompt has {this.total:,} tokens; shorter ones than {rules.minimum:,} are not kept."
            doubt = kept_by_another(rules, this.total)
            said = (sentence,) if doubt is None else (sentence, doubt)
            evidence: Evidence = "proved" if doubt is None else "implied"
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
        expected = min(_whole(parent.total, rules), this.total)
        near = _near(this.request, rules)
        # Steps may begin anywhere, so that a read within one of the whole prompt, or of all that counts, is all of it.
        short = 0 if read >= expected else min(parent.total, this.total) - read
        if common == len(parent.prompt) and short <= near:
            return self._plain(this, parent, "hit", read, predicted)
        place = first_difference(parent.prompt, this.prompt) if common < len(parent.prompt) else None
        lost = expected - read
        if place is not None:
            unread = unread_content(parent.prompt, len(parent.prompt), this.prompt, common, read, place.change)
            lost = min(lost, unread.tokens - (parent.total - _whole(parent.total, rules) if unread.behind else 0))
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
        found = self._cause(this, parent, common, place, read, predicted, rules)
        told = summary_words(unread, read) if found.cause == "AS131" and place is not None else None
        if told is not None:
            found.established, found.fix = (*found.established, told[0]), told[1]
        return self._miss(this, parent, found, read, lost, predicted)

    def _miss(
        self, this: _JudgedRequest, parent: _JudgedRequest, found: _FoundCause, read: int, lost: int, predicted: int
    ) -> Verdict:
        if this.request.usage is not None:
            lost = min(lost, this.total - (this.request.usage.read or 0))  # no more than was sent again
        sentences, fix = words_of_change(found.place, parent.prompt, this.prompt)
        return Verdict(
            request=this.request.id,
            kind="miss",
            cause=found.cause,
            evidence=found.evidence,
            alternatives=tuple(code for code in dict.fromkeys(found.alternatives) if code != found.cause),
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
        this: _JudgedRequest,
        owner: str | None,
        head: HeadOfAnother | None,
        read: int,
        predicted: int,
        rules: ProviderRules,
    ) -> Verdict | None:
        """The loss of a request that begins a conversation: of a front that another one had sent a moment before, or of
        a ``head`` that is that of another but for text that changes by itself."""
        near = max(_near(this.request, rules), rules.minimum)
        other = None if owner is None else self._by_id.get(owner)
        if other is not None and predicted - read > near and this.now - other.now <= DOUBT * SECOND:
            common = other.prompt.common_length(this.prompt)
            found = self._cause(this, other, common, None, read, predicted, rules, front=predicted)
            return self._miss(this, other, found, read, predicted - read, predicted)
        other = None if head is None else self._by_id.get(head.request)
        if head is None or other is None or this.now - other.now > rules.pause * SECOND:
            return None
        front = this.prompt.tokens_until(other.prompt.common_length(this.prompt))
        end = head_end(this.prompt)
        whole = _whole(min(other.prompt.tokens_until(end), this.prompt.tokens_until(end), this.total), rules)
        if whole - read <= near or read > front + near:
            return None
        sentence = f"Request {other.request.id} began with the same tools and system text but for this."
        found = _FoundCause(cause_of(head.place, other.prompt, this.prompt), "proved", sentence, place=head.place)
        return self._miss(this, other, found, read, whole - read, predicted)

    def _together(
        self, this: _JudgedRequest, beside: _JudgedRequest, read: int, predicted: int, rules: ProviderRules
    ) -> Verdict | None:
        """The loss of a request that was sent before another one with the same front had begun to answer."""
        front = _whole(beside.prompt.tokens_until(beside.prompt.common_length(this.prompt)), rules)
        near = _near(this.request, rules)
        if front - read < max(rules.minimum, near) or read > predicted + near:
            return None
        sentence = f"Request {beside.request.id} has the same front of {front:,} tokens, and had not begun to answer."
        plain = self._plain(this, beside, "miss", read, predicted, "AS501", "proved", sentence)
        return msgspec.structs.replace(plain, expected=front, lost=front - read)

    def _cause(
        self,
        this: _JudgedRequest,
        parent: _JudgedRequest,
        common: int,
        place: Divergence | None,
        read: int,
        predicted: int,
        rules: ProviderRules,
        front: int | None = None,
    ) -> _FoundCause:
        """The cause of a loss, with what it rests on: each hypothesis says what would be read, and what was decides."""
        request, before = this.request, parent.request
        near = _near(this.request, rules)
        if front is None:
            front = _whole(parent.prompt.tokens_until(common) if place is not None else parent.total, rules)
        # Text in front of an edit within its block was sent before too, and such a cache does not end at blocks.
        edge = front if place is None else _whole(parent.prompt.tokens_until(common) + _inside(place, parent), rules)
        if request.model != before.model:
            return _FoundCause("AS404", "proved", "The model changed; each model has a cache of its own.")
        moved = went_elsewhere(before, parent.now, request, this.now)
        reach = min(front, predicted) if rules.matching == "unit" else front
        code = None if place is None else self._code(parent, this, common, place)
        if place is not None and code is not None and reach - near <= read <= edge + near:
            words = f"All {max(front, min(read, edge)):,} tokens in front of the first difference that count in whole "
            words += "steps were read."
            if reach < front and read < front:
                words = (
                    f"The prompts begin with the same {front:,} tokens, but no stored unit ends there yet; "
                    "what two requests have in common is stored as one from the second of them on."
                )
            # The change alone is enough for that read, whoever answers and however long it was idle.
            return _FoundCause(code, "proved", words, place=place)
        if moved:
            return _FoundCause("AS503", "proved", *moved)
        changed = differing_settings(before, request, rules, unknown=True)
        keyed = [name for name, _, _ in differing_settings(before, request, rules)]
        codes = tuple(dict.fromkeys(SETTING_CAUSES.get(name, "AS407") for name, _, _ in changed))
        if keyed and read <= min(predicted, front) + near and (not read or abs(read - predicted) <= near):
            sentence = f"{' and '.join(keyed)} changed; by the rules it is part of the key."
            return _FoundCause(SETTING_CAUSES.get(keyed[0], "AS407"), "proved", sentence)
        if rules.matching == "slot" and predicted + near < front and read <= predicted + near:
            sentence = f"Since request {before.id} another prompt was computed in its slot."
            return _FoundCause("AS504", "implied", sentence, alternatives=("AS503",))
        if this.now < parent.readable:
            return _FoundCause("AS501", "proved", "The answer to the request before had not begun.")
        late = max(rules.readable_doubt, LATE_READABLE) * SECOND
        since = this.now - parent.end
        young = place is None and since <= late
        if (
            young
            and (read or since <= LATE_READABLE * SECOND)
            and self._newest_not_found(this, parent, read, late, rules)
        ):
            sentence = (
                f"It read what was there before request {before.id}, whose answer had ended "
                f"{max(0, since) // SECOND} s before; what that request sent was not found yet."
            )
            return _FoundCause("AS501", "implied", sentence, alternatives=("AS503",))
        if code is not None and read and max(front - read, read - edge) * FRONT_INEXACT <= edge:
            sentence = f"About {edge:,} tokens stand in front of the first difference, as far as sizes are known."
            return _FoundCause(code, "implied", sentence, place=place, alternatives=("AS503",))
        behind = parent.total - front
        if code is not None and near < read < front and 2 * (front - read) < behind:
            sentence = (
                f"Of what was cached {behind:,} tokens stood behind the first difference, where nothing can be read; "
                f"the {front - read:,} in front of it were not found either."
            )
            return _FoundCause(code, "likely", sentence, place=place, alternatives=("AS901", "AS503"))
        left_out = _thinking_left_out(this, parent, read, near) if place is None else None
        if left_out is not None:
            return left_out
        last = parent.verdict
        if place is None and last is not None and last.kind == "miss" and read > parent.read and last.cause is not None:
            sentence = (
                f"After the loss of request {before.id} the read climbs back in steps: {parent.read:,}, {read:,}."
            )
            return _FoundCause(last.cause, "implied", sentence, alternatives=("AS503",))
        idle = (this.now - parent.now) // SECOND
        same = "was the same and" if place is None else "that is the same"
        sentence = f"The front of {front:,} tokens {same} was not found, {idle:,} s after its last use"
        if idle > rules.pause and place is None:
            known = "; such caches keep a prefix for some minutes after its last use, and longer at quiet times."
            return _FoundCause("AS205", "implied", sentence + known, alternatives=(*codes, "AS503"))
        if changed:
            sentence += f"; {' and '.join(name for name, _, _ in changed)} changed in between"
        doubt = None if read else too_short_by_another(rules, front)
        if doubt is not None:
            sentence += f". {doubt.rstrip('.')}"
        codes = (*codes, *(["AS303"] if doubt else []))
        others = [*codes, *(["AS501"] if young else []), "AS503", *(["AS205"] if idle > DOUBT else [])]
        if code == "AS407" and not read:
            known = "The format of the answer changed; providers render it in front of all else or behind the tools."
            return _FoundCause(code, "implied", known, place=place, alternatives=tuple(others))
        if code is not None:
            others.insert(0 if read else 1, code)
        return _FoundCause(
            "AS902" if not read else "AS901", "unexplained", sentence + ".", place=place, alternatives=tuple(others)
        )

    def _newest_not_found(
        self, this: _JudgedRequest, parent: _JudgedRequest, read: int, late: int, rules: ProviderRules
    ) -> bool:
        """Whether the read is all that was there before requests which had only just been answered."""
        near = _near(this.request, rules)
        older: _JudgedRequest | None = parent
        while older is not None and this.now - older.end <= late:
            older = older.before
            left = 0
            if older is not None:
                left = _whole(
                    min(older.total, older.prompt.tokens_until(older.prompt.common_length(this.prompt))), rules
                )
            if abs(read - left) <= near:
                return True
        return False

    def _code(self, parent: _JudgedRequest, this: _JudgedRequest, common: int, place: Divergence) -> str:
        if is_replaced(common, parent.prompt, this.prompt, parent.total, this.total):
            return "AS131"
        return cause_of(place, parent.prompt, this.prompt)

    def _plain(
        self,
        this: _JudgedRequest,
        parent: _JudgedRequest | None,
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


def _near(request: Request, rules: ProviderRules) -> int:
    """How far a read may end from a place and still reach it: a step of the provider's, and what stands around it."""
    return max(rules.quantum, known_step(request.provider, request.model, request.start)) + TURN


def _thinking_left_out(this: _JudgedRequest, parent: _JudgedRequest, read: int, near: int) -> _FoundCause | None:
    """AS402 where the server renders a new turn without the thinking of earlier ones: words of a user came, and the
    read ends where thinking stands that was sent before."""
    old, new = parent.prompt, this.prompt
    came = (new[at] for at in range(len(old), len(new)))
    if not any(block.kind == "text" and block.role == "user" for block in came):
        return None
    ends = [old.tokens_until(at) for at in range(len(old)) if old[at].kind == "thinking"]
    if not any(abs(end - read) <= near for end in ends):
        return None
    sentence = (
        f"A new turn began, and the read of {read:,} ends where thinking of an earlier turn stands: the server shows "
        "the model earlier turns without it, so that what stands behind it has to be processed anew."
    )
    setting = _KEEPS_THINKING.get(this.request.provider, "the setting that keeps it, where the provider has one")
    fix = f"Have the thinking of earlier turns kept: {setting}, from the first request on."
    return _FoundCause("AS402", "implied", sentence, alternatives=("AS503",), fix=fix)


def _inside(place: Divergence, parent: _JudgedRequest) -> int:
    """Tokens of the block that differs in front of its first differing character, in proportion to its text."""
    block = parent.prompt[place.block] if place.block is not None and place.block < len(parent.prompt) else None
    if block is None or not place.offset or not block.text:
        return 0
    return (block.tokens or 0) * min(place.offset, len(block.text)) // len(block.text)


def _whole(tokens: int, rules: ProviderRules) -> int:
    """What can be read of so many tokens."""
    return tokens - tokens % rules.quantum if tokens >= rules.minimum else 0
