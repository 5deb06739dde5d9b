"""Which form of an operation runs, and what is imported for it."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from agentsim import kernels
from agentsim.kernels import MODULES
from agentsim.kernels.kernel_dispatch import implementation


def python(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("name", MODULES)
def test_both_forms_take_the_same_arguments(name):
    pytest.importorskip("triton", reason="triton is not installed")
    reference, triton = (inspect.signature(implementation(name, form)) for form in ("reference", "triton"))
    extra = set(triton.parameters) - set(reference.parameters)
    assert extra <= {"configuration"}  # for tuning
    assert [p.name for p in triton.parameters.values() if p.name not in extra] == list(reference.parameters)


def test_every_operation_of_the_table_is_a_name_of_the_package():
    typed = re.findall(r"from agentsim\.kernels\.(\w+) import (\w+) as", Path(kernels.__file__).read_text("utf-8"))
    assert {name: module for module, name in typed} == MODULES, "each has the type of its reference"
    assert not set(MODULES) & set(MODULES.values()), "importing the module would take the operation's place"
    assert all(callable(getattr(kernels, name)) for name in MODULES)
    with pytest.raises(AttributeError, match="no attribute 'soft_max'"):
        _ = kernels.soft_max


def test_on_a_cpu_the_references_run_without_triton_being_imported():
    done = python(
        "import sys, kernels; assert 'torch' not in sys.modules\n"
        "import torch; print(kernels.silu_mul(torch.zeros(1, 2), torch.ones(1, 2)).tolist(), 'triton' in sys.modules)"
    )
    assert done.stdout == "[[0.0, 0.0]] False\n", done.stderr


def test_the_references_run_where_triton_is_missing():
    done = python(
        "import sys; sys.modules['triton'] = None\n"
        "import torch, kernels\n"
        "[getattr(kernels, name) for name in kernels.MODULES]\n"
        "print(kernels.sample(torch.tensor([[0.0, 1.0]]), torch.zeros(1)).tolist())"
    )
    assert done.stdout == "[1]\n", done.stderr


def test_the_variable_puts_the_kernels_on_a_cpu():
    pytest.importorskip("triton", reason="triton is not installed")
    done = python(
        "import torch, kernels; print(kernels.silu_mul.__module__, kernels.silu_mul(*torch.ones(2, 1, 3)).shape)",
        KERNELS="triton",
        TRITON_INTERPRET="1",
    )
    assert done.stdout == "agentsim.kernels.activation_triton torch.Size([1, 3])\n", done.stderr


def test_another_word_in_the_variable_is_refused():
    done = python("from agentsim import kernels; kernels.rope", KERNELS="cuda")
    assert done.returncode != 0
    assert "KERNELS='cuda': write 'reference' or 'triton'" in done.stderr


def test_double_precision_is_for_the_references(monkeypatch):
    # On a GPU too: products of tensor cores have no float64 worth the name, and controls want every bit.
    from agentsim.kernels import kernel_dispatch

    class OnDevice:
        is_cuda = True
        dtype = torch.float64

    asked = []
    monkeypatch.setattr(kernel_dispatch, "implementation", lambda name, form: lambda *_: asked.append(form))
    kernel_dispatch.operation.__wrapped__("silu_mul")(OnDevice(), OnDevice())
    OnDevice.dtype = torch.float32
    kernel_dispatch.operation.__wrapped__("silu_mul")(OnDevice(), OnDevice())
    assert asked == ["reference", "triton"]
