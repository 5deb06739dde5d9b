"""Names the cause of a read that was lost: which rules must be off to restore it, and what that says."""

from __future__ import annotations

from collections.abc import Callable

from agentsim.cache.entry_store import CacheEntry
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.core.dates import SECOND
from agentsim.core.session import Request
from agentsim.core.verdict import Divergence, Evidence
from agentsim.diagnose.host_change import went_elsewhere
from agentsim.diagnose.hypothesis import unproved
from agentsim.diagnose.prompt_diff import shape_difference
from agentsim.diagnose.relax_facts import SETTING_CAUSES, CacheRead, NamedCause, RequestFacts, Words, differing_settings
from agentsim.diagnose.relax_words import code_of, explain, is_unmarked, order_of
from agentsim.diagnose.relaxation import Relaxation, Relaxed, RelaxedLookup, Rule, find_relaxed, smallest
from agentsim.rules.providers import ProviderRules

EXPIRED = {300: "AS201", 3600: "AS202"}
"""Codes of the usual lifetimes, in seconds; any other is AS206."""

LATE_READABLE = 2
"""Seconds after a response within which its entry may not be readable yet, whatever is documented."""

_RULE_NAMES = {"shape": "shape_in_key", "thinking": "thinking", "lookback": "lookback", "minimum": "minimum"}
"""Rules that a relaxation switches off, by their names in the rules file."""


