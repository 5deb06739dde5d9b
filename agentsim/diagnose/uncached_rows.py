"""Requests that could not use a cache at all: rejected, not marked, or too short."""

from __future__ import annotations

from agentsim.core.counts import plural
from agentsim.core.prompt import Prompt
from agentsim.core.session import Usage
from agentsim.core.verdict import Divergence, Verdict
from agentsim.diagnose.disputed_minimum import kept_by_another
from agentsim.diagnose.prompt_diff import address
from agentsim.diagnose.relax_facts import RequestFacts

CLEARLY_LONG = 2
"""Sizes of parts of a prompt are estimates: one of so many times the minimum is surely no shorter than it."""


def uncached(seen: RequestFacts, modeled: Usage, parent: RequestFacts | None = None) -> Verdict | None:
    """The verdict on such a request, which grew from ``parent``; ``None`` where a cache could take part or, by the log,
    did."""
    request, asked, usage = seen.request, seen.asked, seen.usage
    if is_served(usage):
        return None
    if asked.rejected is not None:
        excess = len(seen.prompt.breakpoints) > asked.rules.breakpoints
        return Verdict(
            request=request.id,
            kind="uncached",
            cause="AS304" if excess else None,
            evidence="proved",
            place=_most_marked(seen.prompt) if excess else None,
            established=(f"The provider rejects this request: {asked.rejected}.",),
        )
    if asked.usable:
        return _ignored(seen, parent, modeled)
    minimum = asked.rules.minimum
    short = seen.prompt.tokens < minimum or bool(asked.breakpoints)
    doubt = None
    if short:
        size = seen.prompt.tokens_until(asked.breakpoints[-1].position + 1) if asked.breakpoints else seen.prompt.tokens
        sentence = f"The prefix has {size:,} tokens; {request.model} keeps none below {minimum:,}."
        doubt = kept_by_another(asked.rules, size)
    else:
        sentence = f"No breakpoint anywhere among {len(seen.prompt)} blocks, and no automatic caching."
    return Verdict(
        request=request.id,
        kind="uncached",
        cause="AS303" if short else "AS305",
        evidence="proved" if doubt is None else "likely",
        alternatives=() if doubt is None else ("AS308",),
        predicted=modeled.read,
        established=(sentence,) if doubt is None else (sentence, doubt),
    )


def _ignored(seen: RequestFacts, parent: RequestFacts | None, modeled: Usage) -> Verdict | None:
    """AS308 where breakpoints were sent and nothing was written: who answered does not heed them, or dropped them on
    the way; AS303 where the prefix may be too short after all. Where writes are not reported, only a second request
    that reads nothing either tells so."""
    usage, prompt = seen.request.usage, seen.prompt
    if usage is None or usage.read is None or usage.read or not prompt.breakpoints:
        return None
    if parent is not None and is_served(parent.request.usage):
        return None  # they were heeded a request before: that is a loss
    silent = usage.write is None
    if silent and not _also_nothing(parent):
        return None
    reach, minimum = prompt.tokens_until(seen.asked.usable[-1].position + 1), seen.asked.rules.minimum
    long = reach >= CLEARLY_LONG * minimum
    count = plural(len(prompt.breakpoints), "breakpoint")
    sent = f"{count} sent, the last behind about {reach:,} tokens; nothing was read"
    told = " in this request and the one before, and no writes are reported." if silent else ", and nothing written."
    least = "" if long else f" Shorter prefixes than {minimum:,} are not kept, and sizes of parts are estimates."
    return Verdict(
        request=seen.request.id,
        kind="uncached",
        cause="AS308" if long else "AS303",
        evidence="implied" if long and not silent else "likely",
        alternatives=(*(() if long else ("AS308",)), *(("AS902", "AS503", "AS910") if silent else ())),
        predicted=modeled.read,
        established=(sent + told + least,),
        compared_with=None if parent is None else parent.request.id,
    )


def _also_nothing(parent: RequestFacts | None) -> bool:
    usage = None if parent is None else parent.request.usage
    if parent is None or usage is None or not parent.asked.usable or not parent.prompt.breakpoints:
        return False
    return usage.read == 0 and usage.write is None


def is_served(usage: Usage | None) -> bool:
    """True when a cache took part in a request."""
    return usage is not None and bool(usage.read or usage.write)


def _most_marked(prompt: Prompt) -> Divergence:
    """The message (or other part of the prompt) that carries most of the breakpoints."""
    counts: dict[tuple[str, int | None], list[int]] = {}
    for marker in prompt.breakpoints:
        block = prompt[marker.position]
        counts.setdefault((block.section, block.message if block.section == "messages" else None), []).append(
            marker.position
        )
    position = max(counts.values(), key=len)[0]
    block = prompt[position]
    return Divergence(section=block.section, block=position, address=address(block), name=block.name)
