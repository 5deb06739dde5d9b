"""Runs the Triton code without a GPU, in a process of its own: Triton decides at its import whether it interprets.

The parent sends an operation's name and arguments, the child answers with the result and with the arguments as the
call left them (operations that write in place), or with the traceback.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
from typing import Any, BinaryIO


class Interpreter:
    """The child process; used as a context manager."""

    def __enter__(self) -> Interpreter:
        environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        self._child = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in (self._child.stdin, self._child.stdout):
            assert pipe is not None
            pipe.close()
        self._child.wait(timeout=30)

    def run(self, operation: str, *arguments: Any, **named: Any) -> Any:
        """The result of an operation's Triton form; tensors among the arguments are written to as it writes to them."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        pickle.dump((operation, arguments, named), self._child.stdin)
        self._child.stdin.flush()
        result, after, failure = pickle.load(self._child.stdout)
        if failure:
            raise AssertionError(f"{operation} failed in the interpreter:\n{failure}")
        for own, written in zip([*arguments, *named.values()], after, strict=True):
            if hasattr(own, "copy_"):
                own.copy_(written)
        return result


def _widen_products() -> None:
    """The interpreter keeps bfloat16 as its bits, and would multiply those: products get their float32 values."""
    import triton.language as tl
    from triton.runtime.interpreter import InterpreterBuilder

    original = InterpreterBuilder.create_dot

    def create_dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        a, b = (self.create_fp_ext(x, tl.float32) if x.dtype == tl.bfloat16 else x for x in (a, b))
        return original(self, a, b, *rest)

    InterpreterBuilder.create_dot = create_dot


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    import torch

    from agentsim.kernels.kernel_dispatch import implementation

    _widen_products()
    torch.set_num_threads(1)
    while True:
        try:
            name, arguments, named = pickle.load(requests)
        except EOFError:
            return
        try:
            result = implementation(name, "triton")(*arguments, **named)
            answer = (result, [*arguments, *named.values()], "")
        except Exception:
            answer = (None, [], traceback.format_exc())
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints, prints to the error stream
    _serve(sys.stdin.buffer, answers)