class CauseFinder:
    """Asks a model, as it stands when a request arrives, what would have been read under other rules."""

    def __init__(self, provider: ModeledProvider, tokens_of: Callable[[RequestFacts, CacheEntry | None], int]) -> None:
        self._provider = provider
        self._tokens_of = tokens_of
        self._cache_of: dict[str, tuple[str | None, str | None]] = {}

    def relax(self, seen: RequestFacts, reference: RequestFacts, target: int) -> Relaxed | None:
        """The smallest set of rules whose relaxation restores the read up to ``target`` blocks."""
        hit = self._provider.find(seen.request, seen.asked, seen.now)
        if hit is not None and hit.length >= target:
            return None  # by the rules it can be read as it is: relaxing them explains nothing
        candidates = [Relaxation("ttl"), Relaxation("lookback"), Relaxation("readability")]
        for name, _, _ in differing_settings(reference.request, seen.request, seen.asked.rules):
            candidates.append(Relaxation("setting", name))
        if seen.asked.rules.shape_in_key:
            candidates.append(Relaxation("shape"))
        if seen.asked.rules.thinking == "last_turn":
            candidates.append(Relaxation("thinking"))
        if reference.request.model != seen.request.model:
            candidates.append(Relaxation("model"))
        kept = any(marker.position + 1 == target for marker in reference.asked.usable)
        below = any(marker.position + 1 == target for marker in reference.asked.breakpoints) and not kept
        rule: Rule = "minimum" if below else "marker"
        if kept and all(marker.position + 1 < target for marker in seen.asked.breakpoints):
            candidates.append(Relaxation("unmarked"))
        if not kept:
            candidates.append(Relaxation(rule))
        return smallest(self.question(seen, target, reference, rule), candidates)

    def relax_to(self, seen: RequestFacts, reference: RequestFacts, target: int) -> Relaxed | None:
        """The smallest set of rules whose relaxation lets an entry be read that is there, of ``target`` blocks."""
        if not target:
            return None
        candidates = [Relaxation("ttl"), Relaxation("lookback"), Relaxation("readability")]
        for name, _, _ in differing_settings(reference.request, seen.request, seen.asked.rules):
            candidates.append(Relaxation("setting", name))
        if reference.request.model != seen.request.model:
            candidates.append(Relaxation("model"))
        return smallest(self.question(seen, target), candidates)

    def question(
        self, seen: RequestFacts, target: int, reference: RequestFacts | None = None, supposed_by: Rule = "marker"
    ) -> RelaxedLookup:
        """The question whether ``target`` blocks could be read; with a reference, had it marked their end."""
        supposed = None
        if reference is not None and target > 0:
            ttls = [marker.ttl for marker in reference.asked.breakpoints] or [reference.asked.rules.ttl_short]
            supposed = self._provider.entry_of(reference.request, reference.asked, target, ttls[-1])
            self._provider.store_of(reference.request).rewind_to(supposed, reference.now)
        return RelaxedLookup(self._provider, seen.request, seen.asked, seen.now, target, supposed, supposed_by)

    def named(
        self,
        seen: RequestFacts,
        reference: RequestFacts,
        relaxed: Relaxed,
        target: int,
        words: Words,
        read: int | None = None,
    ) -> NamedCause:
        """The cause that a set of relaxations stands for, with its sentences."""
        rules = seen.asked.rules
        ordered = sorted(relaxed, key=order_of)
        codes = []
        evidence: Evidence = "proved"
        for relaxation in ordered:
            codes.append(self.code(relaxation, seen, reference))
            explain(relaxation, seen, reference, target, words)
            rule = f"settings.{relaxation.name}" if relaxation.rule == "setting" else _RULE_NAMES.get(relaxation.rule)
            figure = rules.figure(rule) if rule is not None else None
            if figure is not None and figure.confidence == "low":
                evidence = "implied"
                words.to_check.append(f"Whether the provider really works so; the source is weak: {figure.source}.")
        first = self.decisive(seen, relaxed, read) if read is not None and len(codes) > 1 else ()
        if first:
            codes.sort(key=lambda code: code != self.code(first[0], seen, reference))
            words.established.append(f"What was read is what {codes[0]} alone leaves, and not what the others do.")
        if len(codes) > 1:
            words.established.append("Neither alone explains it: only together do these restore the read.")
        place: Divergence | None = None
        if any(relaxation.rule == "shape" for relaxation in relaxed):
            place = shape_difference(reference.prompt, seen.prompt)
        others = tuple(codes[1:])
        return NamedCause(codes[0], evidence if evidence == "proved" else unproved(others), others, place)

    def decisive(self, seen: RequestFacts, relaxed: Relaxed, read: int) -> Relaxed:
        """The rules of a set, those first that alone, with the others off, account for the read."""
        alone = []
        for one in relaxed:
            others = tuple(other for other in relaxed if other is not one)
            if _near(self._size(seen, find_relaxed(self.question(seen, 1), others)), read):
                alone.append(one)
        return tuple(alone) if len(alone) < len(relaxed) and alone else ()

    def elsewhere(
        self, seen: RequestFacts, parent: RequestFacts, reading: CacheRead, words: Words, *, equal: bool = True
    ) -> NamedCause | None:
        """AS503 where the log shows that another cache was asked, and its own entries account for what was read."""
        request, before = seen.request, parent.request
        same = " The content is the same." if equal else ""
        if request.provider != before.provider:
            words.established.append(
                f"Request {before.id} went to {before.provider} and this one to {request.provider}; "
                f"each has a cache of its own.{same}"
            )
            return NamedCause("AS503", "proved")
        moved = went_elsewhere(before, parent.now, request, seen.now)
        if moved:
            words.established += [*moved, *([same.strip()] if equal else [])]
            there = self._longest(
                seen, lambda entry: self._cache_of.get(entry.owner) == (request.host, request.account)
            )
            if _near(self._size(seen, there), reading.tokens):
                return NamedCause("AS503", "proved")
        return None

    def unexplained(
        self, seen: RequestFacts, parent: RequestFacts, reading: CacheRead, words: Words, *, equal: bool = True
    ) -> NamedCause:
        """The rules do not account for the read. What does so to the token, and else what stays possible, likeliest
        first. ``equal``: the content is that of the request before, and longer."""
        rules, request, before = seen.asked.rules, seen.request, parent.request
        moved = self.elsewhere(seen, parent, reading, words, equal=equal)
        if moved is not None:
            return moved
        front = "The prompt repeats that of" if equal else "By what it repeats of"
        words.established.append(
            f"{front} request {before.id}, and by the rules {reading.predicted:,} tokens "
            f"could be read; {reading.tokens:,} were."
            if equal
            else f"{front} request {before.id} and by the rules {reading.predicted:,} tokens could be read; "
            f"{reading.tokens:,} were: the change alone does not explain that."
        )
        codes: list[str] = ["AS503"]
        if equal and self._newest_not_found(seen, parent, reading):
            words.established.append(
                "It was sent just behind the response that wrote the entry, and read what was there before that."
            )
            words.to_check.append(
                "Whether the entry was readable yet: send the second request a little later and compare."
            )
            return NamedCause("AS501", "likely", ("AS503",), None)
        doubt = seen.now - rules.readable_doubt * SECOND
        young = self._longest(seen, lambda entry: entry.readable > doubt)
        if young is not None and reading.model_hit is not None:
            old = self._longest(seen, lambda entry: entry.readable <= doubt)
            if _near(self._size(seen, old), reading.tokens):
                words.established.append(
                    f"It was sent within {rules.readable_doubt} s after the response that wrote the entry had begun; "
                    "at that time such requests often found it not readable yet."
                )
                words.to_check.append("Send the second request a little later and compare.")
                return NamedCause("AS501", "likely", ("AS503",), None)
            codes.insert(0, "AS501")
        changed = differing_settings(before, request, rules, unknown=True)
        if changed:
            names = ", ".join(name for name, _, _ in changed)
            words.established.append(f"Between the two requests changed: {names}.")
            words.to_check.append(
                "Which sections this setting re-keys for this model; the documentation leaves it open."
            )
            found = tuple(dict.fromkeys(SETTING_CAUSES.get(name, "AS407") for name, _, _ in changed))
            section = self._reached(seen, reading.tokens)
            if section is not None:
                words.established.append(
                    f"The read ends with {section}: by the rules more of the head stays readable, and it was not read."
                )
                return NamedCause(found[0], unproved(codes), (*found[1:], *codes), None)
            # A setting whose reach nobody documents may re-key more than was assumed: that comes before chance.
            doubtful = [name for name, _, _ in changed if _is_doubtful(rules, name)]
            first = [SETTING_CAUSES.get(name, "AS407") for name in doubtful]
            codes = list(dict.fromkeys((*first, *codes, *found)))
        pinned = equal and reading.tokens > 0 and _looks_up_its_own(rules) and not seen.prompt.breakpoints
        if pinned:
            words.established.append(
                "By another reading of this provider's rules only a request's own breakpoints are looked up: the one "
                "that it sets itself moves on with each message, and what stands in front is read where you mark it."
            )
            codes.append("AS302")
        place = shape_difference(parent.prompt, seen.prompt)
        if place is not None:
            words.established.append("A message is written in another way: as a string, or as a list of one block.")
            words.to_check.append("Whether this model's cache tells the two apart.")
            if not changed:
                return NamedCause("AS127", unproved(codes), tuple(codes), place)
            codes.append("AS127")
        lifetime = (parent.asked.usable[-1].ttl if parent.asked.usable else rules.ttl_short) * SECOND
        if 2 * (seen.now - parent.asked.used) > lifetime:
            codes.append(self.expiry_code(parent))
        words.to_check.append("Whether the entry was evicted early, or the request reached another cache.")
        return NamedCause("AS902" if reading.tokens == 0 else "AS901", "unexplained", tuple(codes), None)

    def _newest_not_found(self, seen: RequestFacts, parent: RequestFacts, reading: CacheRead) -> bool:
        """True when the request before had only just been answered, and all but its own entry was read."""
        end = parent.request.end
        if end is None or not reading.tokens or not 0 <= seen.now - end <= LATE_READABLE * SECOND:
            return False
        older = self._longest(seen, lambda entry: entry.owner != parent.request.id)
        return older is not None and self._size(seen, older) == reading.tokens

    def knows(self, request: Request) -> None:
        """Remember which host answered a request."""
        self._cache_of[request.id] = (request.host, request.account)

    def _longest(self, seen: RequestFacts, wanted: Callable[[CacheEntry], bool]) -> CacheEntry | None:
        """The longest entry on the prompt's chain that is alive, in the key of the request, and as wanted."""
        address, store = seen.asked.address, self._provider.store_of(seen.request)
        for length in range(len(seen.prompt), 0, -1):
            entry = address.space_at(length).entries.get(address.chain(length))
            if entry is not None and store.alive(entry, seen.now) and wanted(entry):
                return entry
        return None

    def _size(self, seen: RequestFacts, entry: CacheEntry | None) -> int:
        return 0 if entry is None else self._tokens_of(seen, entry)

    def _reached(self, seen: RequestFacts, read: int) -> str | None:
        """The section at whose end a read stopped; ``None`` where it stopped elsewhere, or nothing was read."""
        if not read:
            return None
        for section, name in (("tools", "the tools"), ("system", "the system text")):
            end = seen.prompt.tokens_until(seen.prompt.section_end(section))  # type: ignore[arg-type]
            if abs(end - read) * 10 <= read:
                return name
        return None

    def expiry_code(self, reference: RequestFacts) -> str:
        """Which lifetime ended: five minutes, an hour, another one, or a short one where it had been a long one."""
        usable = reference.asked.usable
        rules = reference.asked.rules
        lifetime = usable[-1].ttl if usable else rules.ttl_short
        if lifetime <= rules.ttl_short and reference.had_long:
            return "AS203"
        return EXPIRED.get(lifetime, "AS206")

    def blocked(self, seen: RequestFacts, parent: RequestFacts) -> Relaxed:
        """What would have kept the parent's entry from being read even if the content were the same."""
        found: list[Relaxation] = []
        address, now = parent.asked.address, seen.now
        entry = address.space_at(parent.warm).entries.get(address.chain(parent.warm))
        if entry is not None and not self._provider.store_of(parent.request).alive(entry, now):
            found.append(Relaxation("ttl"))
        if entry is not None and entry.readable > now:
            found.append(Relaxation("readability"))
        if parent.request.model != seen.request.model:
            found.append(Relaxation("model"))
        for name, _, _ in differing_settings(parent.request, seen.request, seen.asked.rules):
            found.append(Relaxation("setting", name))
        return tuple(found)

    def code(self, relaxation: Relaxation, seen: RequestFacts, reference: RequestFacts) -> str:
        """The code of the cause that one relaxed rule stands for."""
        code = code_of(relaxation, reference.request.lane == seen.request.lane)
        if relaxation.rule == "lookback" and is_unmarked(seen, reference.warm):
            return "AS302"
        return self.expiry_code(reference) if relaxation.rule == "ttl" else code


def _is_doubtful(rules: ProviderRules, setting: str) -> bool:
    """Whether the rules say nothing of a setting, or nothing sure."""
    figure = rules.figure(f"settings.{setting}")
    return figure is None or figure.confidence == "low"


def _near(predicted: int, read: int) -> bool:
    """Whether a predicted read is the one that was reported, as far as sizes are known."""
    return abs(predicted - read) * 100 <= read


def _looks_up_its_own(rules: ProviderRules) -> bool:
    """Whether the provider sets a breakpoint itself, and sources disagree whether those of earlier requests count."""
    figure = rules.figure("lookback_counts")
    return rules.implicit != "none" and figure is not None and any(value == "own" for value, _ in figure.alternatives)
