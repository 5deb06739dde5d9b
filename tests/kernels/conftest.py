"""Both forms of every operation, fresh random numbers, and a cache of compiled kernels that nothing else sees."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from tests.kernels.interpreter import Interpreter

# Everything here needs torch, which an installation without the engine doesn't have.
collect_ignore_glob = [] if find_spec("torch") else ["*.py"]

Operation = Callable[..., Any]


@pytest.fixture(scope="session")
def interpreter() -> Iterator[Interpreter]:
    """The process that interprets Triton code, one for all tests of a worker."""
    if find_spec("triton") is None:
        pytest.skip("triton is not installed")
    with Interpreter() as child:
        yield child


@pytest.fixture(params=["reference", "triton"])
def operation(request: pytest.FixtureRequest) -> Callable[[str], Operation]:
    """Gives an operation by its name: the reference as it is, and the Triton form under the interpreter."""
    if request.param == "reference":
        from agentsim.kernels.kernel_dispatch import implementation

        return lambda name: implementation(name, "reference")
    interpreter: Interpreter = request.getfixturevalue("interpreter")
    return lambda name: lambda *arguments, **named: interpreter.run(name, *arguments, **named)


@pytest.fixture(autouse=True)
def seed() -> int:
    """Other numbers on every run; a failure shows the seed, and KERNEL_SEED repeats it."""
    import torch

    chosen = int(os.environ.get("KERNEL_SEED", secrets.randbelow(2**32)))
    print(f"KERNEL_SEED={chosen} repeats this test")
    torch.manual_seed(chosen)
    torch.set_num_threads(1)
    return chosen
