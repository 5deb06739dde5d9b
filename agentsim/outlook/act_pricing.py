"""Prices the acts that a session's state allows, each from the rules in force for its model at its time.

Whoever goes on sends what the last prompt held, and the reply to it, again: what is still kept of that is read, the
rest is paid anew. Acts differ in when that happens, at which model, and from where on the prompt is another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from agentsim.core.counts import plural
from agentsim.core.dates import SECOND
from agentsim.core.session import Usage
from agentsim.diagnose.row_facts import RowFacts
from agentsim.outlook.cache_state import CacheState, TokenRange
from agentsim.outlook.priced_act import (
    ActName,
    MoneyRange,
    NotPriced,
    PricedAct,
    PricedStep,
    figures,
    total_cost,
    weakest,
)
from agentsim.outlook.summary_habits import SUMMARY_TOKENS, reuses_prefix
from agentsim.rules.prices import cost, default_book
from agentsim.rules.providers import ProviderRules, rules_for

Made = PricedAct | NotPriced
Reads = TokenRange
"""What a request reads: ``expected``, at worst (``low``) and at best (``high``)."""

_LIFETIME = ("ttl_short", "ttl_long", "ttl_clock")
_NOBODY_SAYS = "this provider promises no time for which it keeps a prompt"
_TURN = 20 * SECOND


class ActPricing:
    """The acts of one state. Changes nothing; each method prices one of them at ``now`` (nanoseconds, UTC)."""

    def __init__(self, state: CacheState, now: int) -> None:
        self.state = state
        self.now = now
        self._book = default_book()

    def go_on(self) -> Made:
        """The next request, now."""
        steps = (self.step("the next request", self.now, self.read_at(self.now)),)
        return self._act("go-on", "go on now", steps, _LIFETIME, note=self._lookback_note())

    def wait(self, seconds: int) -> Made:
        """The next request after a pause."""
        at = self.now + seconds * SECOND
        steps = (self.step(f"the next request, {_length(seconds)} later", at, self.read_at(at)),)
        return self._act("wait", f"go on in {_length(seconds)}", steps, _LIFETIME, note=self._early_loss(at))

    def wait_until_cold(self) -> Made:
        """The next request when nothing is kept any more."""
        title = "go on when it is cold"
        ends = self.state.deadline(self.state.chain[0])
        if ends.latest is None:
            return NotPriced(name="wait-until-cold", title=title, reason="nobody says when this cache forgets")
        at = max(self.now, ends.latest + SECOND)
        steps = (self.step("the next request", at, self.read_at(at)),)
        return self._act("wait-until-cold", title, steps, _LIFETIME)

    def other_model(self, model: str) -> Made:
        """One turn at another model, and the first request back at this one."""
        title = f"one turn at {model}, and back"
        try:
            rules = rules_for(self.state.last.provider, model, self.now)
        except ValueError as error:
            return NotPriced(name="other-model", title=title, reason=str(error))
        there = self._elsewhere(lambda row: row.model == model, self.now)
        back = self.now + _TURN
        sizes = self._at_other_model(model)
        steps = (
            self.step("the first request there", self.now, there, model=model, rules=rules, prompt=sizes),
            self.step("the first request back", back, self.read_at(back)),
        )
        note = "each model has a cache of its own" + (
            "" if sizes.low == sizes.high else "; its tokenizer counts the same text differently"
        )
        return self._act("other-model", title, steps, _LIFETIME, note=note)

    def other_effort(self) -> Made:
        """The next request at another effort."""
        state = self.state
        title = "another effort"
        rule = next((one for one in state.rules.settings if one.name in ("effort", "reasoning_effort")), None)
        kept = self.read_at(self.now)
        figure = None if rule is None else state.rules.figure(f"settings.{rule.name}")
        if rule is None or figure is None:
            if state.rules.eviction != "lifetime" or state.rules.matching != "breakpoint":
                read = Reads(kept.expected, 0, kept.high)
                steps = (self.step("the next request", self.now, read),)
                return self._act("other-effort", title, steps, (), note="no rule says whether effort is in the key")
            return NotPriced(name="other-effort", title=title, reason="no rule says whether effort is in the key")
        outcomes = [self._under_key(", ".join(rule.sections), kept)]
        outcomes += [self._under_key(value, kept) for value, _source in figure.alternatives]
        now_at = state.chain[0].effort
        seen = self._elsewhere(lambda row: row.model == state.last.model and row.effort not in (None, now_at), self.now)
        read = Reads(
            max(outcomes[0].expected, seen.expected),
            min(one.low for one in outcomes),
            max(*(one.high for one in outcomes), seen.high),
        )
        steps = (self.step("the next request", self.now, read),)
        return self._act("other-effort", title, steps, (f"settings.{rule.name}",), note=f"in the key of {figure.value}")

    def change_tools(self) -> Made:
        """A tool or an MCP server that comes or goes."""
        kept = self.read_at(self.now)
        harmless = self._harmless_tool_changes()
        expected = kept.expected if harmless else 0
        note = "tools stand in front of everything; a harness that defers them only appends"
        if not harmless and self.state.announces_tools:
            expected = kept.expected
            note = "its harness announces tools in messages, so that the list in front stays as it is"
        if harmless:
            note = f"{plural(harmless, 'such change')} in this session lost nothing: its tools are deferred"
        steps = (self.step("the next request", self.now, Reads(expected, 0, kept.high)),)
        more = ("order", "settings.tool_changes")
        return self._act("change-tools", "connect or drop a tool or MCP server", steps, more, note=note)

    def compact(self, when: ActName) -> Made:
        """A summary in the history's place, asked for now, just before the entry ends, or when it has ended."""
        state, ends = self.state, self.state.deadline(self.state.chain[0])
        title = {
            "compact-now": "compact now",
            "compact-before-cold": "compact just before it is cold",
            "compact-when-cold": "compact when it is cold",
        }[when]
        at = self.now
        if when == "compact-before-cold":
            if ends.promised is None or self.now > ends.promised or not state.promises:
                reason = "it is too late for that" if state.promises else _NOBODY_SAYS
                return NotPriced(name=when, title=title, reason=reason)
            at = ends.promised
        elif when == "compact-when-cold":
            if ends.latest is None:
                return NotPriced(name=when, title=title, reason="nobody says when this cache forgets")
            at = max(self.now, ends.latest + SECOND)
        reuses = reuses_prefix(state.session.harness)
        read = self.read_at(at)
        asked = state.next
        if reuses is None:
            read = Reads(read.expected, 0, read.high)
        elif reuses:
            read = Reads(read.expected, min(read.low, state.front.low), read.high)
        elif not reuses:
            read = Reads(0, 0, 0)
            asked = TokenRange(asked.expected, asked.low // 5, asked.high)
        summary = self._summary()
        front = state.front
        # A request for a summary that begins with the conversation's own prompt has just used what stands in front.
        expected, worst, _ = (True, True, True) if reuses else state.deadline(state.chain[0]).kept(at)
        alive = Reads(front.expected if expected else 0, front.low if worst else 0, front.high)
        after = TokenRange(*(state.opening + size for size in (summary.expected, summary.low, summary.high)))
        steps = (
            self.step("the request for a summary", at, read, output=summary, prompt=asked, apart=reuses is False),
            self.step("the first request after it", at + _TURN, alive, prompt=after),
        )
        later = self._later(after.expected)
        known = "its earlier summaries" if state.summaries else "assumed"
        note = f"a summary of {summary.low:,} to {summary.high:,} tokens ({known})"
        keys = ("settings.betas",) if reuses else ()
        return self._act(when, title, steps, _LIFETIME, note=note, saves_later=later, more=keys, weak=True)

    def fork(self) -> Made:
        """A second conversation that begins with this one's whole history."""
        steps = (self.step("the first request of the fork", self.now, self.read_at(self.now)),)
        note = "both go on reading what they share, as long as the harness sends the same tools and system"
        return self._act("fork", "fork", steps, (*_LIFETIME, "scope"), note=note)

    def resume(self) -> Made:
        """The harness closed and started again on this history."""
        kept = self.read_at(self.now)
        steps = (self.step("the first request after it", self.now, Reads(kept.expected, 0, kept.high)),)
        note = "as going on if version, folder, tools and system are the same; else all is paid anew"
        return self._act("resume", "close it and resume", steps, (*_LIFETIME, "order"), note=note, weak=True)

    def rewind(self) -> Made:
        """Back to the end of the turn before the last one."""
        title = "rewind to before the last prompt"
        row = self._before_last_prompt()
        if row is None:
            return NotPriced(name="rewind", title=title, reason="the log shows no earlier turn")
        whole = row.warm if self.state.rules.matching == "breakpoint" else self._whole_steps(row.total)
        read = self._kept(row, whole, self.now)
        size = row.total + (row.output or 0)
        prompt = TokenRange(size, row.total, size)
        steps = (self.step("the next request", self.now, read, prompt=prompt),)
        return self._act("rewind", title, steps, (*_LIFETIME, "refresh"), note=f"to the end of request {row.id}")

    def start_afresh(self) -> Made:
        """A new conversation with the same tools and system."""
        state = self.state
        kept = state.deadline(state.chain[0]).kept(self.now)
        front = state.front
        read = Reads(front.expected if kept[0] else 0, front.low if kept[1] else 0, front.high)
        read = Reads(read.expected, min(read.low, state.opening), min(read.high, state.opening))
        steps = (self.step("the first request", self.now, read, prompt=TokenRange.of(state.opening)),)
        note = "as long a first prompt as this conversation's; nothing of the history comes along"
        return self._act("start-afresh", "start afresh", steps, (*_LIFETIME, "refresh"), note=note)

    # --- what they are made of ---------------------------------------------------------------------------------------

    def read_at(self, at: int) -> Reads:
        """What the next request of the conversation reads at a time."""
        return self._kept(self.state.chain[0], self.state.cached, at)

    def _kept(self, row: RowFacts, tokens: int, at: int) -> Reads:
        """What is read of an entry at a time. What others may have kept of the front is hoped for at best."""
        state = self.state
        expected, worst, best = self._newest_use(row, at)
        front = min(state.front.expected, tokens)
        return Reads(
            tokens if expected else 0,
            tokens if worst else 0,
            tokens if best else front,
        )

    def _newest_use(self, row: RowFacts, at: int) -> tuple[bool, bool, bool]:
        """Whether an entry is there: each later row of the chain that read through it prolonged its life."""
        chain = self.state.chain
        place = chain.index(row) if row in chain else 0
        if self.state.rules.refresh != "ancestors" or place == 0:
            return self.state.deadline(row).kept(at)
        used = row
        for later in reversed(chain[:place]):
            if later.model != row.model or later.read < row.warm:
                break
            used = later
        return self.state.deadline(used).kept(at)

    def _elsewhere(self, wanted: Callable[[RowFacts], bool], at: int) -> Reads:
        """What the newest row of the chain left under another key, where it is within a breakpoint's reach."""
        appended: int | None = 0
        for number, row in enumerate(self.state.chain):
            if number and wanted(row):
                tokens = row.warm if self.state.rules.matching == "breakpoint" else self._whole_steps(row.total)
                expected, worst, best = self.state.deadline(row).kept(at)
                reach = self._within_reach(appended)
                return Reads(
                    tokens if expected and reach is not False else 0,
                    tokens if worst and reach is True else 0,
                    tokens if best and reach is not False else 0,
                )
            appended = None if appended is None or row.appended is None else appended + row.appended
        return Reads(0, 0, 0)

    def _within_reach(self, appended: int | None) -> bool | None:
        rules = self.state.rules
        if rules.matching != "breakpoint" or rules.lookback_counts != "block":
            return True
        return None if appended is None else appended + 2 <= rules.lookback

    def _under_key(self, sections: str, kept: Reads) -> Reads:
        """What stays readable when a setting changes that is in the key of these sections."""
        if "tools" in sections:
            return Reads(0, 0, 0)
        if "system" in sections or "messages" in sections:
            front = self.state.front
            upper = 0 if "system" in sections else front.high
            stays = 0 if "system" in sections else front.expected
            return Reads(min(stays, kept.expected), 0, min(upper, kept.high))
        return kept

    def _at_other_model(self, model: str) -> TokenRange:
        """How large the next prompt is in the tokens of another model."""
        from agentsim.core.tokens import family_factor

        size = self.state.next
        mine, theirs = family_factor(self.state.last.model), family_factor(model)
        if mine == theirs:
            return size
        times, parts = theirs[0] * mine[1], theirs[1] * mine[0]
        scaled = [(tokens * times + parts // 2) // parts for tokens in (size.expected, size.low, size.high)]
        return TokenRange(scaled[0], min(scaled[1], size.low), max(scaled[2], size.high))

    def _harmless_tool_changes(self) -> int:
        """How many changes of tools this session shows that cost nothing; 0 where one did, or none was announced."""
        found = 0
        for row in self.state.chain:
            if "tools_delta" in row.events and row.parent is not None:
                if row.read < row.parent.warm:
                    return 0
                found += 1
        return found

    def _summary(self) -> TokenRange:
        seen = self.state.summaries
        if seen:
            return TokenRange(sorted(seen)[len(seen) // 2], min(seen), max(seen))
        return SUMMARY_TOKENS

    def _later(self, after: int) -> int | None:
        """How much less a request costs later on, when it reads so many tokens in place of the whole history."""
        whole, short = Usage(read=self.state.next.expected), Usage(read=after)
        paid, less = (
            self._price(whole, self.state.last.model, self.now),
            self._price(short, self.state.last.model, self.now),
        )
        return None if paid is None or less is None else paid - less

    def _before_last_prompt(self) -> RowFacts | None:
        """The last row of the turn before the last one; the row before the last where the log shows no turns."""
        chain = self.state.chain
        for number, row in enumerate(chain[:-1]):
            if "prompt_submitted" in row.events:
                return chain[number + 1]
        shows_turns = any("prompt_submitted" in row.events for row in chain)
        return chain[1] if len(chain) > 1 and not shows_turns else None

    def _whole_steps(self, tokens: int) -> int:
        rules = self.state.rules
        return tokens // rules.quantum * rules.quantum if tokens >= rules.minimum else 0

    def step(
        self,
        what: str,
        at: int,
        read: Reads,
        *,
        prompt: TokenRange | None = None,
        model: str | None = None,
        rules: ProviderRules | None = None,
        output: TokenRange | None = None,
        apart: bool = False,
    ) -> PricedStep:
        """A request that sends so much and reads so much of it; one ``apart`` keeps nothing."""
        state = self.state
        prompt = state.next if prompt is None else prompt
        model = model or state.last.model
        rules = rules or state.rules
        out = output or TokenRange.of(0)
        if apart:
            rules = rules.with_(write_fee="none")
        expected = _split(prompt.expected, read.expected, out.expected, rules, state.long)
        least = prompt.low if prompt.high < rules.minimum else max(prompt.low, min(rules.minimum, prompt.high))
        best = _split(least, read.high, out.low, rules, state.long or False)
        worst = _split(prompt.high, read.low, out.high, rules, state.long is not False)
        costs = [self._price(usage, model, at) for usage in (expected, best, worst)]
        middle, low, high = costs
        known = (
            None
            if middle is None or low is None or high is None
            else MoneyRange(middle, min(low, high), max(low, high))
        )
        return PricedStep(what=what, model=model, at=at, expected=expected, best=best, worst=worst, cost=known)

    def price_of_new(self, tokens: int) -> int | None:
        """What so many tokens cost that are sent for the first time behind the history, in picodollars."""
        state, last = self.state, self.state.last
        whole, front = state.next.expected + tokens, state.next.expected
        size = _split(whole, front, 0, state.rules, state.long)
        card = self._book.card(last.provider, last.model, self.now, whole, last.service_tier, last.speed, last.region)
        return None if card is None else cost(card, msgspec.structs.replace(size, read=0))

    def _price(self, usage: Usage, model: str, at: int) -> int | None:
        last = self.state.last
        card = self._book.card(
            last.provider, model, at, usage.total_input or 0, last.service_tier, last.speed, last.region
        )
        return None if card is None else cost(card, usage)

    def _act(
        self,
        name: ActName,
        title: str,
        steps: Sequence[PricedStep],
        rules: tuple[str, ...],
        *,
        note: str | None = None,
        saves_later: int | None = None,
        more: tuple[str, ...] = (),
        weak: bool = False,
    ) -> PricedAct:
        state = self.state
        names = ["matching", *self._that_matter(rules), *more]
        if any((step.expected.total_input or 0) < 2 * state.rules.minimum for step in steps):
            names.append("minimum")
        if state.deadline(state.chain[0]).state(steps[0].at) == "unsure":
            names.append("ttl_grace")
        found = figures(state.rules, tuple(dict.fromkeys(names)))
        surety = weakest(found)
        if weak or not state.promises:
            surety = "low"
        if not state.promises:
            note = _NOBODY_SAYS if note is None else f"{note}; {_NOBODY_SAYS}"
        return PricedAct(
            name=name,
            title=title,
            steps=tuple(steps),
            cost=total_cost(tuple(steps)),
            rules=found,
            confidence=surety,
            note=note,
            saves_later=saves_later,
        )

    def _that_matter(self, rules: tuple[str, ...]) -> tuple[str, ...]:
        """Of the rules about lifetimes only that of the lifetime which is known to be in use."""
        state = self.state
        if state.long is None or not state.promises:
            return rules
        return tuple(name for name in rules if name != ("ttl_short" if state.long else "ttl_long"))

    def _lookback_note(self) -> str | None:
        rules = self.state.rules
        if rules.matching != "breakpoint" or rules.lookback_counts != "block" or not rules.lookback:
            return None
        return f"more than {rules.lookback - 1} new blocks (ten parallel tools) would lose the history"

    def _early_loss(self, at: int) -> str | None:
        state = self.state
        started = state.chain[0].start
        if started is None or not state.long or not state.rules.early_loss:
            return None
        chance = 0
        for after, percent in state.rules.early_loss:
            if at - started >= after * SECOND:
                chance = percent
        return f"{chance} of 100 such returns were seen to have lost their history early" if chance else None


def _split(total: int, read: int, output: int, rules: ProviderRules, long: bool | None) -> Usage:
    """The usage of a request of so many tokens that reads so many of them."""
    total = max(total, 0)
    if total < rules.minimum:
        return Usage(fresh=total, write_short=0, write_long=0, read=0, output=output)
    read = min(read, total)
    rest = total - read
    if rules.write_fee == "none":
        return Usage(fresh=rest, write_short=0, write_long=0, read=read, output=output)
    short, hour = (0, rest) if long else (rest, 0)
    return Usage(fresh=0, write_short=short, write_long=hour, read=read, output=output)


def _length(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{minutes} min" if not rest else f"{seconds} s"
