"""Keys and values in pages: one tensor for all keys, one for all values; which page holds what is kept elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from agentsim.engine.decoder_config import ModelConfig


@dataclass(frozen=True, slots=True)
class HostPages:
    """Pages taken out of the device's memory, in the order they were named."""

    k: torch.Tensor
    """[layers, pages, page_size, kv_heads, head_dim]."""
    v: torch.Tensor

    @property
    def count(self) -> int:
        """How many pages these are."""
        return self.k.shape[1]

    @property
    def bytes(self) -> int:
        """The room they take in host memory."""
        return self.k.nbytes + self.v.nbytes


class KVPages:
    """Room for the keys and values of ``pages`` pages of ``page_size`` tokens, in all layers of one model.

    The content of a page that was never written is arbitrary. All of it is allocated at once, so that a request can
    fail for want of a page, but never for want of memory halfway.
    """

    def __init__(
        self,
        config: ModelConfig,
        pages: int,
        page_size: int = 16,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        if pages < 1 or page_size < 1:
            raise ValueError(f"{pages} pages of {page_size} tokens hold nothing")
        shape = (config.layers, pages, page_size, config.kv_heads, config.head_dim)
        self.page_size = page_size
        self.pages = pages
        self.all_k = torch.zeros(shape, dtype=dtype, device=device)
        self.all_v = torch.zeros(shape, dtype=dtype, device=device)
        self.k: tuple[torch.Tensor, ...] = tuple(self.all_k.unbind(0))
        """For each layer its keys, [pages, page_size, kv_heads, head_dim]: views of one tensor."""
        self.v: tuple[torch.Tensor, ...] = tuple(self.all_v.unbind(0))

    @property
    def bytes_per_page(self) -> int:
        """The room one page takes, keys and values of all layers together."""
        return (self.all_k.nbytes + self.all_v.nbytes) // self.pages

    @property
    def bytes(self) -> int:
        """The room all pages take."""
        return self.all_k.nbytes + self.all_v.nbytes

    def copy(self, source: int, target: int) -> None:
        """Make page ``target`` a copy of page ``source`` in every layer."""
        self.all_k[:, target].copy_(self.all_k[:, source])
        self.all_v[:, target].copy_(self.all_v[:, source])

    def to_host(self, pages: Sequence[int]) -> HostPages:
        """Copy pages into host memory; the pages themselves stay as they are."""
        index = torch.tensor(list(pages), dtype=torch.int64, device=self.all_k.device)
        return HostPages(self.all_k.index_select(1, index).cpu(), self.all_v.index_select(1, index).cpu())

    def from_host(self, held: HostPages, pages: Sequence[int]) -> None:
        """Write pages that were taken out back into ``pages``, in the same order; any pages will do."""
        if len(pages) != held.count:
            raise ValueError(f"{held.count} pages are held, {len(pages)} places were named")
        index = torch.tensor(list(pages), dtype=torch.int64, device=self.all_k.device)
        self.all_k.index_copy_(1, index, held.k.to(self.all_k.device))
        self.all_v.index_copy_(1, index, held.v.to(self.all_v.device))
