"""Prompts as a provider sees them, where that is not how they were sent: digests that tell such prefixes apart.

A message may be a string or a list of one text block, and a model may not be shown the thinking of earlier turns.
"""

from __future__ import annotations

from hashlib import blake2b

from agentsim.backends.store import Chain
from agentsim.prompt import DIGEST_SIZE, Block, Prompt
from agentsim.providers import ProviderRules
from agentsim.session import Request

THINKING = frozenset(("thinking", "redacted_thinking"))


def rendered(request: Request, prompt: Prompt, rules: ProviderRules) -> Chain | None:
    """The digests of the prefixes of a prompt as its provider sees them; ``None`` where they are the prompt's own."""
    if rules.thinking == "last_turn" and not _keeps_thinking(request):
        turn = _last_turn(prompt)
        first = next((at for at in range(prompt.section_end("system"), turn) if prompt[at].kind in THINKING), None)
        if first is not None:
            return _without_thinking(prompt, first, turn, rules.shape_in_key)
    return _shaped(prompt) if rules.shape_in_key else None


def _keeps_thinking(request: Request) -> bool:
    """Whether a request asks for all thinking to be kept."""
    value = next((value for name, value in request.settings if name == "context_management"), "")
    return "clear_thinking" in value and '"keep":"all"' in value


def _last_turn(prompt: Prompt) -> int:
    """The position of the newest block of a user that is no result of a tool; 0 where there is none."""
    for position in range(len(prompt) - 1, -1, -1):
        block = prompt[position]
        if block.section != "messages":
            return 0
        if block.role == "user" and not block.kind.endswith("tool_result"):
            return position
    return 0


def _without_thinking(prompt: Prompt, first: int, turn: int, with_shape: bool) -> Chain:
    """Digests that pass over thinking in front of a turn. Up to the first such block they are the prompt's own."""
    own = _shaped(prompt) if with_shape else prompt.chain
    digests = [own(length) for length in range(first + 1)]
    for position in range(first, len(prompt)):
        block = prompt[position]
        before = digests[-1]
        if position < turn and block.kind in THINKING:
            digests.append(before)
        else:
            shape = _shape(block) if with_shape else b""
            digests.append(blake2b(before + block.digest + shape, digest_size=DIGEST_SIZE).digest())
    return digests.__getitem__


def _shaped(prompt: Prompt) -> Chain:
    """Digests that also tell a message written as a string from one written as a list."""
    digests = [prompt.chain(0)]
    before = b""
    for position, block in enumerate(prompt):
        before = blake2b(before + _shape(block), digest_size=DIGEST_SIZE).digest()
        digests.append(blake2b(prompt.chain(position + 1) + before, digest_size=DIGEST_SIZE).digest())
    return digests.__getitem__


def _shape(block: Block) -> bytes:
    return b"s" if block.shape == "string" else b"l"
