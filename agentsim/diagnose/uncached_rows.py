"""Requests that could not use a cache at all: rejected, not marked, or too short."""

from __future__ import annotations

from agentsim.core.prompt import Prompt
from agentsim.core.session import Usage
from agentsim.core.verdict import Divergence, Verdict
from agentsim.diagnose.prompt_diff import address
from agentsim.diagnose.relax_facts import RequestFacts


def uncached(seen: RequestFacts, modeled: Usage) -> Verdict | None:
    """The verdict on such a request; ``None`` where a cache could take part or, by the log, did."""
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
        return None
    minimum = asked.rules.minimum
    short = seen.prompt.tokens < minimum or bool(asked.breakpoints)
    if short:
        size = seen.prompt.tokens_until(asked.breakpoints[-1].position + 1) if asked.breakpoints else seen.prompt.tokens
        sentence = f"The prefix has {size:,} tokens; {request.model} keeps none below {minimum:,}."
    else:
        sentence = f"No breakpoint anywhere among {len(seen.prompt)} blocks, and no automatic caching."
    return Verdict(
        request=request.id,
        kind="uncached",
        cause="AS303" if short else "AS305",
        evidence="proved",
        predicted=modeled.read,
        established=(sentence,),
    )


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
