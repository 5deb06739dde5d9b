"""Which form of an operation of :data:`agentsim.kernels.MODULES` runs: its PyTorch reference or its Triton kernel.

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
from typing import Any

import torch
from torch import Tensor

from agentsim.kernels import MODULES

VARIABLE = "KERNELS"


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
    module = MODULES[name] + ("_triton" if form == "triton" else "")
    found: Callable[..., Any] = getattr(import_module(f"agentsim.kernels.{module}"), name)
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
