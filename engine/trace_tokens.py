"""Prompts of a trace as tokens of a model, so that prompts that begin alike also do as tokens.

Two ways. *Text*: each block's text is tokenised by itself, so that what it becomes depends on nothing after it.
*Drawn*: a block's tokens are drawn from its digest, as many as it had, or a share of that where the prompts of a trace
do not fit into a model (``scale``). Equal blocks give equal tokens; blocks that differ part at once. A request of which
only the counters are known gets as many tokens as it read from the prompt that it read them from, and new ones after.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import shake_128
from typing import Literal, Protocol

from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request
from agentsim.engine.token_chain import TOKEN

How = Literal["text", "drawn"]

_SEPARATOR = "\x1e"
"""Between the main text of a block and its other fields (see agentsim.bodies.canonical_block)."""


class Encoder(Protocol):
    """What turns text into tokens and back; :class:`agentsim.engine.tokenizer.Tokenizer` is one."""

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """The tokens of a text; with ``special`` those that steer the model are read as such."""
        ...

    def decode(self, ids: Iterable[int]) -> str:
        """The text of tokens."""
        ...

    def streamed(self) -> Incremental:
        """A decoder for tokens that come one by one."""
        ...


class Incremental(Protocol):
    """Text from tokens as they come; :class:`agentsim.engine.tokenizer.TextStream` is one."""

    def add(self, token: int) -> str:
        """What can be read now that ``token`` is there."""
        ...

    def end(self) -> str:
        """What is left when no more tokens come."""
        ...


class ByteTokens:
    """Bytes as tokens, for a model of 256 tokens."""

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """The bytes of a text."""
        return list(text.encode("utf-8", "replace"))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of bytes; what is none becomes U+FFFD."""
        return bytes(ids).decode("utf-8", "replace")

    def streamed(self) -> Incremental:
        """A decoder for bytes that come one by one."""
        from agentsim.engine.tokenizer import TextStream

        return TextStream([bytes((byte,)) for byte in range(256)])


@dataclass(frozen=True)
class PromptTokens:
    """A prompt's tokens, and where each of its blocks ends in them."""

    tokens: array[int]
    ends: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.tokens)


class TokenWriter(Protocol):
    """What turns requests into tokens. The same request gives the same tokens."""

    how: How
    scale: float

    def write(self, request: Request) -> PromptTokens | None:
        """The tokens of a request's prompt; ``None`` when nothing is known of it. Requests come in their order."""
        ...


class DrawnTokens:
    """Tokens drawn from digests. ``vocabulary`` is how many different ones there are. Mutable: it remembers sizes."""

    how: How = "drawn"

    def __init__(self, vocabulary: int, scale: float = 1.0) -> None:
        if not 0 < scale <= 1:
            raise ValueError("a scale lies above 0 and is at most 1")
        self.scale = scale
        self._vocabulary = vocabulary
        self._blocks: dict[bytes, array[int]] = {}
        self._earlier: list[tuple[str, str, array[int]]] = []

    def write(self, request: Request) -> PromptTokens | None:
        """See :class:`TokenWriter`."""
        prompt = request.prompt
        if prompt is None:
            return self._from_counters(request)
        tokens = array(TOKEN)
        ends = []
        for block in prompt:
            tokens.extend(self.block(block))
            ends.append(len(tokens))
        return PromptTokens(tokens, tuple(ends)) if tokens else None

    def block(self, block: Block) -> array[int]:
        """The tokens of a block. What it counted where it first stood is how many it has everywhere."""
        found = self._blocks.get(block.digest)
        if found is None:
            found = self._blocks[block.digest] = self._draw(block.digest, self.shrunk(block.tokens or 0))
        return found

    def shrunk(self, tokens: int) -> int:
        """How many tokens stand for so many: at least one."""
        return max(1, round(tokens * self.scale))

    def _draw(self, seed: bytes, count: int) -> array[int]:
        numbers = array(TOKEN)
        numbers.frombytes(shake_128(seed).digest(count * numbers.itemsize))
        return array(TOKEN, [number % self._vocabulary for number in numbers])

    def _from_counters(self, request: Request) -> PromptTokens | None:
        usage = request.usage
        if usage is None or not usage.total_input:
            return None
        total, read = self.shrunk(usage.total_input), round((usage.read or 0) * self.scale)
        read = min(read, total - 1)
        # What it read from: of its own lane if that was long enough, else of any other; the latest of them.
        known = [one for one in self._earlier if one[0] == request.model and len(one[2]) >= read]
        own = [one for one in known if one[1] == request.lane]
        front = (own or known)[-1][2][:read] if known and read else array(TOKEN)
        tokens = front + self._draw(request.id.encode("utf-8", "replace"), total - len(front))
        self._earlier.append((request.model, request.lane, tokens))
        return PromptTokens(tokens, (len(tokens),))


