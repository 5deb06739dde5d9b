"""Prompts as a provider sees them, where that is not how they were sent: digests that tell such prefixes apart.

A message may be a string or a list of one text block, and a model may not be shown the thinking of earlier turns.
"""

from __future__ import annotations

from hashlib import blake2b

from agentsim.cache.entry_store import Chain
from agentsim.core.prompt import DIGEST_SIZE, Block, Prompt
from agentsim.core.session import Request
from agentsim.rules.providers import ProviderRules

THINKING = frozenset(("thinking", "redacted_thinking"))


class _Turn:
    """The newest turn of a conversation: where it begins, where the first thinking in front of it stands, and the
    digests without that thinking, as far as the prompt was seen (``length`` blocks, up to the digest ``plain``)."""

    __slots__ = ("begin", "digests", "first", "length", "plain")

    def __init__(self, begin: int, first: int | None, digests: list[bytes], length: int, plain: bytes) -> None:
        self.begin = begin
        self.first = first
        self.digests = digests
        self.length = length
        self.plain = plain


class Rendering:
    """Tells prompts as their provider sees them. Remembers where the turn of each lane begins: what a request adds to
    its lane's prompt is looked at once."""

    def __init__(self) -> None:
        self._turns: dict[tuple[str, str], _Turn] = {}

    def chain(self, request: Request, prompt: Prompt, rules: ProviderRules) -> Chain | None:
        """The digests of the prefixes of a prompt as seen; ``None`` where they are the prompt's own."""
        if rules.thinking == "last_turn" and not _keeps_thinking(request):
            turn = self._turn(request, prompt, rules.shape_in_key)
            if turn.first is not None:
                return turn.digests.__getitem__
        return _shaped(prompt).__getitem__ if rules.shape_in_key else None

    def _turn(self, request: Request, prompt: Prompt, with_shape: bool) -> _Turn:
        key = (request.lane, request.model)
        before = self._turns.get(key)
        if before is not None and (before.length > len(prompt) or prompt.chain(before.length) != before.plain):
            before = None
        begin = _last_turn(prompt, 0 if before is None else before.length)
        if begin is None:
            begin = 0 if before is None else before.begin
        start = prompt.section_end("system") if before is None else before.begin
        first = None if before is None else before.first
        if first is None:
            first = next((at for at in range(start, begin) if prompt[at].kind in THINKING), None)
        digests: list[bytes] = []
        if first is not None:
            if before is not None and before.first is not None:
                # A list that is only added to may be shared: nobody looks behind the end of its own prompt.
                digests = before.digests if begin == before.begin else before.digests[: before.begin + 1]
            else:
                own = _shaped(prompt) if with_shape else [prompt.chain(length) for length in range(first + 1)]
                digests = own[: first + 1]
            _extend(digests, prompt, begin, with_shape)
        turn = self._turns[key] = _Turn(begin, first, digests, len(prompt), prompt.chain(len(prompt)))
        return turn


def _keeps_thinking(request: Request) -> bool:
    """Whether a request asks for all thinking to be kept."""
    value = next((value for name, value in request.settings if name == "context_management"), "")
    return "clear_thinking" in value and '"keep":"all"' in value


def _last_turn(prompt: Prompt, start: int) -> int | None:
    """The newest block of a user that is no result of a tool, from a position on; ``None`` where there is none."""
    for position in range(len(prompt) - 1, start - 1, -1):
        block = prompt[position]
        if block.section != "messages":
            return None
        if block.role == "user" and not block.kind.endswith("tool_result"):
            return position
    return None


def _extend(digests: list[bytes], prompt: Prompt, turn: int, with_shape: bool) -> None:
    """Add the digests of the longer prefixes, which pass over thinking in front of a turn."""
    for position in range(len(digests) - 1, len(prompt)):
        block = prompt[position]
        before = digests[-1]
        if position < turn and block.kind in THINKING:
            digests.append(before)
        else:
            shape = _shape(block) if with_shape else b""
            digests.append(blake2b(before + block.digest + shape, digest_size=DIGEST_SIZE).digest())


def _shaped(prompt: Prompt) -> list[bytes]:
    """Digests that also tell a message written as a string from one written as a list."""
    digests = [prompt.chain(0)]
    before = b""
    for position, block in enumerate(prompt):
        before = blake2b(before + _shape(block), digest_size=DIGEST_SIZE).digest()
        digests.append(blake2b(prompt.chain(position + 1) + before, digest_size=DIGEST_SIZE).digest())
    return digests


def _shape(block: Block) -> bytes:
    return b"s" if block.shape == "string" else b"l"
