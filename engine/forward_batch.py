"""The rows of one forward pass: tokens of several sequences end to end, and where their keys and values stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class TokenRun:
    """The next tokens of one sequence, ``tokens[0]`` standing at position ``start``.

    ``pages`` is the sequence's whole block table: page ``i`` holds positions ``i * page_size`` and following, and
    there must be enough of them for ``start + len(tokens)`` positions. ``logits`` says how many of the last tokens
    need scores of what follows them: 1 to go on writing, 0 in the middle of a long input.
    """

    tokens: Sequence[int]
    start: int
    pages: Sequence[int]
    logits: int = 1


@dataclass(frozen=True, slots=True)
class Batch:
    """What :meth:`agentsim.engine.decoder.Decoder.forward` computes at once. ``T`` tokens of ``B`` sequences.

    ``slots`` says for every token where its key and value are written (page times page size plus offset; negative:
    nowhere). ``kv_lengths`` counts a sequence's positions including those of this batch. ``logits_at`` are the rows
    whose scores are wanted. Rows of ``block_tables`` beyond a sequence's own pages are never read as keys, but must be
    valid page numbers.
    """

    tokens: torch.Tensor
    """int64[T]."""
    positions: torch.Tensor
    """int64[T]."""
    q_starts: torch.Tensor
    """int32[B + 1]: sequence ``b`` has the rows from ``q_starts[b]`` up to ``q_starts[b + 1]``."""
    kv_lengths: torch.Tensor
    """int32[B]."""
    block_tables: torch.Tensor
    """int32[B, M]."""
    slots: torch.Tensor
    """int64[T]."""
    logits_at: torch.Tensor
    """int64[N]."""
    longest: int
    """The largest of ``kv_lengths``, known to the host."""

    @classmethod
    def of(cls, pieces: Sequence[TokenRun], page_size: int, device: torch.device | str = "cpu") -> Batch:
        """Lay the pieces end to end. ``ValueError`` where a piece is empty or its pages do not suffice."""
        tokens: list[int] = []
        positions: list[int] = []
        slots: list[int] = []
        q_starts = [0]
        kv_lengths: list[int] = []
        logits_at: list[int] = []
        tables: list[list[int]] = []
        for number, piece in enumerate(pieces):
            length = piece.start + len(piece.tokens)
            if not piece.tokens or not 0 <= piece.logits <= len(piece.tokens):
                raise ValueError(f"piece {number}: {len(piece.tokens)} tokens, logits of {piece.logits}")
            if len(piece.pages) * page_size < length:
                raise ValueError(f"piece {number}: {len(piece.pages)} pages of {page_size} cannot hold {length} tokens")
            tokens.extend(piece.tokens)
            spots = range(piece.start, length)
            positions.extend(spots)
            slots.extend([piece.pages[spot // page_size] * page_size + spot % page_size for spot in spots])
            q_starts.append(len(tokens))
            kv_lengths.append(length)
            logits_at.extend(range(len(tokens) - piece.logits, len(tokens)))
            tables.append(list(piece.pages[: -(-length // page_size)]))
        width = max((len(table) for table in tables), default=0)
        padded = [table + table[-1:] * (width - len(table)) for table in tables]

        entries = [number for table in padded for number in table]
        long = _together([tokens, positions, slots, logits_at], torch.int64, device)
        short = _together([q_starts, kv_lengths, entries], torch.int32, device)
        return cls(
            tokens=long[0],
            positions=long[1],
            slots=long[2],
            logits_at=long[3],
            q_starts=short[0],
            kv_lengths=short[1],
            block_tables=short[2].view(len(tables), width),
            longest=max(kv_lengths, default=0),
        )


_ALIGNED = 16
"""Bytes: kernels are compiled anew for addresses that are not a multiple of them."""


def _together(parts: Sequence[list[int]], dtype: torch.dtype, device: torch.device | str) -> list[torch.Tensor]:
    """Lists as tensors, brought to the device in one copy."""
    step = _ALIGNED // dtype.itemsize
    numbers: list[int] = []
    places: list[tuple[int, int]] = []
    for part in parts:
        places.append((len(numbers), len(part)))
        numbers.extend(part)
        numbers.extend([0] * (-len(part) % step))
    whole = torch.tensor(numbers, dtype=dtype).to(device)
    return [whole[first : first + count] for first, count in places]
