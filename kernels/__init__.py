"""Triton kernels for the hot operations of :mod:`agentsim.engine`, each beside the plain PyTorch reference that defines
it.

``from agentsim.kernels import rms_norm`` gives a function that runs the Triton kernel for tensors on a CUDA device and
the reference for all others (see :mod:`agentsim.kernels.kernel_dispatch`). Nothing is imported before the first use:
torch comes with the first operation, Triton with the first kernel that runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the references give the operations their types
    from agentsim.kernels.activation import silu_mul as silu_mul
    from agentsim.kernels.int4_attention import paged_attention_int4 as paged_attention_int4
    from agentsim.kernels.int4_packing import pack_int4 as pack_int4
    from agentsim.kernels.int4_packing import unpack_int4 as unpack_int4
    from agentsim.kernels.norm import rms_norm as rms_norm
    from agentsim.kernels.page_attention import paged_attention as paged_attention
    from agentsim.kernels.page_copies import copy_pages as copy_pages
    from agentsim.kernels.page_copies import write_pages as write_pages
    from agentsim.kernels.rotary import rope as rope
    from agentsim.kernels.sampling import sample as sample

MODULES = {
    "copy_pages": "page_copies",
    "pack_int4": "int4_packing",
    "paged_attention": "page_attention",
    "paged_attention_int4": "int4_attention",
    "rms_norm": "norm",
    "rope": "rotary",
    "sample": "sampling",
    "silu_mul": "activation",
    "unpack_int4": "int4_packing",
    "write_pages": "page_copies",
}
"""Operations, and the module of the reference of each: its Triton form is in ``MODULE_triton``, under the same name."""


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agentsim.kernels.kernel_dispatch import operation

    globals()[name] = found = operation(name)
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *MODULES])
