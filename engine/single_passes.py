"""Single passes over pages that the caller chooses, outside of any scheduler: for experiments and controls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from agentsim.engine.forward_batch import Batch, TokenRun
from agentsim.engine.kv_pages import KVPages, PageRoom

if TYPE_CHECKING:
    from agentsim.engine.decoder_config import ModelConfig
    from agentsim.engine.inference_engine import EngineModel


class Passes:
    """A model and some pages of its own. Which page holds what is up to the caller."""

    def __init__(self, model: EngineModel, pages: int, page_size: int = 16) -> None:
        self.model = model
        self.page_size = page_size
        self.kv = KVPages(model.config, pages, page_size, model.dtype, model.device)

    def run(self, tokens: Sequence[int], start: int, table: Sequence[int], logits: int = 1) -> torch.Tensor:
        """Put tokens that begin at position ``start`` through the model, reading and writing the pages of ``table``.

        Returns the scores after the last ``logits`` of them, [logits, vocab].
        """
        piece = TokenRun(tokens, start, table, logits)
        return self.model.forward(Batch.of([piece], self.page_size, self.model.device), self.kv)

    def keys(self, layer: int, table: Sequence[int], start: int, stop: int) -> torch.Tensor:
        """The keys of positions ``start`` up to ``stop`` in a layer (from 0), [positions, kv_heads, head_dim]."""
        return self._of(self.kv.k[layer], table, start, stop)

    def values(self, layer: int, table: Sequence[int], start: int, stop: int) -> torch.Tensor:
        """The values of those positions."""
        return self._of(self.kv.v[layer], table, start, stop)

    def _of(self, pages: torch.Tensor, table: Sequence[int], start: int, stop: int) -> torch.Tensor:
        slots = [table[at // self.page_size] * self.page_size + at % self.page_size for at in range(start, stop)]
        return pages.flatten(0, 1)[slots]


class WatchedModel:
    """A model that remembers the scores of its last pass."""

    def __init__(self, model: EngineModel) -> None:
        self.model = model
        self.config: ModelConfig = model.config
        self.dtype = model.dtype
        self.device = model.device
        self.identity = model.identity
        self.kv_bits = model.kv_bits
        self.scores: torch.Tensor | None = None

    def forward(self, batch: Batch, kv: PageRoom) -> torch.Tensor:
        """As the model does it."""
        self.scores = self.model.forward(batch, kv)
        return self.scores


def difference(one: torch.Tensor, other: torch.Tensor) -> float:
    """The largest absolute difference between two tensors of one shape; 0 for equal ones."""
    return float((one - other).abs().max()) if one.numel() else 0.0


def drawn_tokens(count: int, vocabulary: int, seed: int) -> list[int]:
    """Tokens drawn evenly from a vocabulary: the same for the same seed."""
    source = torch.Generator().manual_seed(seed)
    return torch.randint(0, vocabulary, (count,), generator=source).tolist()