class SpokenTokens:
    """Text as a model reads a conversation: each message after a mark that says who speaks. Mutable: it remembers.

    Blocks without text are drawn from their digests.
    """

    how: How = "text"
    scale = 1.0

    def __init__(self, encoder: Encoder, vocabulary: int, *, marks: bool) -> None:
        self._encoder = encoder
        self._drawn = DrawnTokens(vocabulary)
        self._marks = marks
        self._texts: dict[bytes, list[int]] = {}
        self._known: dict[str, list[int]] = {}

    def write(self, request: Request) -> PromptTokens | None:
        """See :class:`TokenWriter`."""
        return None if request.prompt is None else self.prompt(request.prompt)

    def prompt(self, prompt: Prompt, *, answer: bool = False) -> PromptTokens:
        """The tokens of a prompt; with ``answer`` the mark that lets the assistant speak follows."""
        tokens = array(TOKEN)
        ends = []
        speaker: tuple[str, int | None] | None = None
        for block in prompt:
            now = self._speaker(block)
            if now != speaker:
                tokens.extend(self._mark(None if speaker is None else speaker[0], now[0]))
                speaker = now
            tokens.extend(self._text(block))
            ends.append(len(tokens))
        if answer:
            tokens.extend(self._mark(None if speaker is None else speaker[0], "assistant"))
        return PromptTokens(tokens, tuple(ends))

    def _speaker(self, block: Block) -> tuple[str, int | None]:
        if block.section != "messages":
            return "system", None
        role = block.role if block.role in ("user", "assistant", "system", "tool") else "user"
        return role, block.message

    def _mark(self, before: str | None, after: str) -> list[int]:
        if self._marks:
            text = ("" if before is None else "<|im_end|>\n") + f"<|im_start|>{after}\n"
        else:
            text = ("" if before is None else "\n") + f"{after}: "
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._encoder.encode(text, special=True)
        return found

    def _text(self, block: Block) -> Sequence[int]:
        if block.text is None:
            return self._drawn.block(block)
        found = self._texts.get(block.digest)
        if found is None:
            main, separator, rest = block.text.rpartition(_SEPARATOR)
            text = block.text if not separator else main if block.kind == "text" else f"{main}\n{rest}"
            found = self._texts[block.digest] = self._encoder.encode(text)
        return found


class DoesNotFit(ValueError):
    """Prompts that cannot be made to fit into a model's context."""


def writer_for(
    requests: Sequence[Request],
    *,
    vocabulary: int,
    limit: int,
    encoder: Encoder | None = None,
    marks: bool = False,
    how: How | None = None,
    scale: float | None = None,
    drawn_limit: int | None = None,
) -> TokenWriter:
    """The writer for a trace whose prompts may have at most ``limit`` tokens.

    Without ``how``, text is used when all blocks have it, at least half as much as was counted (a trace may hold
    abridged texts), and it fits. Without ``scale`` it is the largest, at most 1, at which no drawn prompt has more than
    ``drawn_limit`` tokens (else ``limit``); text is never scaled, for two texts may differ in what is cut off. Raises
    DoesNotFit.
    """
    if how == "text" or (how is None and scale is None and _has_all_text(requests)):
        if encoder is None:
            raise DoesNotFit("this model comes without a tokenizer: draw the tokens instead")
        spoken = SpokenTokens(encoder, vocabulary, marks=marks)
        longest, enough = 0, True
        for request in requests:
            written = spoken.write(request)
            if written is not None and request.prompt is not None:
                longest = max(longest, len(written))
                enough &= 2 * len(written) >= request.prompt.tokens
        if longest <= limit and (enough or how == "text"):
            return spoken
        if how == "text":
            raise DoesNotFit(f"the longest prompt is {longest} tokens as text, {limit} fit")
    if scale is not None:
        longest = _longest(requests, vocabulary, scale)
        if longest > limit:
            raise DoesNotFit(f"the longest prompt is {longest} tokens at this scale, {limit} fit")
        return DrawnTokens(vocabulary, scale)
    return DrawnTokens(vocabulary, _largest_scale(requests, vocabulary, min(limit, drawn_limit or limit)))


def _has_all_text(requests: Sequence[Request]) -> bool:
    prompts = [request.prompt for request in requests]
    return bool(prompts) and all(
        prompt is not None and all(block.text is not None for block in prompt) for prompt in prompts
    )


def _largest_scale(requests: Sequence[Request], vocabulary: int, limit: int) -> float:
    """The largest scale at which all prompts fit, to a thousandth of itself."""
    if _longest(requests, vocabulary, 1.0) <= limit:
        return 1.0
    low, high = 0.0, 1.0
    while high - low > high / 1000:
        middle = (low + high) / 2
        if _longest(requests, vocabulary, middle) <= limit:
            low = middle
        else:
            high = middle
        if high < 1e-6:
            raise DoesNotFit(f"a prompt has more blocks than the {limit} tokens that fit")
    return low


def _longest(requests: Sequence[Request], vocabulary: int, scale: float) -> int:
    """Tokens of the longest prompt, without drawing any."""
    sizes: dict[bytes, int] = {}
    drawn = DrawnTokens(vocabulary, scale)
    longest = 0
    for request in requests:
        if request.prompt is not None:
            total = 0
            for block in request.prompt:
                size = sizes.get(block.digest)
                if size is None:
                    size = sizes[block.digest] = drawn.shrunk(block.tokens or 0)
                total += size
            longest = max(longest, total)
        elif request.usage is not None and request.usage.total_input:
            longest = max(longest, drawn.shrunk(request.usage.total_input))
    return longest


def page_prompt(tokens: Sequence[int], page: int) -> Prompt:
    """The same tokens as a prompt whose blocks are pages, as a rule about pages sees it."""
    packed = array(TOKEN, tokens)
    blocks = []
    for at in range(0, len(packed), page):
        piece = packed[at : at + page]
        digest = shake_128(piece.tobytes()).digest(16)
        blocks.append(Block(section="messages", kind="page", digest=digest, tokens=len(piece), origin="measured"))
    return Prompt.of(blocks)
