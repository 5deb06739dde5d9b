"""Small mistakes that can be made in a Python module: each is one place in its syntax tree, changed.

Comparisons move by one (``<`` and ``<=``) or turn round (``==`` and ``!=``), numbers grow and shrink by one, ``and``
becomes ``or``, a ``not`` is dropped, ``+`` becomes ``-``, ``min`` becomes ``max``, ``any`` becomes ``all``, a returned
value becomes ``None``, ``break`` becomes ``continue``. Annotations, decorators, text and what a class is made with
(``frozen=True``) stay as they are: no test of behaviour could tell.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from types import CodeType
from typing import NamedTuple

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_SUMS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


class Mutation(NamedTuple):
    """A place in a module and what is put there: ``before`` and ``after`` are source text, ``lines`` the first and the
    last line of the statement, or of the head of the block, that it belongs to; ``code`` is the module compiled, each
    function at its own line."""

    line: int
    lines: tuple[int, int]
    before: str
    after: str
    source: str
    code: CodeType


class MutationPlan(NamedTuple):
    """A mutation that is made when it is asked for, and its line."""

    line: int
    make: Callable[[], Mutation]


class _Place(NamedTuple):
    """A changed copy of a node, where it goes, and the lines of its statement."""

    node: ast.AST
    put: Callable[[ast.AST], None]
    changed: ast.AST
    lines: tuple[int, int]


def mutations_of(source: str, file: str) -> list[MutationPlan]:
    """Every mutation of a module, in the order of its syntax tree.

    Raises SyntaxError when the source is no Python.
    """
    tree = ast.parse(source)
    return [MutationPlan(_line(place), _maker(tree, place, file)) for place in _places(tree, (1, 1))]


def _line(place: _Place) -> int:
    return getattr(place.node, "lineno", place.lines[0])


def _maker(tree: ast.Module, place: _Place, file: str) -> Callable[[], Mutation]:
    def make() -> Mutation:
        changed = ast.copy_location(place.changed, place.node)
        place.put(changed)
        try:
            source, code = ast.unparse(ast.fix_missing_locations(tree)), compile(tree, file, "exec")
        finally:
            place.put(place.node)
        return Mutation(_line(place), place.lines, ast.unparse(place.node), ast.unparse(place.changed), source, code)

    return make


def _places(node: ast.AST, lines: tuple[int, int]) -> Iterator[_Place]:
    """The places below a node."""
    if isinstance(node, ast.stmt):
        lines = _head(node)
    for name, value in ast.iter_fields(node):
        if _is_left_alone(node, name):
            continue
        children = value if isinstance(value, list) else [value]
        for number, child in enumerate(children):
            if not isinstance(child, ast.AST) or _is_text(child):
                continue

            def put(new: ast.AST, name: str = name, number: int = number, value: object = value) -> None:
                if isinstance(value, list):
                    value[number] = new
                else:
                    setattr(node, name, new)

            here = _head(child) if isinstance(child, ast.stmt) else lines
            for changed in _changes(child):
                yield _Place(child, put, changed, here)
            yield from _places(child, lines)


def _head(node: ast.stmt) -> tuple[int, int]:
    """The lines of a simple statement; of a block, those in front of its body."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and not isinstance(node, ast.Try):
        return node.lineno, max(node.lineno, body[0].lineno - 1)
    return node.lineno, node.end_lineno or node.lineno


def _is_left_alone(node: ast.AST, field: str) -> bool:
    if field in ("annotation", "returns", "decorator_list", "type_comment", "type_params", "ctx", "op", "ops"):
        return True
    if isinstance(node, ast.ClassDef) and field in ("bases", "keywords"):
        return True
    if isinstance(node, ast.Subscript) and field == "slice" and isinstance(node.value, ast.Name):
        return node.value.id in ("Literal", "Callable", "tuple", "dict", "list", "Mapping", "Sequence")
    return isinstance(node, ast.JoinedStr | ast.FormattedValue) and field == "format_spec"


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """Changed copies of a node itself."""
    match node:
        case ast.Compare():
            for number, operator in enumerate(node.ops):
                changed = copy.copy(node)
                changed.ops = [*node.ops]
                changed.ops[number] = _COMPARISONS[type(operator)]()
                yield changed
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.BinOp() if type(node.op) in _SUMS and not _is_kind(node):
            yield ast.BinOp(node.left, _SUMS[type(node.op)](), node.right)
        case ast.AugAssign() if type(node.op) in _SUMS:
            yield ast.AugAssign(node.target, _SUMS[type(node.op)](), node.value)
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            assert isinstance(node.value, int | float)
            yield ast.Constant(node.value + 1)
            yield ast.Constant(node.value - 1)
        case ast.Return() if node.value is not None and not _is_none(node.value):
            yield ast.Return(ast.Constant(None))
        case ast.Call(func=ast.Name(id=name)) if name in _CALLS:
            yield ast.Call(ast.Name(_CALLS[name], ast.Load()), node.args, node.keywords)
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case _:
            pass


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_kind(node: ast.BinOp) -> bool:
    """Whether ``|`` joins types (``int | None``), as far as their names tell."""
    if not isinstance(node.op, ast.BitOr):
        return False
    named = [part.id for part in (node.left, node.right) if isinstance(part, ast.Name)]
    return _is_none(node.right) or any(name in ("str", "int", "float", "bytes") or name[:1].isupper() for name in named)
