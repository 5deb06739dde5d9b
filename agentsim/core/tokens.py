"""Token estimates, and making them add up to what a provider reported.

No exact local tokenizer exists for the models whose logs are read here, so a count made here is an estimate and is
labelled so. What a log reports is the truth: :func:`apportion` scales the estimates of a prompt's blocks to integers
that add up to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from agentsim.core.prompt import Block, CountOrigin, Prompt

if TYPE_CHECKING:
    import tiktoken

EXACT_LIMIT = 200_000
"""Characters up to which a text is really tokenized; about 20 ms. Longer ones are estimated from their bytes."""

SAMPLE_BYTES = 32_768

Anchor = tuple[int, int]
"""The first so many blocks of a prompt were reported to be so many tokens."""

_CLAUDE = (117, 100)
"""Claude tokens per o200k token, up to Claude 4.6: 1.16 to 1.19 over the 17 main requests of a recorded session."""

_NEW_CLAUDE = (152, 100)
"""From Claude 4.7 on: about 30 % more tokens for the same text, as the provider documents (1.17 x 1.3)."""

_FAMILY_FIRST = re.compile(r"claude-(?:opus|sonnet|haiku)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_NUMBER_FIRST = re.compile(r"claude-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")

_SPLIT = (
    r"[^\r\n\p{L}\p{N}]?\p{L}+"  # a word with the blank or sign before it
    r"|\p{N}{1,3}"  # digits by threes
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*"  # signs
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"  # line ends, indentation
)


def estimate(text: str, model: str | None = None) -> int:
    """About how many tokens the text is: tokenized where a vocabulary is at hand and the text is not too long, else
    :func:`estimate_quickly`; then scaled for the model's family. The empty text has none, any other at least one."""
    if not text:
        return 0
    encoding = _encoding() if len(text) <= EXACT_LIMIT else None
    if encoding is None:
        count = estimate_quickly(text)
    else:
        count = len(encoding.encode_ordinary(text))
    return scale(count, model)


