"""A sequence on real pages, driven by hand: what experiments need, without a scheduler in between."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from agentsim.engine.decoder import Decoder
from agentsim.engine.forward_batch import Batch, TokenRun
from agentsim.engine.kv_pages import KVPages


class PageWriter:
    """One sequence: its tokens whose keys and values are in pages. Pages are given, never looked for."""

    def __init__(self, model: Decoder, kv: KVPages, pages: Sequence[int], length: int = 0) -> None:
        self.model = model
        self.kv = kv
        self.pages = list(pages)
        self.length = length
        """Positions whose keys and values are there."""

    def feed(self, tokens: Sequence[int], logits: int = 1) -> Tensor:
        """Process the next tokens and return scores after the last ``logits`` of them, [logits, vocab]."""
        scores = self.model.forward(Batch.of([self._piece(tokens, logits)], self.kv.page_size), self.kv)
        self.length += len(tokens)
        return scores

    def generate(self, token: int, count: int) -> list[int]:
        """Feed a token and go on greedily; the tokens that follow it."""
        found: list[int] = []
        for _ in range(count):
            token = int(self.feed([token])[-1].argmax())
            found.append(token)
        return found

    def branch(self, pages: Sequence[int]) -> PageWriter:
        """A copy that lives in other pages: a private continuation."""
        used = -(-self.length // self.kv.page_size)
        for source, target in zip(self.pages[:used], pages, strict=False):
            self.kv.copy(source, target)
        return PageWriter(self.model, self.kv, pages, self.length)

    def rows(self, layer: int, first: int = 0, last: int | None = None) -> tuple[Tensor, Tensor]:
        """Keys and values of positions ``first`` to ``last`` in a layer (from 0), [positions, kv_heads, head_dim]."""
        stop = self.length if last is None else last
        table = torch.tensor(self.pages)
        keys, values = (pages[table].flatten(0, 1)[first:stop] for pages in (self.kv.k[layer], self.kv.v[layer]))
        return keys, values

    def _piece(self, tokens: Sequence[int], logits: int) -> TokenRun:
        return TokenRun(tokens, self.length, self.pages, logits)


def feed_together(writers: Sequence[PageWriter], tokens: Sequence[Sequence[int]]) -> Tensor:
    """Process the next tokens of several sequences in one batch: scores after the last of each, [sequences, vocab]."""
    first = writers[0]
    pieces = [writer._piece(each, 1) for writer, each in zip(writers, tokens, strict=True)]
    scores = first.model.forward(Batch.of(pieces, first.kv.page_size), first.kv)
    for writer, each in zip(writers, tokens, strict=True):
        writer.length += len(each)
    return scores


def room(model: Decoder, sequences: int, tokens: int, page_size: int = 16) -> tuple[KVPages, list[list[int]]]:
    """Pages for so many sequences of so many tokens, and a table for each."""
    each = -(-tokens // page_size)
    kv = KVPages(model.config, sequences * each, page_size, model.dtype, model.device)
    return kv, [list(range(number * each, (number + 1) * each)) for number in range(sequences)]
