"""How much a request reads and pays anew, by what a session's state holds: what acts are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.session import Usage
from agentsim.core.tokens import family_factor
from agentsim.diagnose.row_facts import RowFacts
from agentsim.outlook.cache_state import CacheState, TokenRange
from agentsim.outlook.priced_act import ActName, MoneyRange, PricedAct, PricedStep, figures, total_cost, weakest
from agentsim.outlook.summary_habits import SUMMARY_TOKENS
from agentsim.rules.prices import cost, default_book
from agentsim.rules.providers import ProviderRules

Reads = TokenRange
"""What a request reads: ``expected``, at worst (``low``) and at best (``high``)."""

LIFETIME = ("ttl_short", "ttl_long", "ttl_clock")
NOBODY_SAYS = "this provider promises no time for which it keeps a prompt"


class ActSizes:
    """The sizes of what could be sent next in one state, at ``now`` (nanoseconds, UTC). Changes nothing."""

    def __init__(self, state: CacheState, now: int) -> None:
        self.state = state
        self.now = now
        self._book = default_book()

    def read_at(self, at: int) -> Reads:
        """What the next request of the conversation reads at a time."""
        return self.kept_of(self.state.chain[0], self.state.cached, at)

    def kept_of(self, row: RowFacts, tokens: int, at: int) -> Reads:
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

    def elsewhere(self, wanted: Callable[[RowFacts], bool], at: int) -> Reads:
        """What the newest row of the chain left under another key, where it is within a breakpoint's reach."""
        appended: int | None = 0
        for number, row in enumerate(self.state.chain):
            if number and wanted(row):
                tokens = row.warm if self.state.rules.matching == "breakpoint" else self.whole_steps(row.total)
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

    def under_key(self, sections: str, kept: Reads) -> Reads:
        """What stays readable when a setting changes that is in the key of these sections."""
        if "tools" in sections:
            return Reads(0, 0, 0)
        if "system" in sections or "messages" in sections:
            front = self.state.front
            upper = 0 if "system" in sections else front.high
            stays = 0 if "system" in sections else front.expected
            return Reads(min(stays, kept.expected), 0, min(upper, kept.high))
        return kept

    def at_other_model(self, model: str) -> TokenRange:
        """How large the next prompt is in the tokens of another model."""

        size = self.state.next
        mine, theirs = family_factor(self.state.last.model), family_factor(model)
        if mine == theirs:
            return size
        times, parts = theirs[0] * mine[1], theirs[1] * mine[0]
        scaled = [(tokens * times + parts // 2) // parts for tokens in (size.expected, size.low, size.high)]
        return TokenRange(scaled[0], min(scaled[1], size.low), max(scaled[2], size.high))

    def harmless_tool_changes(self) -> int:
        """How many changes of tools this session shows that cost nothing; 0 where one did, or none was announced."""
        found = 0
        for row in self.state.chain:
            if "tools_delta" in row.events and row.parent is not None:
                if row.read < row.parent.warm:
                    return 0
                found += 1
        return found

    def summary_size(self) -> TokenRange:
        """How large a summary will be: as the session's earlier ones, or what was seen elsewhere."""
        seen = self.state.summaries
        if seen:
            return TokenRange(sorted(seen)[len(seen) // 2], min(seen), max(seen))
        return SUMMARY_TOKENS

    def saved_later(self, after: int) -> int | None:
        """How much less a request costs later on, when it reads so many tokens in place of the whole history."""
        whole, short = Usage(read=self.state.next.expected), Usage(read=after)
        paid, less = (
            self._price(whole, self.state.last.model, self.now),
            self._price(short, self.state.last.model, self.now),
        )
        return None if paid is None or less is None else paid - less

    def before_last_prompt(self) -> RowFacts | None:
        """The last row of the turn before the last one; the row before the last where the log shows no turns."""
        chain = self.state.chain
        for number, row in enumerate(chain[:-1]):
            if "prompt_submitted" in row.events:
                return chain[number + 1]
        shows_turns = any("prompt_submitted" in row.events for row in chain)
        return chain[1] if len(chain) > 1 and not shows_turns else None

    def whole_steps(self, tokens: int) -> int:
        """So many tokens in the steps in which an automatic cache keeps them."""
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

    def act(
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
        """An act of these steps, with the rules that it rests on and the confidence of the weakest."""
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
            all_read, rows = state.reads_seen
            seen = f"{NOBODY_SAYS}; here {all_read:,} of {rows:,} rows read all of it" if rows else NOBODY_SAYS
            note = seen if note is None else f"{note}; {seen}"
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

    def lookback_note(self) -> str | None:
        """How many new blocks would be too many, where entries are looked for in blocks."""
        rules = self.state.rules
        if rules.matching != "breakpoint" or rules.lookback_counts != "block" or not rules.lookback:
            return None
        return f"more than {rules.lookback - 1} new blocks (ten parallel tools) would lose the history"

    def early_loss(self, at: int) -> str | None:
        """The share of returns after such a pause that had lost their history early, where that was seen."""
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
