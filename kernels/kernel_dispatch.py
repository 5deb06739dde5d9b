"""One table: for each operation, its PyTorch reference and its Triton kernel, and which of the two runs.

Tensors on a CUDA device go to Triton, all others to the reference; so do float64 ones, which are there to be exact, not
fast. The environment variable ``KERNELS`` decides for
both: ``reference`` runs the references on a GPU too (to compare), ``triton`` runs the kernels on a CPU, which only
Triton's interpreter can (``TRITON_INTERPRET=1``, set before the start). It is read once, with this module.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from typing import Any, NamedTuple

import torch
from torch import Tensor

VARIABLE = "KERNELS"


class Implementations(NamedTuple):
    """Where the two forms of an operation live, as ``module:function``; both have the same signature."""

    reference: str
    triton: str


TABLE: dict[str, Implementations] = {
    "paged_attention": Implementations(
        "agentsim.kernels.paged_attention:paged_attention", "agentsim.kernels.paged_attention_triton:paged_attention"
    ),
    "paged_attention_int4": Implementations(
        "agentsim.kernels.int4_attention:paged_attention_int4",
        "agentsim.kernels.int4_attention_triton:paged_attention_int4",
    ),
    "pack_int4": Implementations(
        "agentsim.kernels.int4_packing:pack_int4", "agentsim.kernels.int4_packing_triton:pack_int4"
    ),
    "unpack_int4": Implementations(
        "agentsim.kernels.int4_packing:unpack_int4", "agentsim.kernels.int4_packing_triton:unpack_int4"
    ),
    "write_pages": Implementations(
        "agentsim.kernels.page_copies:write_pages", "agentsim.kernels.page_copies_triton:write_pages"
    ),
    "copy_pages": Implementations(
        "agentsim.kernels.page_copies:copy_pages", "agentsim.kernels.page_copies_triton:copy_pages"
    ),
    "rms_norm": Implementations("agentsim.kernels.norm:rms_norm", "agentsim.kernels.norm_triton:rms_norm"),
    "rope": Implementations("agentsim.kernels.rotary:rope", "agentsim.kernels.rotary_triton:rope"),
    "silu_mul": Implementations("agentsim.kernels.activation:silu_mul", "agentsim.kernels.activation_triton:silu_mul"),
    "sample": Implementations("agentsim.kernels.sampling:sample", "agentsim.kernels.sampling_triton:sample"),
}


def _forced() -> str | None:
    """What ``KERNELS`` asks for; raises ValueError for a word that names neither form."""
    word = os.environ.get(VARIABLE, "")
    if word not in ("", "reference", "triton"):
        raise ValueError(f"{VARIABLE}={word!r}: write 'reference' or 'triton', or leave it unset to go by the device")
    return word or None


FORCED = _forced()


@cache
def implementation(name: str, form: str) -> Callable[..., Any]:
    """The reference or the Triton form of an operation, its module imported now.

    Raises KeyError for a name that is not in the table, ImportError where Triton is asked for and missing.
    """
    module, _, function = getattr(TABLE[name], form).partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


@cache
def operation(name: str) -> Callable[..., Any]:
    """The operation under this name, to be called with tensors of any device; the first argument's device decides."""
    reference = implementation(name, "reference")
    if FORCED is not None:
        return implementation(name, FORCED)

    @wraps(reference)
    def run(first: Tensor, *rest: Any, **named: Any) -> Any:
        if first.is_cuda and first.dtype is not torch.float64:
            return implementation(name, "triton")(first, *rest, **named)
        return reference(first, *rest, **named)

    return run
