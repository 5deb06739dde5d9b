"""Functions that are loaded already get the code of a changed version of their module.

Starting pytest takes seconds, and a mutant that a test notices needs milliseconds: a process that has everything loaded
is forked for each mutant, and there the functions of one module are given other code.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from types import CodeType, FunctionType

CO_NEWLOCALS = 0x2
"""A flag of code: functions have names of their own, modules and the bodies of classes do not."""


def functions_of(code: CodeType) -> Iterator[CodeType]:
    """The functions, methods and lambdas of a module; what is inside a function comes with it."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & CO_NEWLOCALS:
                yield constant
            else:
                yield from functions_of(constant)


def exchange(file: str, before: CodeType, after: CodeType) -> bool:
    """Give every loaded function of a file its code in ``after``, where that differs from ``before``.

    False, with nothing changed, where that cannot be done: the difference is not inside functions (a constant of the
    module, a default), or a function has other free variables than it had.
    """
    old, new = {_key(code): code for code in functions_of(before)}, {_key(code): code for code in functions_of(after)}
    is_told_apart = len(old) == len(list(functions_of(before))) and old.keys() == new.keys()
    if not is_told_apart or not _is_same_outside(before, after):
        return False
    changed = {key: new[key] for key in old if old[key] != new[key]}
    found = [
        (one, changed[key])
        for one in gc.get_objects()
        if type(one) is FunctionType  # isinstance asks objects, and some of them warn when they are asked
        and (key := _key(one.__code__)) in changed
        and os.path.realpath(one.__code__.co_filename) == file
    ]
    if not found or any(one.__code__.co_freevars != code.co_freevars for one, code in found):
        return False
    for one, code in found:
        one.__code__ = code
    return True


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _is_same_outside(before: CodeType, after: CodeType) -> bool:
    """Whether modules are the same but inside functions: what runs when they are imported, bodies of classes too."""
    if before.co_code != after.co_code or len(before.co_consts) != len(after.co_consts):
        return False
    for one, other in zip(before.co_consts, after.co_consts, strict=True):
        if isinstance(one, CodeType) and isinstance(other, CodeType):
            if not one.co_flags & CO_NEWLOCALS and not _is_same_outside(one, other):
                return False
        elif repr(one) != repr(other):
            return False
    return True
