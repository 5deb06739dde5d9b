"""What the parameters of a policy mean, read from the texts that stand under them in its source."""

from __future__ import annotations

import ast
import inspect
from textwrap import dedent

from agentsim.whatif.policies.policy import Policy


def meanings(kind: type[Policy]) -> dict[str, str]:
    """The text under each parameter of a policy, by name, in one line. Empty where the source is not at hand."""
    found: dict[str, str] = {}
    for parent in reversed(kind.__mro__):
        if issubclass(parent, Policy) and parent is not Policy:
            found.update(_texts(parent))
    return found


def _texts(kind: type[Policy]) -> dict[str, str]:
    try:
        tree = ast.parse(dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):
        return {}
    (definition,) = tree.body
    assert isinstance(definition, ast.ClassDef)
    found: dict[str, str] = {}
    name: str | None = None
    for statement in definition.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and name is not None:
            found[name] = " ".join(str(statement.value.value).split())
        name = None
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
    return {name: text for name, text in found.items() if name in kind.__struct_fields__}
