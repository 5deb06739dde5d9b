"""Writing new keys and values into pages, and copying whole pages: the definitions."""

from __future__ import annotations

import threading

from torch import Tensor

from agentsim.kernels.same_results import Same


def write_pages(k: Tensor, v: Tensor, k_pages: Tensor, v_pages: Tensor, slots: Tensor) -> None:
    """Put the rows of ``k`` and ``v`` [T, Hkv, D] into their slots of the pages [P, page, Hkv, D], in place.

    ``slots`` [T] int64: ``page number · page size + offset``, all different; a negative one leaves its row
    out (padding).
    """
    if slots.numel() == 0:
        return
    if not _all_kept(slots):
        kept = slots >= 0
        k, v, slots = k[kept], v[kept], slots[kept]
    k_pages.flatten(0, 1).index_copy_(0, slots, k)
    v_pages.flatten(0, 1).index_copy_(0, slots, v)


class _Latest(threading.local):
    """The slots that each thread last found to be none of padding: all layers of a model write to the same ones."""

    slots: Same | None = None


_latest = _Latest()


def _all_kept(slots: Tensor) -> bool:
    """Whether no slot is one of padding."""
    if _latest.slots is not None and _latest.slots.are(slots):
        return True
    if int(slots.min()) < 0:
        return False
    _latest.slots = Same(slots)
    return True


def copy_pages(pages: Tensor, source: Tensor, target: Tensor) -> None:
    """Copy pages ``source`` [N] onto pages ``target`` [N] of ``pages`` [P, …], in place.

    Targets are all different, and none of them is a source: nothing is said of the order of the copies.
    """
    if source.numel():
        pages.index_copy_(0, target, pages.index_select(0, source))