def estimate_quickly(text: str) -> int:
    """About how many o200k tokens the text is, at memory speed: nine for eight words, one for a run of signs, one for
    two digits, one for four bytes beyond ASCII. Within some 15 % on prose, code, JSON and hex; far too low on base64. A
    long text is judged by its first and last 16 KB."""
    if not text:
        return 0
    data = text.encode("utf-8", "surrogatepass")
    size = len(data)
    if size > SAMPLE_BYTES:
        data = data[: SAMPLE_BYTES // 2] + data[-SAMPLE_BYTES // 2 :]
    # One number with a bit a byte for its class; a run begins where that bit is not set a byte before.
    kinds = data.translate(_CLASSES)
    classes = int.from_bytes(kinds, "little")
    begins = classes ^ (classes & (classes << 8))
    eighths = 9 * (begins & _WORDS).bit_count() + 8 * (begins & _SIGNS).bit_count() + 4 * kinds.count(4)
    if not text.isascii():
        eighths += 2 * kinds.count(8)
    return max(1, eighths * size // (8 * len(data)))


def scale(tokens: int, model: str | None) -> int:
    """An o200k count as a count of the model's own tokenizer; never 0 for a count that is not."""
    times, parts = family_factor(model)
    return max((tokens * times + parts // 2) // parts, 1 if tokens else 0)


def family_factor(model: str | None) -> tuple[int, int]:
    """How many tokens the model's tokenizer makes of one o200k token, as a fraction (1/1 where nothing is known)."""
    if model is None or "claude" not in model:
        return (1, 1)
    match = _FAMILY_FIRST.search(model)
    if match is None:
        if "fable" in model or "mythos" in model:
            return _NEW_CLAUDE
        match = _NUMBER_FIRST.search(model)
    if match is None:
        return _CLAUDE
    version = (int(match[1]), int(match[2] or 0))
    return _NEW_CLAUDE if version >= (4, 7) else _CLAUDE


def apportion(prompt: Prompt, total: int, anchors: Sequence[Anchor] = ()) -> Prompt:
    """The prompt with token counts that add up to ``total`` exactly, and to each anchor's total at its length.

    Only the estimated blocks at the end are counted anew. A front that was apportioned before stays as it is and is
    shared, so that in a growing conversation each block keeps its count and a request costs only its new part; it is
    given up only where it contradicts an anchor or exceeds the total. Between two known totals the blocks' estimates
    are scaled and rounded by largest remainder. A single block between two reported totals is "measured", all others
    are "apportioned"; for that, name the total reported for the front as an anchor.

    Anchors may come from different reports that do not fit together: one that would make a span negative is passed
    over, and ``total`` holds over them all. A prompt without blocks stays as it is. Raises ValueError for a negative
    total.
    """
    if total < 0:
        raise ValueError(f"a prompt cannot have {total} tokens")
    known = _consistent(anchors, len(prompt), total)
    begin = len(prompt)
    while begin and prompt[begin - 1].origin == "estimated":
        begin -= 1
    counted = prompt.tokens_until(begin)
    if counted > total or any(end <= begin and prompt.tokens_until(end) != tokens for end, tokens in known):
        begin, counted = 0, 0
    if begin == len(prompt):
        return prompt
    keep, blocks = begin, list[Block]()
    is_reported = begin == 0 or (begin, counted) in known
    for end, tokens in known:
        if end > begin and tokens >= counted:
            span = [prompt[position] for position in range(begin, end)]
            origin: CountOrigin = "measured" if is_reported and len(span) == 1 else "apportioned"
            blocks += _shared_out(span, tokens - counted, origin)
            begin, counted, is_reported = end, tokens, True
    return prompt.replace_after(keep, blocks, prompt.breakpoints)


def largest_remainder(weights: Sequence[int], total: int) -> list[int]:
    """``total`` split in proportion to the weights, in whole numbers that add up to it exactly.

    Ties go to the earlier one. Where all weights are 0 the last one gets everything.
    """
    whole = sum(weights)
    if not whole:
        return [*(0 for _ in weights[:-1]), total] if weights else []
    parts = [weight * total // whole for weight in weights]
    missing = total - sum(parts)
    by_remainder = sorted(range(len(weights)), key=lambda index: (-(weights[index] * total % whole), index))
    for index in by_remainder[:missing]:
        parts[index] += 1
    return parts


def _consistent(anchors: Iterable[Anchor], length: int, total: int) -> list[Anchor]:
    """The anchors in order, those that contradict an earlier one or the total left out, and the total as the last."""
    kept: list[Anchor] = []
    at, counted = 0, 0
    for end, tokens in sorted(anchors):
        if at < end < length and counted <= tokens <= total:
            kept.append((end, tokens))
            at, counted = end, tokens
    return [*kept, (length, total)]


def _shared_out(blocks: list[Block], tokens: int, origin: CountOrigin) -> list[Block]:
    counts = largest_remainder([block.tokens or 0 for block in blocks], tokens)
    return [
        msgspec.structs.replace(block, tokens=count, origin=origin) for block, count in zip(blocks, counts, strict=True)
    ]


@lru_cache(maxsize=1)
def _encoding() -> tiktoken.Encoding | None:
    """The o200k encoding, from the vocabulary file that the ``bpe-openai`` package carries, so that nothing is
    downloaded. That package itself is not imported: its start takes longer than tokenizing a session."""
    from base64 import b64decode
    from gzip import decompress
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("bpe_openai")
    if spec is None or not spec.submodule_search_locations or find_spec("tiktoken") is None:
        return None
    file = Path(spec.submodule_search_locations[0]) / "data" / "o200k_base.tiktoken.gz"
    try:
        lines = decompress(file.read_bytes()).split(b"\n")
    except (OSError, EOFError):
        return None
    import tiktoken

    ranks = {b64decode(token): int(rank) for token, _, rank in (line.partition(b" ") for line in lines) if rank}
    return tiktoken.Encoding(name="o200k", pat_str=_SPLIT, mergeable_ranks=ranks, special_tokens={})


def _class_of(byte: int) -> int:
    """The bit for a byte: 1 in a word, 2 a sign, 4 a digit, 8 beyond ASCII, 0 white space."""
    character = chr(byte)
    if byte >= 0x80:
        return 8
    if character.isalpha():
        return 1
    if character.isdigit():
        return 4
    return 0 if character.isspace() or byte < 0x20 or byte == 0x7F else 2


_CLASSES = bytes(_class_of(byte) for byte in range(256))
_WORDS, _SIGNS = (int.from_bytes(bytes([bit]) * SAMPLE_BYTES, "little") for bit in (1, 2))
