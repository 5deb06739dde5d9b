"""Verdicts by bodies on automatic caches: those that find prefixes by themselves, in whole or as units, or hold slots.

Here a lost read has few possible causes. Either the content of the prompt differs from the one before, and then the
first differing block is the cause; or a parameter does that is part of the key; or the content was all there, and the
provider did not find it: too early, too late, or on another machine.
"""

from __future__ import annotations

from agentsim.cache.routed_backend import RoutedProvider
from agentsim.cache.rules_in_force import RulesInForce, by_interface
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request
from agentsim.core.verdict import Divergence, Evidence, Kind, Verdict
from agentsim.diagnose.automatic_rows import DOUBT, PAUSE, TURN
from agentsim.diagnose.host_change import host_changed
from agentsim.diagnose.prompt_diff import cause_of, first_difference
from agentsim.rules.providers import ProviderRules

SECOND = 10**9

_SETTINGS = {"effort": "AS403", "verbosity": "AS407", "prompt_cache_key": "AS503"}


class _Known:
    """A request that was judged: its prompt, what it took in all, and when it could be read from and was last used."""

    def __init__(self, request: Request, prompt: Prompt, total: int, now: int) -> None:
        self.request = request
        self.prompt = prompt
        self.total = total
        self.now = now
        first = request.first_token
        self.readable = now if first is None or request.start is None else first - request.start + now


class AutomaticJudge:
    """Judges the requests of one session in the order of their start. Mutable."""

    def __init__(self, compacted: frozenset[str | None]) -> None:
        self._compacted = compacted
        self._rules = RulesInForce(None, by_interface)
        self._backends = RoutedProvider()
        self._by_id: dict[str, _Known] = {}
        self._by_lane: dict[str, _Known] = {}

    def judge(self, request: Request, now: int) -> Verdict | None:
        """The verdict on a request with a prompt; ``None`` where its provider's cache does not work like this."""
        prompt = request.prompt
        assert prompt is not None
        try:
            rules = self._rules.of(request, now)
        except ValueError:
            return None
        if rules.matching == "breakpoint":
            return None
        served = self._backends.backend_under(rules).serve(request, now).usage
        usage = request.usage
        if usage is not None and usage.read is None:
            return Verdict(request=request.id, kind="unreported", cause="AS910", evidence="proved")
        read = (served.read if usage is None else usage.read) or 0
        total = (None if usage is None else usage.total_input) or prompt.tokens
        parent = self._by_id.get(request.parent or "") or self._by_lane.get(request.lane)
        this = _Known(request, prompt, total, now)
        self._by_id[request.id] = self._by_lane[request.lane] = this
        return self._verdict(this, parent, read, served.read or 0, rules)

    def _verdict(self, this: _Known, parent: _Known | None, read: int, predicted: int, rules: ProviderRules) -> Verdict:
        if this.total < rules.minimum and not read:
            sentence = f"The prompt has {this.total:,} tokens; shorter ones than {rules.minimum:,} are not kept."
            return self._plain(this, parent, "uncached", read, predicted, "AS303", "proved", sentence)
        if parent is None:
            return self._plain(this, None, "first", read, predicted)
        common = parent.prompt.common_length(this.prompt)
        if common == len(this.prompt) < len(parent.prompt):
            return self._plain(this, parent, "shorter", read, predicted)
        expected = _whole(parent.total, rules)
        missing = expected - read
        if missing <= rules.quantum + TURN:
            return self._plain(this, parent, "hit", read, predicted)
        if this.request.id in self._compacted:
            sentence = f"A summary took the place of the history; {read:,} tokens in front of it were read."
            return self._plain(this, parent, "compaction", read, predicted, "AS140", "proved", sentence)
        cause, evidence, place, alternatives, sentence = self._cause(this, parent, common, read, predicted, rules)
        return Verdict(
            request=this.request.id,
            kind="miss",
            cause=cause,
            evidence=evidence,
            alternatives=alternatives,
            place=place,
            expected=expected,
            predicted=predicted,
            prediction="exact" if read == predicted else "wrong",
            lost=missing,
            established=(sentence,),
            to_check=() if evidence == "proved" else ("Whether the same cache key reaches the same machine.",),
            compared_with=parent.request.id,
        )

    def _cause(
        self, this: _Known, parent: _Known, common: int, read: int, predicted: int, rules: ProviderRules
    ) -> tuple[str, Evidence, Divergence | None, tuple[str, ...], str]:
        """The cause of a loss, its evidence, its place, what else is possible, and a sentence that says why."""
        if this.request.model != parent.request.model:
            sentence = "The model changed; each model has a cache of its own."
            return "AS404", "proved", None, (), sentence
        for name, code in _SETTINGS.items():
            if _setting(this.request, name) != _setting(parent.request, name):
                return code, "proved", None, (), f"{name} changed; it is part of the key."
        front = _whole(this.prompt.tokens_until(common), rules)
        near = rules.quantum + TURN
        if rules.matching == "slot" and predicted + near < front and read <= predicted + near:
            sentence = f"Since request {parent.request.id} another prompt was computed in its slot."
            return "AS504", "implied", None, ("AS503",), sentence
        reach = min(front, predicted) if rules.matching == "unit" else front
        if common < len(parent.prompt) and read + near >= reach:
            place = first_difference(parent.prompt, this.prompt)
            if place is not None:
                sentence = f"All {front:,} tokens in front of the first difference that count in whole steps were read."
                if reach < front:
                    sentence = (
                        f"The prompts begin with the same {front:,} tokens, but no stored unit ends there yet; "
                        "what two requests have in common is stored as one from the second of them on."
                    )
                return cause_of(place, parent.prompt, this.prompt), "proved", place, (), sentence
        request, before = this.request, parent.request
        moved = host_changed(request.provider, request.model, (before.host, parent.now), (request.host, this.now))
        if moved:
            return "AS503", "proved", None, (), " ".join(moved)
        if this.now < parent.readable:
            return "AS501", "proved", None, (), "The answer to the request before had not begun."
        idle = (this.now - parent.now) // SECOND
        sentence = f"The front of {front:,} tokens was the same and was not found, {idle:,} s after its last use"
        if idle > PAUSE:
            known = "; such caches keep a prefix for some minutes after its last use, and longer at quiet times."
            return "AS205", "implied", None, ("AS503",), sentence + known
        codes = ("AS503", "AS205") if idle > DOUBT else ("AS503",)
        return "AS902" if not read else "AS901", "unexplained", None, codes, sentence + "."

    def _plain(
        self,
        this: _Known,
        parent: _Known | None,
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


def _whole(tokens: int, rules: ProviderRules) -> int:
    """What can be read of so many tokens."""
    return tokens - tokens % rules.quantum if tokens >= rules.minimum else 0


def _setting(request: Request, name: str) -> str | None:
    return next((value for known, value in request.settings if known == name), None)
