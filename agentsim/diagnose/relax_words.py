"""Sentences for people about relaxed rules: what each of them shows about a request."""

from __future__ import annotations

from agentsim.cache.automatic_breakpoints import is_set_unasked
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt
from agentsim.diagnose.prompt_diff import address
from agentsim.diagnose.relax_facts import SETTING_CAUSES, RequestFacts, Words, differing_settings
from agentsim.diagnose.relaxation import Relaxation

_CODES = {
    "ttl": "AS201",
    "lookback": "AS301",
    "readability": "AS501",
    "shape": "AS127",
    "thinking": "AS402",
    "model": "AS404",
    "minimum": "AS303",
    "unmarked": "AS302",
}
_WEIGHT = ("model", "marker", "unmarked", "minimum", "setting", "shape", "thinking", "lookback", "ttl", "readability")
"""Which rule of a set names the cause: what a person would change first."""

_SHOWN = frozenset({"citations", "effort", "images_present", "speed", "thinking", "tool_changes", "tool_choice"})
"""Settings whose values are no content."""


def code_of(relaxation: Relaxation, same_lane: bool) -> str:
    """The code of the cause that a relaxed rule stands for."""
    if relaxation.rule == "setting":
        return SETTING_CAUSES.get(relaxation.name or "", "AS407")
    if relaxation.rule == "marker":
        return "AS302" if same_lane else "AS502"
    return _CODES[relaxation.rule]


def order_of(relaxation: Relaxation) -> int:
    """Sorts the rules of a set: the one that names the cause first."""
    return _WEIGHT.index(relaxation.rule)


def explain(relaxation: Relaxation, seen: RequestFacts, reference: RequestFacts, target: int, words: Words) -> None:
    """Add what a relaxed rule shows about a request, compared with the reference whose read it restores."""
    rule = relaxation.rule
    tokens = seen.prompt.tokens_until(target)
    name = reference.request.id
    if rule == "ttl":
        words.established.append(_expiry(seen, reference))
        if seen.asked.rules.ttl_long <= seen.asked.rules.ttl_short:
            words.fix = "Keep the entry alive with a small request before it expires: there is no longer lifetime here."
    elif rule == "lookback" and seen.asked.rules.lookback_counts in ("breakpoint", "own"):
        _by_breakpoint(seen, name, target, words)
    elif rule == "unmarked":
        place = address(seen.prompt[target - 1])
        words.established.append(
            f"All {tokens:,} tokens that request {name} kept are repeated, but this request carries no breakpoint on "
            f"{place} or behind it, so that its end is not looked up."
        )
        words.fix = "Set the breakpoint on the newest message in every request of the conversation."
    elif rule == "lookback":
        last = seen.asked.usable[-1].position if seen.asked.usable else len(seen.prompt) - 1
        words.established.append(
            f"All {tokens:,} tokens that request {name} kept are repeated, but their entry stands at position "
            f"{last - target + 2} counted back from the breakpoint, and {seen.asked.rules.lookback} are searched."
        )
        words.fix = (
            f"Keep a breakpoint on {address(seen.prompt[target - 1])}, where request {name} ended, beside the one on "
            "the last block; or send what was added in fewer blocks."
        )
    elif rule == "readability":
        wait = reference.asked.readable - seen.now
        words.established.append(
            f"Request {name} had not begun to respond, so nothing of it could be read yet"
            + (f": {_seconds(wait)} too early." if wait > 0 else ".")
        )
    elif rule == "setting":
        for setting, old, new in differing_settings(reference.request, seen.request, seen.asked.rules):
            if setting == relaxation.name:
                words.established.append(_setting(setting, old, new, name, tokens))
    elif rule == "shape":
        words.established.append("The text is the same, but a message is now a string and was a list, or the reverse.")
    elif rule == "thinking":
        words.established.append(
            "Content came that is no result of a tool, and this model is then shown no thinking of earlier turns: what "
            "stands behind the first of it was kept with it, and is not found without it."
        )
    elif rule == "model":
        words.established.append(f"Request {name} went to another model; each model has a cache of its own.")
    elif rule == "minimum":
        words.established.append(
            f"The common {tokens:,} tokens are fewer than the {seen.asked.rules.minimum:,} that this model keeps."
        )
    else:
        words.established.append(
            f"Request {name} has the same first {tokens:,} tokens, to the end of {address(seen.prompt[target - 1])}, "
            "but no breakpoint stood there."
        )
        words.fix = f"Set a breakpoint on {address(seen.prompt[target - 1])} in both requests"
        words.fix += "." if seen.now >= reference.asked.readable else " and send the others once the first has begun."


def is_unmarked(seen: RequestFacts, length: int) -> bool:
    """True where a provider that looks breakpoints up is given none at the end of so many blocks."""
    asked = seen.asked
    if asked.rules.lookback_counts not in ("breakpoint", "own") or length == 0 or length - 1 in asked.marked:
        return False
    unasked = asked.rules.lookback_counts == "breakpoint" and not asked.declined
    return not (unasked and is_set_unasked(seen.prompt, length - 1))


def _by_breakpoint(seen: RequestFacts, name: str, target: int, words: Words) -> None:
    tokens, place = seen.prompt.tokens_until(target), address(seen.prompt[target - 1])
    if is_unmarked(seen, target):
        words.established.append(
            f"All {tokens:,} tokens that request {name} kept are repeated, but this request carries no breakpoint on "
            f"{place}, where they end, and a prefix without one is not looked up."
        )
        words.fix = f"Leave the breakpoint on {place} where it is when a newer one is added behind it."
        return
    words.established.append(
        f"All {tokens:,} tokens that request {name} kept are repeated, but more than {seen.asked.rules.lookback} "
        f"breakpoints stand behind {place}, where they end, and only the latest are looked up."
    )
    words.fix = "Leave out breakpoints in the middle: those at the ends of requests are the ones that are read again."


def boundary_sentence(prompt: Prompt, common: int, front: int) -> str:
    """How far the new prompt repeats the old one."""
    if common == 0:
        return "The very first block differs."
    return f"The prompts are equal for {front:,} tokens, to the end of {address(prompt[common - 1])}."


def _expiry(seen: RequestFacts, reference: RequestFacts) -> str:
    rules = seen.asked.rules
    usable = reference.asked.usable
    lifetime = usable[-1].ttl if usable else rules.ttl_short
    since_use = _seconds(seen.now - reference.asked.used)
    request = reference.request
    if rules.ttl_clock == "request_start":
        sentence = f"An entry lives {lifetime} s from the start of the request that last used it; request {request.id} "
        sentence += f"began {since_use} before this one"
        if request.end is not None and request.end > reference.now:
            sentence += f" and its response ended {_seconds(seen.now - request.end)} before"
    else:
        sentence = f"An entry lives {lifetime} s from the end of the response that last used it; that of request "
        sentence += f"{request.id} ended {since_use} before this one"
    return f"{sentence}. The content is the same."


def _setting(name: str, old: str | None, new: str | None, request: str, tokens: int) -> str:
    if name in _SHOWN and all(value is None or len(value) <= 100 for value in (old, new)):
        change = f"{name} is {new or 'absent'} and was {old or 'absent'} in request {request}"
    else:
        change = f"{name} differs from request {request}"
    return f"{change}; the content is the same for all {tokens:,} tokens."


def _seconds(nanoseconds: int) -> str:
    whole, rest = divmod(nanoseconds, SECOND)
    return f"{whole} s" if not rest else f"{nanoseconds / SECOND:.1f} s"
