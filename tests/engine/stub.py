"""A model whose next token is a plain function of all tokens before it, read from the pages that it was given.

A token's "key" is its own id. Whoever reads a wrong page, or one that another wrote, gets another continuation.
"""

from __future__ import annotations

import torch

from agentsim.engine.decoder_config import ModelConfig
from agentsim.engine.forward_batch import Batch
from agentsim.engine.kv_pages import KVPages, PageRoom

VOCABULARY = 101
CONFIG = ModelConfig(
    name="stub", layers=1, dim=2, heads=1, kv_heads=1, head_dim=2, ffn=1, vocab=VOCABULARY, context=10_000
)


def following(tokens: list[int]) -> int:
    """The token after these."""
    value = 7
    for token in tokens:
        value = (value * 31 + token + 1) % 1_000_003
    return value % VOCABULARY


def continued(tokens: list[int], count: int) -> list[int]:
    """What a sequence generates when nothing goes wrong."""
    tokens = list(tokens)
    for _ in range(count):
        tokens.append(following(tokens))
    return tokens[len(tokens) - count :]


class StubModel:
    """See above. ``failing`` makes that many passes raise, after they have written their pages."""

    def __init__(self) -> None:
        self.config = CONFIG
        self.dtype = torch.float64
        self.device = torch.device("cpu")
        self.identity = b"stub"
        self.kv_bits: int | None = None
        self.failing = 0
        self.batches: list[Batch] = []

    def forward(self, batch: Batch, kv: PageRoom) -> torch.Tensor:
        assert isinstance(kv, KVPages)
        keys = kv.k[0].flatten(0, 1)[:, 0, 0]
        keys[batch.slots] = batch.tokens.double()
        self.batches.append(batch)
        if self.failing:
            self.failing -= 1
            raise RuntimeError("the device is gone")
        wanted = set(batch.logits_at.tolist())
        scores = []
        for number, length in enumerate(batch.kv_lengths.tolist()):
            table = batch.block_tables[number].tolist()
            last = int(batch.q_starts[number + 1]) - 1
            if last not in wanted:
                continue
            size = kv.page_size
            history = [int(keys[table[at // size] * size + at % size]) for at in range(length)]
            row = torch.zeros(VOCABULARY, dtype=torch.float64)
            row[following(history)] = 1
            scores.append(row)
        return torch.stack(scores) if scores else torch.zeros(0, VOCABULARY, dtype=torch.float64)
