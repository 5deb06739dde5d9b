"""The provider of the backtest: what is kept, found and billed, by the published rules and by facts that are hidden.

Entries stand at markers. A look-up starts at each marker, the last first, and tests twenty positions, the marker's own
first. An entry lives from the start of the request that wrote or read it; reading refreshes all that was read through.
It can be read once the answer began. Providers that keep every prompt by themselves read the longest prefix in steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from agentsim.cache import CacheBackend, CacheLookup, Served
from agentsim.core.prompt import Breakpoint, Prompt
from agentsim.core.session import Request, Usage
from benchmarks.verdicts import documented_rules
from benchmarks.verdicts.documented_rules import ModelRules
from benchmarks.whatif.hidden_facts import SECOND, HiddenFacts, share

LOOKBACK = 20
RULES = {rules.model: rules for rules in vars(documented_rules).values() if isinstance(rules, ModelRules)}
"""What is published of each model, by its name. Others are taken as the model that is published first."""
Gateway = Callable[[Request], Request]
"""Changes a request on its way to the provider."""


@dataclass
class KeptEntry:
    """What is kept at one position: its lifetime in seconds, and when it was last used and can be read."""

    tokens: int
    lifetime: int
    used: int
    readable: int


@dataclass
class _Awaited:
    """A reply that is followed by a call which no log shows."""

    moment: int
    request: Request
    refreshed: bool = False


@dataclass
class BacktestWorld(CacheBackend):
    """A provider's memory, as the harness asks it. ``gateway`` changes what is sent; no log knows of it."""

    facts: HiddenFacts
    gateway: Gateway | None = None
    kept_for: int | None = None
    """For so many nanoseconds of disuse a provider that keeps every prompt keeps it; ``None``: as is hidden."""
    always_found: bool = False
    """Whether each request reaches the machine that has its prompt."""
    entries: dict[bytes, KeptEntry] = field(default_factory=dict)
    fronts: set[bytes] = field(default_factory=set)
    """What entries were ever kept of, whatever the settings: of any other front none can be."""
    endings: dict[tuple[str, str, str, object], bytes] = field(default_factory=dict)
    kept: list[tuple[bytes, Prompt, int, int]] = field(default_factory=list)
    awaited: dict[str, _Awaited] = field(default_factory=dict)
    replies: int = 0
    heads: set[bytes] = field(default_factory=set)
    lanes: set[str] = field(default_factory=set)

    def look_up(self, request: Request, now: int, *, keep: int | None = None) -> CacheLookup:
        """What will be read. What happened since the request before happens first."""
        sent = request if self.gateway is None else self.gateway(request)
        assert sent.prompt is not None
        self._catch_up(sent, now)
        if sent.lane not in self.lanes and sent.prompt.section_end("system"):
            self.lanes.add(sent.lane)
            self.heads.add(sent.prompt.chain(sent.prompt.section_end("system")))
        length = self._found(sent, now)
        return CacheLookup(request=request, now=now, read=sent.prompt.tokens_until(length), hit=length, found=sent)

    def commit(self, lookup: CacheLookup, *, first_token: int | None = None, end: int | None = None) -> Served:
        """Read, write, bill."""
        sent: Request = lookup.found
        now = lookup.now
        usage = self._serve(sent, now, first_token if first_token is not None else now, lookup.hit)
        if sent.stop_reason == "end_turn" and sent.purpose == "main":
            after = self.facts.follows(sent.id, self.replies)
            self.replies += 1
            if after is not None:
                self.awaited[sent.id] = _Awaited((end or now) + after, sent)
        return Served(usage=usage, hit=lookup.hit)

    def evict(self, request: Request, keep: int, now: int) -> None:
        """Nobody asks this world to forget."""
        raise NotImplementedError

    def _catch_up(self, request: Request, now: int) -> None:
        """Calls that no log shows: the whole conversation with its last reply, sent again when a turn was over."""
        for parent, call in sorted(self.awaited.items(), key=lambda item: item[1].moment):
            if call.moment > now:
                continue
            if not call.refreshed:
                call.refreshed = True  # what it reads is refreshed for all, what it writes matters to its child alone
                self._serve(call.request, call.moment, call.moment, self._found(call.request, call.moment))
            if request.parent == parent and request.prompt is not None:
                self._send_reply(call, request.prompt)
                del self.awaited[parent]

    def _send_reply(self, call: _Awaited, prompt: Prompt) -> None:
        before = call.request.prompt
        assert before is not None
        length = len(before)
        if not before.breakpoints or len(prompt) <= length or prompt.chain(length) != before.digest:
            return
        while length < len(prompt) and prompt[length].role == "assistant":
            length += 1
        marks = [*before.breakpoints, Breakpoint(length - 1, before.breakpoints[-1].ttl)]
        front = prompt.front(length, marks[-4:])
        sent = Request(
            id="unlogged",
            lane=call.request.lane,
            model=call.request.model,
            start=call.moment,
            provider=call.request.provider,
            prompt=front,
            settings=call.request.settings,
        )
        self._serve(sent, call.moment, call.moment + SECOND, self._found(sent, call.moment))

    # --- what is kept ---------------------------------------------------------------------------------------------

    def _rules(self, request: Request) -> ModelRules:
        known = RULES.get(request.model)
        if known is None:
            known = documented_rules.OPUS_48 if request.provider == "anthropic" else documented_rules.GPT_54
        return known

    def _key(self, request: Request, prompt: Prompt, length: int) -> bytes:
        section = prompt[length - 1].section
        asked = request.provider, request.model, section, request.settings
        ending = self.endings.get(asked)
        if ending is None:
            rules = self._rules(request)
            stated = [(name, value) for name, value in request.settings if section in rules.keyed.get(name, ())]
            ending = self.endings[asked] = f"{request.model}\0{sorted(stated)}".encode()
        return prompt.chain(length) + ending

    def _found(self, request: Request, now: int) -> int:
        """How many leading blocks are read."""
        prompt, rules = request.prompt, self._rules(request)
        assert prompt is not None
        if rules.matching != "breakpoint":
            return self._longest(request, prompt, rules, now)
        for marker in sorted(prompt.breakpoints, key=lambda marker: -marker.position):
            for length in range(marker.position + 1, max(0, marker.position + 1 - LOOKBACK), -1):
                if self._alive(request, prompt, length, now):
                    return length
        return 0

    def _alive(self, request: Request, prompt: Prompt, length: int, now: int) -> bool:
        chain = prompt.chain(length)
        if chain not in self.fronts and chain not in self.heads:
            return False
        key = self._key(request, prompt, length)
        entry = self.entries.get(key)
        if entry is not None and self._stands(key, entry, prompt[length - 1].section, now):
            return entry.readable <= now
        if chain not in self.heads or length != prompt.section_end("system"):
            return False
        tokens = prompt.tokens_until(length)
        seen = self.facts.other_session(now)
        if seen is None or tokens < self._rules(request).minimum:
            return False
        lifetime = self.facts.others_lifetime
        if now - seen >= lifetime * SECOND + self.facts.linger(key, lifetime):
            return False
        self.entries[key] = KeptEntry(tokens, lifetime, seen, seen)
        self.fronts.add(chain)
        return True

    def _stands(self, key: bytes, entry: KeptEntry, section: str, now: int) -> bool:
        idle = now - entry.used
        if idle >= (life := entry.lifetime * SECOND) and idle >= life + self.facts.linger(key, entry.lifetime):
            return False
        if section != "messages":
            return True
        if idle * 5 >= life and idle >= self.facts.patience(key, entry.lifetime):
            return False
        return not self.facts.evicted(entry.used, now)

    def _serve(self, request: Request, now: int, first_token: int, hit: int) -> Usage:
        prompt, rules = request.prompt, self._rules(request)
        assert prompt is not None
        output = request.usage.output if request.usage is not None else 0
        read = prompt.tokens_until(hit)
        if rules.matching != "breakpoint":
            self.kept.append((self._key(request, prompt, len(prompt)), prompt, now, first_token))
            step = max(rules.step, 1)
            read = (read - rules.offset) // step * step + rules.offset
            read = read if read >= rules.minimum else 0
            return Usage(fresh=prompt.tokens - read, read=read, output=output)
        for length in range(1, hit + 1):
            if prompt.chain(length) not in self.fronts:
                continue
            key = self._key(request, prompt, length)
            entry = self.entries.get(key)
            if (
                entry is not None
                and entry.readable <= now
                and self._stands(key, entry, prompt[length - 1].section, now)
            ):
                entry.used = max(entry.used, now)
        last, border = read, read
        for marker in prompt.breakpoints:
            length = marker.position + 1
            tokens = prompt.tokens_until(length)
            if tokens < rules.minimum:
                continue
            last = max(last, tokens)
            if marker.ttl >= 3600:
                border = max(border, tokens)
            self._write(request, prompt, length, marker.ttl, now, first_token)
        return billed(fresh=prompt.tokens - last, short=last - border, long=border - read, read=read, output=output)

    def _write(self, request: Request, prompt: Prompt, length: int, lifetime: int, now: int, first_token: int) -> None:
        key = self._key(request, prompt, length)
        entry = self.entries.get(key)
        readable = first_token + self.facts.lateness(key)
        if entry is not None and self._stands(key, entry, prompt[length - 1].section, now):
            if entry.readable > now:
                entry.readable = min(entry.readable, readable)
                entry.used = max(entry.used, now)
            return
        self.entries[key] = KeptEntry(prompt.tokens_until(length), lifetime, now, readable)
        self.fronts.add(prompt.chain(length))

    def _longest(self, request: Request, prompt: Prompt, rules: ModelRules, now: int) -> int:
        idle = self.kept_for or int((420 + 3_000 * share(self.facts.seed, "idle")) * SECOND)
        if not self.always_found and self.facts.goes_astray(prompt.digest):
            return 0
        best = 0
        for _, old, used, readable in self.kept:
            if readable <= now < used + idle:
                best = max(best, min(old.common_length(prompt), len(prompt) - 1))
        return best


def billed(*, fresh: int, short: int, long: int, read: int, output: int | None) -> Usage:
    """Counters that do not overlap."""
    return Usage(fresh=fresh, write_short=short, write_long=long, read=read, output=output)
