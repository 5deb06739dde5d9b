"""Compiles kernels for GPUs that are not there, from the launches that the project's own functions would make.

Triton's launch is replaced by a recorder; what it hands over is then compiled as the launch would have done it, with
the same guesses about alignment and divisibility. The steps are those of ``JITFunction.run`` up to the device.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import Any, NamedTuple

import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.runtime.jit import JITFunction, create_function_from_signature


class Launch(NamedTuple):
    kernel: JITFunction
    arguments: tuple[Any, ...]
    named: dict[str, Any]


class Compiled(NamedTuple):
    """What the assembler says of a kernel (bytes, and registers of a thread), and its code before assembling."""

    name: str
    registers: int
    spilled: int
    shared: int
    ptx: str

    def count(self, instruction: str) -> int:
        """How often the instruction stands in the code."""
        return len(re.findall(rf"^\s*(?:@!?%p\d+\s+)?{re.escape(instruction)}", self.ptx, re.MULTILINE))


@contextmanager
def recording() -> Iterator[list[Launch]]:
    """Launches inside are listed, and don't take place."""
    launches: list[Launch] = []
    original = JITFunction.run

    def record(self: JITFunction, *arguments: Any, grid: Any, warmup: bool, **named: Any) -> None:
        del grid, warmup
        launches.append(Launch(self, arguments, named))

    JITFunction.run = record
    try:
        yield launches
    finally:
        JITFunction.run = original


def compiled(launch: Launch, capability: int) -> Compiled:
    """The launch's kernel for sm_<capability>."""
    target = GPUTarget("cuda", capability, 32)
    backend = make_backend(target)
    kernel = launch.kernel
    named = {**launch.named, "debug": False}
    binder = create_function_from_signature(kernel.signature, kernel.params, backend)
    bound, specialization, options = binder(*launch.arguments, **named)
    options, signature, constants, attributes = kernel._pack_args(backend, named, bound, specialization, options)
    said = StringIO()
    with redirect_stdout(said), knobs.nvidia.scope(), knobs.compilation.scope():
        knobs.nvidia.dump_ptxas_log = True
        knobs.compilation.always_compile = True  # what comes from the cache comes without the assembler's words
        made = triton.compile(
            ASTSource(kernel, signature, constants, attributes), target=target, options=options.__dict__
        )
    log = said.getvalue()
    spills = [int(count) for count in re.findall(r"(\d+) bytes spill (?:stores|loads)", log)]
    registers = re.search(r"Used (\d+) registers", log)
    if not spills or registers is None:
        raise AssertionError(f"the assembler said nothing of spills and registers: {log!r}")
    return Compiled(kernel.__name__, int(registers[1]), sum(spills), made.metadata.shared, made.asm["ptx"])


def variant(launch: Launch, capability: int) -> str:
    """What the launch is compiled for: equal for launches that run the same compiled kernel."""
    backend = make_backend(GPUTarget("cuda", capability, 32))
    kernel = launch.kernel
    binder = create_function_from_signature(kernel.signature, kernel.params, backend)
    _, specialization, options = binder(*launch.arguments, **launch.named, debug=False)
    return f"{kernel.__name__} {specialization} {options}"


def launches_of(call: Callable[[], object]) -> list[Launch]:
    """What the call would launch."""
    with recording() as launches:
        call()
    return launches
