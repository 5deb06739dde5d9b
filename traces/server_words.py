"""What is to be said of a server that is not the vendor's of the API that it speaks."""

from __future__ import annotations

from agentsim.bodies.answering_hosts import host_of_address
from agentsim.bodies.api_shapes import OPENAI_APIS, Api
from agentsim.bodies.serving_provider import LOCAL, UNKNOWN, host_provider

_OWN_MESSAGES = frozenset(("anthropic", "bedrock", "vertex", "foundry", "openrouter"))
"""Where Anthropic's own models answer calls of its API."""


def whose_server(api: Api, provider: str, address: str | None, model: str) -> str | None:
    """What is to be said of a server that is not the vendor's of the API that it speaks, or not known at all."""
    speaks = "the Messages API" if api not in OPENAI_APIS else "OpenAI's APIs"
    place = host_of_address(address)
    if provider == LOCAL:
        return f"{place or 'a local server'} speaks {speaks}; which program serves {model or 'it'} is not told"
    if provider == UNKNOWN:
        return f"nothing tells who serves {model or 'this'}: {place or 'no address'} is nobody's that is known"
    if place is not None and not host_provider(address or "", model):
        return f"{place} is not {provider}'s own server; judged as if it passed all on to {provider}"
    if api == "messages" and provider not in _OWN_MESSAGES:
        return f"{place or 'the server'} speaks the Messages API and is not Anthropic's: judged as {provider}"
    return None
