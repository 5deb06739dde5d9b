"""Keys and values in pages: tensors for all layers together; which page holds what is kept elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from agentsim.engine.decoder_config import ModelConfig
from agentsim.engine.forward_batch import Batch
from agentsim.kernels import pack_int4, paged_attention, paged_attention_int4, write_pages
from agentsim.kernels.int4_packing import GROUP


@dataclass(frozen=True, slots=True)
class HostPages:
    """Pages taken out of the device's memory, in the order they were named."""

    parts: tuple[torch.Tensor, ...]
    """Each [layers, pages, page_size, …]: keys and values, or their levels and steps."""

    @property
    def count(self) -> int:
        """How many pages these are."""
        return self.parts[0].shape[1]

    @property
    def bytes(self) -> int:
        """The room they take in host memory."""
        return sum(part.nbytes for part in self.parts)


class PageRoom(ABC):
    """Room for ``pages`` pages of ``page_size`` tokens, in all layers of one model.

    The content of a page that was never written is arbitrary. All of it is allocated at once, so that a request can
    fail for want of a page, but never for want of memory halfway.
    """

    def __init__(self, pages: int, page_size: int, parts: tuple[torch.Tensor, ...]) -> None:
        self.page_size = page_size
        self.pages = pages
        self.parts = parts
        """Each [layers, pages, page_size, …]."""

    @abstractmethod
    def write(self, layer: int, k: torch.Tensor, v: torch.Tensor, slots: torch.Tensor) -> None:
        """Put keys and values [T, kv_heads, head_dim] of a layer into their slots."""

    @abstractmethod
    def attend(self, layer: int, q: torch.Tensor, batch: Batch, scale: float, window: int | None) -> torch.Tensor:
        """Attention of ``q`` [T, heads, head_dim] over a layer's pages."""

    @property
    def bytes_per_page(self) -> int:
        """The room one page takes, keys and values of all layers together."""
        return self.bytes // self.pages

    @property
    def bytes(self) -> int:
        """The room all pages take."""
        return sum(part.nbytes for part in self.parts)

    def copy(self, source: int, target: int) -> None:
        """Make page ``target`` a copy of page ``source`` in every layer."""
        for part in self.parts:
            part[:, target].copy_(part[:, source])

    def to_host(self, pages: Sequence[int]) -> HostPages:
        """Copy pages into host memory; the pages themselves stay as they are."""
        index = torch.tensor(list(pages), dtype=torch.int64, device=self.parts[0].device)
        return HostPages(tuple(part.index_select(1, index).cpu() for part in self.parts))

    def from_host(self, held: HostPages, pages: Sequence[int]) -> None:
        """Write pages that were taken out back into ``pages``, in the same order; any pages will do."""
        if len(pages) != held.count:
            raise ValueError(f"{held.count} pages are held, {len(pages)} places were named")
        index = torch.tensor(list(pages), dtype=torch.int64, device=self.parts[0].device)
        for part, kept in zip(self.parts, held.parts, strict=True):
            part.index_copy_(1, index, kept.to(part.device))


class KVPages(PageRoom):
    """Keys and values as the model computes them."""

    def __init__(
        self,
        config: ModelConfig,
        pages: int,
        page_size: int = 16,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        shape = (*_sizes(config, pages, page_size), config.head_dim)
        self.all_k = torch.zeros(shape, dtype=dtype, device=device)
        self.all_v = torch.zeros(shape, dtype=dtype, device=device)
        super().__init__(pages, page_size, (self.all_k, self.all_v))
        self.k: tuple[torch.Tensor, ...] = tuple(self.all_k.unbind(0))
        """For each layer its keys, [pages, page_size, kv_heads, head_dim]: views of one tensor."""
        self.v: tuple[torch.Tensor, ...] = tuple(self.all_v.unbind(0))

    def write(self, layer: int, k: torch.Tensor, v: torch.Tensor, slots: torch.Tensor) -> None:
        """See :class:`PageRoom`."""
        write_pages(k, v, self.k[layer], self.v[layer], slots)

    def attend(self, layer: int, q: torch.Tensor, batch: Batch, scale: float, window: int | None) -> torch.Tensor:
        """See :class:`PageRoom`."""
        return paged_attention(
            q, self.k[layer], self.v[layer], batch.block_tables, batch.q_starts, batch.kv_lengths,
            scale=scale, window=window,
        )  # fmt: skip


class Int4Pages(PageRoom):
    """Keys and values in four bits, with a step for every 16 of them: three eighths of the room of 16 bits.

    Raises ValueError for heads that do not divide into such groups.
    """

    def __init__(
        self, config: ModelConfig, pages: int, page_size: int = 16, device: torch.device | str = "cpu"
    ) -> None:
        if config.head_dim % GROUP:
            raise ValueError(f"heads of {config.head_dim} numbers are not made of groups of {GROUP}: no four bits here")
        sizes = _sizes(config, pages, page_size)
        levels = [torch.zeros((*sizes, config.head_dim // 2), dtype=torch.uint8, device=device) for _ in "kv"]
        steps = [torch.zeros((*sizes, config.head_dim // GROUP), device=device) for _ in "kv"]
        super().__init__(pages, page_size, (*levels, *steps))
        self._layers = list(zip(*(part.unbind(0) for part in self.parts), strict=True))

    def write(self, layer: int, k: torch.Tensor, v: torch.Tensor, slots: torch.Tensor) -> None:
        """See :class:`PageRoom`."""
        k_pages, v_pages, k_steps, v_steps = self._layers[layer]
        (k_levels, k_own), (v_levels, v_own) = pack_int4(k), pack_int4(v)
        write_pages(k_levels, v_levels, k_pages, v_pages, slots)
        write_pages(k_own, v_own, k_steps, v_steps, slots)

    def attend(self, layer: int, q: torch.Tensor, batch: Batch, scale: float, window: int | None) -> torch.Tensor:
        """See :class:`PageRoom`."""
        k_pages, v_pages, k_steps, v_steps = self._layers[layer]
        return paged_attention_int4(
            q, k_pages, k_steps, v_pages, v_steps, batch.block_tables, batch.q_starts, batch.kv_lengths,
            scale=scale, window=window,
        )  # fmt: skip


class WithKV(Protocol):
    """What the room for a model's keys and values depends on."""

    config: ModelConfig
    dtype: torch.dtype
    device: torch.device
    kv_bits: int | None
    """4: keys and values are kept in four bits. None: as they are computed."""


def room_for(model: WithKV, pages: int, page_size: int, *, on_host: bool = False) -> PageRoom:
    """Room for a model's keys and values, on its device or beside it in the host's memory."""
    place = "cpu" if on_host else model.device
    if model.kv_bits == 4:
        return Int4Pages(model.config, pages, page_size, place)
    return KVPages(model.config, pages, page_size, model.dtype, place)


def bytes_per_token(config: ModelConfig, dtype: torch.dtype, kv_bits: int | None) -> int:
    """What one token's keys and values take in all layers."""
    numbers = config.kv_numbers_per_token()
    return numbers // 2 + numbers // GROUP * 4 if kv_bits == 4 else numbers * dtype.itemsize


def _sizes(config: ModelConfig, pages: int, page_size: int) -> tuple[int, int, int, int]:
    if pages < 1 or page_size < 1:
        raise ValueError(f"{pages} pages of {page_size} tokens hold nothing")
    return config.layers, pages, page_size, config.kv_heads
