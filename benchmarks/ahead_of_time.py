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


class Limits(NamedTuple):
    """What one multiprocessor has (CUDA programming guide, technical specifications by compute capability)."""

    registers: int
    shared: int
    warps: int
    programs: int
    processors: int
    """Multiprocessors of the usual device: A100, H100, B200."""


MULTIPROCESSORS = {
    80: Limits(65_536, 164 * 1024, 64, 32, 108),
    90: Limits(65_536, 228 * 1024, 64, 32, 132),
    100: Limits(65_536, 228 * 1024, 64, 32, 148),
}
RESERVED = 1024
"""Bytes of shared memory that each program takes beside its own."""


class Launch(NamedTuple):
    """A kernel with what it would have been called with."""

    kernel: JITFunction
    arguments: tuple[Any, ...]
    named: dict[str, Any]


class Compiled(NamedTuple):
    """What the assembler says of a kernel (bytes, and registers of a thread), and its code before assembling."""

    name: str
    registers: int
    spilled: int
    shared: int
    warps: int
    ptx: str

    def programs(self, capability: int) -> int:
        """How many programs one multiprocessor of sm_<capability> holds at once."""
        limits = MULTIPROCESSORS[capability]
        a_warp = -(-self.registers // 8) * 8 * 32
        by_registers = limits.registers // (a_warp * self.warps)
        by_shared = limits.shared // (self.shared + RESERVED)
        return min(by_registers, by_shared, limits.warps // self.warps, limits.programs)

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


def _source(launch: Launch, capability: int) -> tuple[ASTSource, GPUTarget, Any]:
    """What the launch would have compiled, for which target, with which options."""
    target = GPUTarget("cuda", capability, 32)
    backend = make_backend(target)
    kernel = launch.kernel
    named = {**launch.named, "debug": False}
    binder = create_function_from_signature(kernel.signature, kernel.params, backend)
    bound, specialization, options = binder(*launch.arguments, **named)
    options, signature, constants, attributes = kernel._pack_args(backend, named, bound, specialization, options)
    return ASTSource(kernel, signature, constants, attributes), target, options


def compiled(launch: Launch, capability: int) -> Compiled:
    """The launch's kernel for sm_<capability>, compiled now."""
    source, target, options = _source(launch, capability)
    said = StringIO()
    with redirect_stdout(said), knobs.nvidia.scope(), knobs.compilation.scope():
        knobs.nvidia.dump_ptxas_log = True
        knobs.compilation.always_compile = True  # what comes from the cache comes without the assembler's words
        made = triton.compile(source, target=target, options=options.__dict__)
    log = said.getvalue()
    spills = [int(count) for count in re.findall(r"(\d+) bytes spill (?:stores|loads)", log)]
    registers = re.search(r"Used (\d+) registers", log)
    if not spills or registers is None:
        raise AssertionError(f"the assembler said nothing of spills and registers: {log!r}")
    return Compiled(
        launch.kernel.__name__,
        int(registers[1]),
        sum(spills),
        made.metadata.shared,
        made.metadata.num_warps,
        made.asm["ptx"],
    )


def fill_cache(launch: Launch, capability: int) -> None:
    """Compile the launch's kernel into Triton's cache, where the launch itself finds it."""
    source, target, options = _source(launch, capability)
    triton.compile(source, target=target, options=options.__dict__)


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
