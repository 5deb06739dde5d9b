"""Triton kernels for the hot operations of :mod:`agentsim.engine`, each beside the plain PyTorch reference that defines
it.

``from agentsim.kernels import rms_norm`` gives a function that runs the Triton kernel for tensors on a CUDA device and
the reference for all others (see :mod:`agentsim.kernels.kernel_dispatch`). Nothing is imported before the first use:
torch comes with the first operation, Triton with the first kernel that runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the references give the operations their types
    from agentsim.kernels.activation import silu_mul
    from agentsim.kernels.int4_attention import paged_attention_int4
    from agentsim.kernels.int4_packing import pack_int4, unpack_int4
    from agentsim.kernels.norm import rms_norm
    from agentsim.kernels.page_copies import copy_pages, write_pages
    from agentsim.kernels.paged_attention import paged_attention
    from agentsim.kernels.rotary import rope
    from agentsim.kernels.sampling import sample

__all__ = [
    "copy_pages",
    "pack_int4",
    "paged_attention",
    "paged_attention_int4",
    "rms_norm",
    "rope",
    "sample",
    "silu_mul",
    "unpack_int4",
    "write_pages",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agentsim.kernels.kernel_dispatch import operation

    globals()[name] = found = operation(name)
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
