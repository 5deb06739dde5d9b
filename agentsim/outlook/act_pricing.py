"""Prices the acts that a session's state allows, each from the rules in force for its model at its time.

Whoever goes on sends what the last prompt held, and the reply to it, again: what is still kept of that is read, the
rest is paid anew. Acts differ in when that happens, at which model, and from where on the prompt is another one.
"""

from __future__ import annotations

from agentsim.core.counts import plural
from agentsim.core.dates import SECOND
from agentsim.outlook.act_sizes import LIFETIME, NOBODY_SAYS, ActSizes, Reads
from agentsim.outlook.cache_state import TokenRange
from agentsim.outlook.priced_act import (
    ActName,
    NotPriced,
    PricedAct,
)
from agentsim.outlook.summary_habits import reuses_prefix
from agentsim.rules.providers import rules_for

Made = PricedAct | NotPriced
_TURN = 20 * SECOND


class ActPricing(ActSizes):
    """The acts of one state. Changes nothing; each method prices one of them at ``now`` (nanoseconds, UTC)."""

    def go_on(self) -> Made:
        """The next request, now."""
        steps = (self.step("the next request", self.now, self.read_at(self.now)),)
        return self.act("go-on", "go on now", steps, LIFETIME, note=self.lookback_note())

    def wait(self, seconds: int) -> Made:
        """The next request after a pause."""
        at = self.now + seconds * SECOND
        steps = (self.step(f"the next request, {_length(seconds)} later", at, self.read_at(at)),)
        return self.act("wait", f"go on in {_length(seconds)}", steps, LIFETIME, note=self.early_loss(at))

    def wait_until_cold(self) -> Made:
        """The next request when nothing is kept any more."""
        title = "go on when it is cold"
        ends = self.state.deadline(self.state.chain[0])
        if ends.latest is None:
            return NotPriced(name="wait-until-cold", title=title, reason="nobody says when this cache forgets")
        at = max(self.now, ends.latest + SECOND)
        steps = (self.step("the next request", at, self.read_at(at)),)
        return self.act("wait-until-cold", title, steps, LIFETIME)

    def other_model(self, model: str) -> Made:
        """One turn at another model, and the first request back at this one."""
        title = f"one turn at {model}, and back"
        try:
            rules = rules_for(self.state.last.provider, model, self.now)
        except ValueError as error:
            return NotPriced(name="other-model", title=title, reason=str(error))
        there = self.elsewhere(lambda row: row.model == model, self.now)
        back = self.now + _TURN
        sizes = self.at_other_model(model)
        steps = (
            self.step("the first request there", self.now, there, model=model, rules=rules, prompt=sizes),
            self.step("the first request back", back, self.read_at(back)),
        )
        note = "each model has a cache of its own" + (
            "" if sizes.low == sizes.high else "; its tokenizer counts the same text differently"
        )
        return self.act("other-model", title, steps, LIFETIME, note=note)

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
                return self.act("other-effort", title, steps, (), note="no rule says whether effort is in the key")
            return NotPriced(name="other-effort", title=title, reason="no rule says whether effort is in the key")
        outcomes = [self.under_key(", ".join(rule.sections), kept)]
        outcomes += [self.under_key(value, kept) for value, _source in figure.alternatives]
        now_at = state.chain[0].effort
        seen = self.elsewhere(lambda row: row.model == state.last.model and row.effort not in (None, now_at), self.now)
        read = Reads(
            max(outcomes[0].expected, seen.expected),
            min(one.low for one in outcomes),
            max(*(one.high for one in outcomes), seen.high),
        )
        steps = (self.step("the next request", self.now, read),)
        return self.act("other-effort", title, steps, (f"settings.{rule.name}",), note=f"in the key of {figure.value}")

    def change_tools(self) -> Made:
        """A tool or an MCP server that comes or goes."""
        kept = self.read_at(self.now)
        harmless = self.harmless_tool_changes()
        expected = kept.expected if harmless else 0
        note = "tools stand in front of everything; a harness that defers them only appends"
        if not harmless and self.state.announces_tools:
            expected = kept.expected
            note = "its harness announces tools in messages, so that the list in front stays as it is"
        if harmless:
            note = f"{plural(harmless, 'such change')} in this session lost nothing: its tools are deferred"
        steps = (self.step("the next request", self.now, Reads(expected, 0, kept.high)),)
        more = ("order", "settings.tool_changes")
        return self.act("change-tools", "connect or drop a tool or MCP server", steps, more, note=note)

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
                reason = "it is too late for that" if state.promises else NOBODY_SAYS
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
        summary = self.summary_size()
        front = state.front
        # A request for a summary that begins with the conversation's own prompt has just used what stands in front.
        expected, worst, _ = (True, True, True) if reuses else state.deadline(state.chain[0]).kept(at)
        alive = Reads(front.expected if expected else 0, front.low if worst else 0, front.high)
        after = TokenRange(*(state.opening + size for size in (summary.expected, summary.low, summary.high)))
        steps = (
            self.step("the request for a summary", at, read, output=summary, prompt=asked, apart=reuses is False),
            self.step("the first request after it", at + _TURN, alive, prompt=after),
        )
        later = self.saved_later(after.expected)
        known = "its earlier summaries" if state.summaries else "assumed"
        note = f"a summary of {summary.low:,} to {summary.high:,} tokens ({known})"
        keys = ("settings.betas",) if reuses else ()
        return self.act(when, title, steps, LIFETIME, note=note, saves_later=later, more=keys, weak=True)

    def fork(self) -> Made:
        """A second conversation that begins with this one's whole history."""
        steps = (self.step("the first request of the fork", self.now, self.read_at(self.now)),)
        note = "both go on reading what they share, as long as the harness sends the same tools and system"
        return self.act("fork", "fork", steps, (*LIFETIME, "scope"), note=note)

    def resume(self) -> Made:
        """The harness closed and started again on this history."""
        kept = self.read_at(self.now)
        steps = (self.step("the first request after it", self.now, Reads(kept.expected, 0, kept.high)),)
        note = "as going on if version, folder, tools and system are the same; else all is paid anew"
        return self.act("resume", "close it and resume", steps, (*LIFETIME, "order"), note=note, weak=True)

    def rewind(self) -> Made:
        """Back to the end of the turn before the last one."""
        title = "rewind to before the last prompt"
        row = self.before_last_prompt()
        if row is None:
            return NotPriced(name="rewind", title=title, reason="the log shows no earlier turn")
        whole = row.warm if self.state.rules.matching == "breakpoint" else self.whole_steps(row.total)
        read = self.kept_of(row, whole, self.now)
        size = row.total + (row.output or 0)
        prompt = TokenRange(size, row.total, size)
        steps = (self.step("the next request", self.now, read, prompt=prompt),)
        return self.act("rewind", title, steps, (*LIFETIME, "refresh"), note=f"to the end of request {row.id}")

    def start_afresh(self) -> Made:
        """A new conversation with the same tools and system."""
        state = self.state
        kept = state.deadline(state.chain[0]).kept(self.now)
        front = state.front
        read = Reads(front.expected if kept[0] else 0, front.low if kept[1] else 0, front.high)
        read = Reads(read.expected, min(read.low, state.opening), min(read.high, state.opening))
        steps = (self.step("the first request", self.now, read, prompt=TokenRange.of(state.opening)),)
        note = "as long a first prompt as this conversation's; nothing of the history comes along"
        return self.act("start-afresh", "start afresh", steps, (*LIFETIME, "refresh"), note=note)


def _length(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{minutes} min" if not rest else f"{seconds} s"
