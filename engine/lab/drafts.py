"""Where candidates come from: the same text earlier on, or the first layers of the model itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from agentsim.engine.decoder import Decoder
from agentsim.engine.lab.writer import PageWriter, room
from agentsim.engine.weights.weights import Weights


def ngram_proposal(tokens: Sequence[int], count: int, longest: int = 3) -> list[int]:
    """What followed the latest earlier occurrence of the last tokens: of the longest run that occurred at all."""
    for size in range(min(longest, len(tokens) - 1), 0, -1):
        ending = list(tokens[-size:])
        for start in range(len(tokens) - size - 1, -1, -1):
            if list(tokens[start : start + size]) == ending:
                return list(tokens[start + size : start + size + count])
    return []


def truncated(weights: Weights, layers: int, dtype: torch.dtype) -> Decoder:
    """A model of the first layers, with the same embedding, last norm and output."""
    return Decoder(Weights(replace(weights.config, layers=layers), weights.tensors, weights.identity), dtype)


class NGramDraft:
    """Proposes from the text so far. Costs no pass of any model."""

    def propose(self, tokens: Sequence[int], count: int) -> list[int]:
        """At most ``count`` candidates."""
        return ngram_proposal(tokens, count)


class ModelDraft:
    """Proposes greedily with a smaller model, whose K/V follows what was committed."""

    def __init__(self, model: Decoder, most: int) -> None:
        kv, tables = room(model, 1, most)
        self._writer = PageWriter(model, kv, tables[0])
        self._seen: list[int] = []

    def propose(self, tokens: Sequence[int], count: int) -> list[int]:
        """``count`` candidates. Rejected ones of the round before are taken out of use first."""
        common = 0
        for ours, theirs in zip(self._seen, tokens, strict=False):
            if ours != theirs:
                break
            common += 1
        # At least one token must be fed to predict from.
        self._writer.length = min(common, len(tokens) - 1)
        fed = list(tokens[self._writer.length :])
        found: list[int] = []
        for _ in range(count):
            found.append(int(self._writer.feed(fed)[-1].argmax()))
            fed = found[-1:]
        self._seen = [*tokens, *found[:-1]]
        return found
